import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areInert, asPage, planOf, type INow, type Output } from '../sidebar/pageplan';

const printed = (text: string): Output => ({ output_type: 'stream', name: 'stdout', text });
const shown = (data: Record<string, string>): Output => ({
  output_type: 'display_data',
  data,
  metadata: {}
});

function now(cell_id: string, change: Partial<INow> = {}): INow {
  return {
    cell_id,
    source: `${cell_id} = 2`,
    outputs: [printed('two\n')],
    execution_count: 7,
    isFixed: false,
    ...change
  };
}

const THEN = { source: 'a = 1', outputs: [printed('one\n')], execution_count: 1 };

test('a cell gets the text, outputs and number that it had', () => {
  const plan = planOf([now('a')], { cells: [{ cell_id: 'a', ...THEN }], later: [] });
  assert.deepEqual(plan, { changes: [{ cell_id: 'a', ...THEN }], missing: 0, fixed: 0 });
});

test('a cell that had not run by then keeps its text and shows nothing', () => {
  const plan = planOf([now('b')], { cells: [], later: ['b'] });
  assert.deepEqual(plan.changes, [
    { cell_id: 'b', source: 'b = 2', outputs: [], execution_count: null }
  ]);
});

test('cells that no checkpoint knows, and cells that are as they were, are left alone', () => {
  const there = now('a', { ...THEN, outputs: [{ ...printed('one\n'), metadata: {} }] });
  const plan = planOf([there, now('scratch')], {
    cells: [{ cell_id: 'a', ...THEN }],
    later: []
  });
  assert.deepEqual(plan.changes, []);
});

test('what nbckpt says and what lives in the kernel is no difference, nor is a number', () => {
  const said = { ...shown({ 'text/plain': "restored 'a'" }), metadata: { nbckpt: {} } };
  const widget = shown({ 'application/vnd.jupyter.widget-view+json': 'x', 'text/plain': 'y' });
  const there = now('a', { ...THEN, execution_count: 9, outputs: [said, ...THEN.outputs, widget] });
  assert.deepEqual(planOf([there], { cells: [{ cell_id: 'a', ...THEN }], later: [] }).changes, []);
});

test('outputs that were not recorded stay with their text, and go with another', () => {
  const unknown = { cell_id: 'a', source: 'a = 1', outputs: null, execution_count: 1 };
  const page = { cells: [unknown], later: [] };
  assert.deepEqual(planOf([now('a', { source: 'a = 1' })], page).changes, []);
  assert.deepEqual(planOf([now('a')], page).changes[0]?.outputs, []);
});

test('what runs or is read-only is counted, and what was deleted too', () => {
  const plan = planOf([now('a', { isFixed: true })], {
    cells: [
      { cell_id: 'a', ...THEN },
      { cell_id: 'deleted', ...THEN }
    ],
    later: []
  });
  assert.deepEqual(plan, { changes: [], missing: 1, fixed: 1 });
});

test('outputs from the kernel are checked: lines are joined, other things left out', () => {
  const page = asPage({
    cells: [
      {
        cell_id: 'a',
        source: 'a = 1',
        execution_count: null,
        outputs: [
          { output_type: 'stream', name: 'stdout', text: ['one\n', 'two\n'] },
          { output_type: 'script', text: 'alert(1)' },
          'nothing'
        ]
      },
      { cell_id: 'b', source: '', outputs: null }
    ]
  });
  assert.deepEqual(
    page.cells.map(cell => cell.outputs),
    [[printed('one\ntwo\n')], null]
  );
  assert.throws(() => asPage({ cells: [{ source: 'x' }] }), /cells\[0\]|text/);
});

test('text and pictures of points are inert, all else may act', () => {
  assert.ok(areInert([printed('<script>'), { output_type: 'error', ename: 'E' }]));
  assert.ok(areInert([shown({ 'text/plain': 'x', 'image/png': 'iVBO' })]));
  for (const mime of ['text/html', 'image/svg+xml', 'application/javascript', 'text/markdown']) {
    assert.ok(!areInert([shown({ 'text/plain': 'x', [mime]: '<img onerror=alert(1)>' })]), mime);
  }
});
