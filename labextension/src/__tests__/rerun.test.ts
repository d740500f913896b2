import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  asRerunPlan,
  chosen,
  counted,
  failure,
  firstLine,
  summary,
  tickedAtFirst
} from '../sidebar/rerunplan';
import { ENGLISH } from '../timeline/words';

const PLAN = asRerunPlan({
  cells: [
    { cell_id: 'a', does: 'runs', why: 'it was edited' },
    { cell_id: 'b', does: 'restored', why: 'nothing that it reads has changed' },
    { cell_id: 'c', does: 'fresh' },
    { cell_id: 'd', does: 'left', why: 'n was given by hand', given: ['n'] },
    { cell_id: 'e', does: 'runs', why: 'it overwrites n, given by hand', given: ['n'] }
  ]
});
const NONE: ReadonlySet<string> = new Set();

test('what stands as it would after a rerun is executed only when all is asked for', () => {
  const ids = (everything: boolean): string[] =>
    chosen(PLAN, { everything, ticked: NONE }).map(cell => cell.cell_id);
  assert.deepEqual(
    [ids(false), ids(true)],
    [
      ['a', 'b'],
      ['a', 'b', 'c']
    ]
  );
});

test('what takes given values back is executed only where it is ticked', () => {
  const ticked = tickedAtFirst(PLAN);
  assert.deepEqual([...ticked], ['e']);
  const ids = (...more: string[]): string[] =>
    chosen(PLAN, { everything: false, ticked: new Set(more) }).map(cell => cell.cell_id);
  assert.deepEqual(ids('e'), ['a', 'b', 'e']);
  assert.deepEqual(ids('d', 'e'), ['a', 'b', 'd', 'e']);
});

test('the plan is told in numbers', () => {
  const told = (everything: boolean, ticked: ReadonlySet<string>): string =>
    counted(PLAN, { everything, ticked }, ENGLISH);
  assert.equal(told(false, NONE), '1 cell runs, 1 is restored, 1 stays as it is, 2 are left out');
  assert.equal(told(true, new Set(['d', 'e'])), '4 cells run, 1 is restored');
});

test('a plan of another shape is refused', () => {
  assert.throws(() => asRerunPlan({ cells: [{ cell_id: 'a', does: 'explodes' }] }));
});

test('a cell is called by its checkpoint or its first line', () => {
  assert.deepEqual(
    [
      '%%checkpoint train --sync\nmodel = fit(df)',
      '%%checkpoint --sync\n\nmodel = fit(df)',
      '# %%checkpoint train\nmodel = fit(df)',
      '#%%checkpoint\nmodel = fit(df)',
      '\n  x = 1  \ny = 2',
      '%%time\nslow()',
      ''
    ].map(source => firstLine(source)),
    ['train', 'model = fit(df)', 'train', 'model = fit(df)', 'x = 1', 'slow()', '']
  );
  assert.equal(firstLine('x'.repeat(100)).length, 60);
});

test('what came of it is told in numbers', () => {
  const cell = { checkpoint_id: null, why: '', took_s: null };
  const cells = ['run', 'run', 'restored', 'failed', 'not reached'].map((state, at) => ({
    ...cell,
    name: String(at),
    state
  }));
  assert.equal(
    summary('load', cells, ENGLISH),
    'rerun from load: 2 run, 1 restored, 1 failed, 1 not reached'
  );
});

test('what failed is told with what was not reached', () => {
  const cell = { checkpoint_id: null, took_s: null };
  const ran = { ...cell, name: 'load', state: 'run', why: '' };
  const failed = { ...cell, name: 'total', state: 'failed', why: 'ValueError: no rows' };
  const left = { ...cell, name: 'mean', state: 'not reached', why: '' };
  assert.deepEqual(
    [[ran], [ran, failed], [failed, left], [failed, left, left]].map(cells =>
      failure(cells, ENGLISH)
    ),
    [
      null,
      'total failed: ValueError: no rows',
      'total failed: ValueError: no rows; 1 cell was not reached',
      'total failed: ValueError: no rows; 2 cells were not reached'
    ]
  );
});
