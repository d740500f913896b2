import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asOffer, asPlan, offered, rest, shortened } from '../sidebar/resumeplan';
import { ENGLISH } from '../timeline/words';

const NOW = 1_800_000_000;
const TRAIN = {
  checkpoint: { id: 'a1', name: 'train', created_at: NOW - 3 * 3600 },
  variables: 12,
  size_bytes: 1_400_000_000,
  saves_s: 7800,
  saves_usd: 4.2,
  refused: []
};

test('an offer says what it brings and what it saves', () => {
  assert.equal(
    offered(asOffer(TRAIN), NOW, ENGLISH),
    "Resume from 'train' (3 h ago, 12 variables, 1.4 GB, saves 2 h 10 min and $4.20)"
  );
});

test('an offer says nothing of what is nothing', () => {
  const small = { ...TRAIN, variables: 1, saves_s: 0.2, saves_usd: null };

  assert.equal(
    offered(asOffer({ ...small, size_bytes: null }), NOW, ENGLISH),
    "Resume from 'train' (3 h ago, 1 variable)"
  );
  assert.equal(
    offered(asOffer({ ...small, saves_usd: 0.5 }), NOW, ENGLISH),
    "Resume from 'train' (3 h ago, 1 variable, 1.4 GB, saves $0.50)"
  );
});

test('what was made a moment ago or long ago is told as such', () => {
  const at = (created_at: number): string =>
    offered(asOffer({ ...TRAIN, checkpoint: { ...TRAIN.checkpoint, created_at } }), NOW, ENGLISH);

  assert.match(at(NOW - 5), /\(just now, /);
  assert.doesNotMatch(at(NOW - 30 * 86_400), / ago/);
});

test('a long name leaves room for what a notification cuts off', () => {
  const checkpoint = { ...TRAIN.checkpoint, name: 'x'.repeat(200) };

  assert.ok(offered(asOffer({ ...TRAIN, checkpoint }), NOW, ENGLISH).length < 115);
  assert.equal(shortened('abcdef', 4), 'abc…');
});

test('where nothing was checkpointed there is nothing to offer', () => {
  const nothing = asOffer({ checkpoint: null, variables: 0 });

  assert.equal(nothing.checkpoint, null);
  assert.equal(offered(nothing, NOW, ENGLISH), 'Nothing to resume from');
});

test('what is left runs, and what was edited if the user chooses it, in one order', () => {
  const plan = asPlan({
    ...TRAIN,
    cells: [
      { cell_id: 'a', does: 'skipped' },
      { cell_id: 'b', does: 'restored', why: 'edited since', edited: true },
      { cell_id: 'c', does: 'runs', why: 'stopped at 31 of 50' },
      { cell_id: 'd', does: 'runs', why: 'never ran' }
    ]
  });

  assert.deepEqual(rest(plan), ['c', 'd']);
  assert.deepEqual(rest(plan, new Set(['b'])), ['b', 'c', 'd']);
  assert.deepEqual(
    plan.cells.map(cell => cell.edited),
    [false, true, false, false]
  );
});

test('a plan of another version is refused', () => {
  assert.throws(() => asPlan({ ...TRAIN, cells: [{ cell_id: 'a', does: 'explodes' }] }));
});
