import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endedText, halfDone } from '../sidebar/ended';
import { ENGLISH } from '../timeline/words';
import { row } from './histories';

const NOW = 100_000;
const BUSY = {
  name: 'summaries',
  began_at: NOW - 300,
  done: 7,
  total: 24,
  cell_id: 'c',
  calls: 7,
  cost_usd: 0.02
};

test('it is said how and when a kernel went, and in what', () => {
  const at = NOW - 120;
  const said = (how: 'died' | 'restarted' | 'changed', busy: typeof BUSY | null = null): string =>
    endedText({ how, at, busy }, NOW, ENGLISH);

  assert.equal(
    said('died', BUSY),
    'The kernel died 2 min ago, while summaries ran (killed; perhaps out of memory)'
  );
  assert.match(said('died', { ...BUSY, name: '' }), /while a cell ran/);
  assert.equal(said('died'), 'The kernel died 2 min ago');
  assert.equal(said('restarted', BUSY), 'The kernel was restarted 2 min ago');
  assert.equal(
    endedText({ how: 'died', at: NOW, busy: null }, NOW, ENGLISH),
    'The kernel died just now'
  );
  assert.equal(endedText(null, NOW, ENGLISH), 'This notebook has a new kernel');
});

test('what did not end is told with what was paid, unless it ended later', () => {
  const partial = { state: 'partial' as const, progress: [7, 24] as [number, number] };
  const rows = [
    row('load', null),
    row('early', 'load', { ...partial, name: 'embed' }),
    row('embed', 'early'),
    row('aside', 'load', { ...partial, name: 'elsewhere' }),
    row('loop', 'embed', { ...partial, name: 'summaries', cost_usd: 0.02 }),
    row('stream', 'loop', { state: 'partial', progress: [3, -1], name: 'rows' })
  ];

  assert.deepEqual(halfDone(rows, 'loop', ENGLISH), [
    'rows: 3 items done',
    'summaries: 7 of 24, $0.02 paid'
  ]);
  assert.deepEqual(halfDone(rows, 'load', ENGLISH), ['elsewhere: 7 of 24', 'embed: 7 of 24']);
  assert.deepEqual(halfDone(rows, null, ENGLISH), []);
});
