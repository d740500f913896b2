import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listed } from '../timeline/filter';
import { day } from '../timeline/format';
import { grouped } from '../timeline/groups';
import { ENGLISH } from '../timeline/words';
import { row } from './histories';

const ALL = { query: '', automatic: true, others: false };
const RUNS = [
  row('a', null, { name: 'load' }),
  row('b', 'a', { name: 'train' }),
  row('c', 'b', { name: 'train' }),
  row('d', 'c', { name: 'train' }),
  row('e', 'd', { name: 'score' })
];

function told(
  rows: typeof RUNS,
  kept: readonly string[] = [],
  open: readonly string[] = []
): string[] {
  return grouped(listed(rows, ALL, []), kept, new Set(open)).map(one =>
    one.more > 0 ? `${one.id}×${one.more + 1}` : one.id
  );
}

test('three runs of a cell in a row are one, which tells how many', () => {
  assert.deepEqual(told(RUNS), ['a', 'd×3', 'e']);
  const folded = grouped(listed(RUNS, ALL, []), [], new Set());
  assert.deepEqual(
    folded.map(({ id, parent, skips }) => [id, parent, skips]),
    [
      ['a', null, false],
      ['d', 'a', true],
      ['e', 'd', false]
    ]
  );
});

test('a group that is open shows all, and can be closed by any', () => {
  const all = grouped(listed(RUNS, ALL, []), [], new Set(['b']));
  assert.deepEqual(
    all.map(one => [one.id, one.group]),
    [
      ['a', null],
      ['b', 'b'],
      ['c', 'b'],
      ['d', 'b'],
      ['e', null]
    ]
  );
});

test('two runs are left as they are', () => {
  assert.deepEqual(told(RUNS.filter(each => each.id !== 'd').slice(0, 3)), ['a', 'b', 'c']);
});

test('where somebody stands, or has said something, nothing is folded away', () => {
  assert.deepEqual(told(RUNS, ['c']), ['a', 'b', 'c', 'd', 'e']);
  for (const said of [{ tags: ['best'] }, { note: 'good' }, { heads: ['try'] }]) {
    const rows = RUNS.map(each => (each.id === 'c' ? { ...each, ...said } : each));
    assert.deepEqual(told(rows), ['a', 'b', 'c', 'd', 'e']);
  }
});

test('a run from which a branch leaves, or that failed, is in sight', () => {
  assert.deepEqual(told([...RUNS, row('f', 'c', { name: 'other' })]), [
    'a', 'b', 'c', 'd', 'e', 'f'
  ]); // prettier-ignore
  const failed = RUNS.map(each => (each.id === 'c' ? { ...each, state: 'failed' as const } : each));
  assert.deepEqual(told(failed), ['a', 'b', 'c', 'd', 'e']);
});

test('ten thousand runs are folded at once', () => {
  const many = Array.from({ length: 10_000 }, (_, at) =>
    row(`r${at}`, at === 0 ? null : `r${at - 1}`, { name: 'train' })
  );
  const began = performance.now();
  assert.deepEqual(told(many), ['r9999×10000']);
  assert.ok(performance.now() - began < 1000);
});

test('days are told from today', () => {
  const now = new Date(2026, 4, 20, 9).getTime() / 1000;
  const at = (...of: [number, number, number, number]): string =>
    day(new Date(...of).getTime() / 1000, now, ENGLISH);
  assert.equal(at(2026, 4, 20, 0), 'Today');
  assert.equal(at(2026, 4, 19, 23), 'Yesterday');
  assert.match(at(2026, 4, 18, 23), /May 18|18/);
  assert.match(at(2025, 4, 18, 23), /2025/);
});
