import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pairsOf } from '../sidebar/branchrows';
import { asPage, type IPage } from '../sidebar/pageplan';

function page(...cells: [string, string, string | null][]): IPage {
  return asPage({
    cells: cells.map(([cell_id, source, shown], at) => ({
      cell_id,
      source,
      execution_count: at,
      outputs: shown === null ? null : [{ output_type: 'stream', name: 'stdout', text: shown }]
    })),
    later: []
  });
}

const told = (
  before: IPage,
  after: IPage,
  order: string[]
): [string, boolean, boolean, boolean][] =>
  pairsOf(before, after, order).map(pair => [
    pair.cell_id,
    pair.before !== null,
    pair.after !== null,
    pair.isSame
  ]);

test('cells stand in the order of the notebook, each once, those that are gone last', () => {
  const before = page(['gone', 'x', ''], ['b', 'y = 1', '1'], ['a', 'import x', '']);
  const after = page(['a', 'import x', ''], ['c', 'z', '']);
  assert.deepEqual(told(before, after, ['a', 'never-ran', 'b', 'c']), [
    ['a', true, true, true],
    ['b', true, false, false],
    ['c', false, true, false],
    ['gone', true, false, false]
  ]);
});

test('a cell differs by its text or by what it showed, not by how often it ran', () => {
  const before = page(['a', 'f()', '1'], ['b', 'g()', '2'], ['c', 'h()', null]);
  const after = page(['c', 'h()', null], ['a', 'f()', '1'], ['b', 'g()', '3']);
  assert.deepEqual(
    told(before, after, ['a', 'b', 'c']).map(([id, , , isSame]) => [id, isSame]),
    [
      ['a', true],
      ['b', false],
      ['c', true]
    ]
  );
});
