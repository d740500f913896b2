import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { type ISharedCodeCell, YNotebook } from '@jupyter/ydoc';
import { exchange, type ICell } from '../sidebar/celledit';
import type { Output } from '../sidebar/pageplan';

const printed = (text: string): Output => ({ output_type: 'stream', name: 'stdout', text });
const html = (text: string): Output => ({
  output_type: 'display_data',
  data: { 'text/html': text },
  metadata: {}
});
const THEN = { source: 'a = 1', outputs: [printed('one\n')], execution_count: 1 };

const open: YNotebook[] = [];

// Each has a clock that keeps the process from ending.
afterEach(() => {
  for (const each of open.splice(0)) {
    each.dispose();
  }
});

/** A notebook with cells that ran, as JupyterLab has it. */
function notebook(count = 1, disableDocumentWideUndoRedo = true): ICell[] {
  const cells = Array.from({ length: count }, () => ({
    cell_type: 'code' as const,
    source: 'a = 2',
    outputs: [printed('two\n')] as never[],
    execution_count: 7,
    metadata: {}
  }));
  const data = { cells, metadata: {}, nbformat: 4, nbformat_minor: 5 };
  const made = YNotebook.create({ disableDocumentWideUndoRedo, data });
  open.push(made);
  return made.cells.map(shared => {
    shared.clearUndoHistory();
    return { shared: shared as ISharedCodeCell, isTrusted: true };
  });
}

function first(cells: readonly ICell[]): ICell {
  const [cell] = cells;
  assert.ok(cell);
  return cell;
}

function held({ shared }: ICell): unknown {
  return [shared.getSource(), shared.getOutputs(), shared.execution_count];
}

test('a cell goes back in one step, which undo takes back and redo does again', () => {
  const cell = first(notebook());
  const before = held(cell);
  exchange(cell, THEN);
  const after = ['a = 1', [printed('one\n')], 1];
  assert.deepEqual(held(cell), after);
  for (let time = 0; time < 2; time++) {
    cell.shared.undo();
    assert.deepEqual(held(cell), before);
    cell.shared.redo();
    assert.deepEqual(held(cell), after);
  }
  cell.shared.undo();
  assert.equal(cell.shared.canUndo(), false);
});

test('what was typed just before and after is undone by itself', () => {
  const { shared } = first(notebook());
  shared.setSource('a = 3');
  exchange({ shared, isTrusted: true }, THEN);
  shared.updateSource(5, 5, '0');
  assert.equal(shared.getSource(), 'a = 10');
  shared.undo();
  assert.deepEqual([shared.getSource(), shared.getOutputs()], ['a = 1', THEN.outputs]);
  shared.undo();
  assert.deepEqual([shared.getSource(), shared.getOutputs()], ['a = 3', [printed('two\n')]]);
  shared.undo();
  assert.equal(shared.getSource(), 'a = 2');
});

test('outputs alone go back, and come again', () => {
  const cell = first(notebook());
  exchange(cell, { source: 'a = 2', outputs: [], execution_count: 7 });
  assert.deepEqual(cell.shared.getOutputs(), []);
  cell.shared.undo();
  assert.deepEqual(held(cell), ['a = 2', [printed('two\n')], 7]);
});

test('a cell that ran again since keeps what that run showed', () => {
  const { shared } = first(notebook());
  exchange({ shared, isTrusted: true }, THEN);
  shared.transact(() => {
    shared.setOutputs([printed('again\n')] as never[]);
    shared.execution_count = 9;
  }, false);
  shared.undo();
  assert.deepEqual(shared.getSource(), 'a = 2');
  assert.deepEqual(shared.getOutputs(), [printed('again\n')]);
});

test('where undo is the whole notebook\u2019s, each cell is a step of its own', () => {
  const cells = notebook(2, false);
  const [before] = cells.map(held);
  cells.forEach(cell => {
    exchange(cell, THEN);
  });
  const [one, two] = cells;
  assert.ok(one && two);
  one.shared.undo();
  assert.deepEqual([held(one), held(two)], [['a = 1', THEN.outputs, 1], before]);
  one.shared.undo();
  assert.deepEqual(cells.map(held), [before, before]);
});

test('outputs from the store do not act, those that were there act again after undo', () => {
  const cell = first(notebook());
  exchange(cell, THEN);
  assert.equal(cell.isTrusted, true); // only text
  exchange(cell, { ...THEN, outputs: [html('<img src=x onerror=alert(1)>')] });
  assert.equal(cell.isTrusted, false);
  cell.shared.undo();
  assert.equal(cell.isTrusted, true);
});
