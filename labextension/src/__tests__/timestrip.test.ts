import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineTo, segmentAt, segmentsOf } from '../sidebar/timestrip';
import { row } from './histories';

const ROWS = [
  row('a', null, { duration_s: 1, cost_usd: null }),
  row('b', 'a', { duration_s: 8, cost_usd: 0.5 }),
  row('side', 'a', { duration_s: 100 }),
  row('c', 'b', { duration_s: null, cost_usd: 2 })
];

test('a line leads from the first checkpoint that is known to the newest', () => {
  assert.deepEqual(
    lineTo(ROWS, 'c').map(each => each.id),
    ['a', 'b', 'c']
  );
  assert.deepEqual(lineTo(ROWS.slice(1), 'c').length, 2);
  assert.deepEqual(lineTo(ROWS, null), []);
});

test('width is time, with something for each; colour is dollars', () => {
  const segments = segmentsOf(lineTo(ROWS, 'c'));
  const widths = segments.map(each => each.width);
  assert.ok(Math.abs(widths.reduce((sum, each) => sum + each, 0) - 1) < 1e-9);
  assert.ok(Math.min(...widths) > 0.1);
  assert.equal(widths.indexOf(Math.max(...widths)), 1);
  assert.deepEqual(
    segments.map(each => each.cost),
    [0, 0.25, 1]
  );
});

test('where no time was taken all are as wide', () => {
  const segments = segmentsOf([
    row('a', null, { duration_s: 0 }),
    row('b', 'a', { duration_s: 0 })
  ]);
  assert.deepEqual(
    segments.map(each => [each.start, each.width]),
    [
      [0, 0.5],
      [0.5, 0.5]
    ]
  );
});

test('a place in the strip is that of a segment, also beyond its ends', () => {
  const segments = segmentsOf(lineTo(ROWS, 'c'));
  assert.deepEqual(
    [-1, 0, 0.5, 1, 2].map(share => segmentAt(segments, share)),
    [0, 0, 1, 2, 2]
  );
});
