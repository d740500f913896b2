import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moveOf, verbOf, type IPress } from '../timeline/keys';

function press(key: string, modifiers: Partial<IPress> = {}): IPress {
  return { key, ctrlKey: false, metaKey: false, altKey: false, ...modifiers };
}

test('letters ask for verbs, large or small', () => {
  assert.deepEqual(
    ['Enter', 'f', 'F', 'r', 'c', 'Escape'].map(key => verbOf(press(key))),
    ['rewind', 'fork', 'fork', 'rerun', 'compare', 'escape']
  );
});

test("keys with Control, Command or Alt are the host's", () => {
  assert.equal(verbOf(press('r', { ctrlKey: true })), undefined);
  assert.equal(verbOf(press('f', { metaKey: true })), undefined);
  assert.equal(moveOf(press('ArrowUp', { altKey: true }), 5), undefined);
  assert.equal(verbOf(press('x')), undefined);
});

test('arrows, pages and ends move', () => {
  const from = (key: string): number | undefined => moveOf(press(key), 5)?.(10, 100);

  assert.deepEqual(
    ['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End'].map(from),
    [11, 9, 15, 5, 0, 99]
  );
});
