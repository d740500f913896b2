import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPng } from '../timeline/details';
import { readFork } from '../timeline/fork';
import { ENGLISH } from '../timeline/words';

function read(branch: string, ...pairs: [string, string][]): unknown {
  return readFork(branch, pairs, ['main'], ENGLISH);
}

test('a fork is asked for with a branch and values, or without', () => {
  assert.deepEqual(read(' try-2 ', ['k', ' 5 '], ['', '']), {
    branch: 'try-2',
    values: { k: '5' }
  });
  assert.deepEqual(read(''), { branch: null, values: {} });
});

test('every name of Python may be a value', () => {
  const request = read('', ['größe', '1'], ['__proto__', '2'], ['_x1', '3']) as {
    values: Record<string, string>;
  };

  assert.deepEqual(Object.entries(request.values), [
    ['größe', '1'],
    ['__proto__', '2'],
    ['_x1', '3']
  ]);
});

test('what is wrong with a fork is said with what was typed', () => {
  assert.match(String(read('main')), /'main' already/);
  assert.match(String(read('two words')), /'two words' has a blank/);
  assert.match(String(read('', ['a.b', '1'])), /'a\.b' is no name/);
  assert.match(String(read('', ['', '1'])), /Which variable is to be '1'\?/);
  assert.match(String(read('', ['k', ' '])), /What is 'k' to be\?/);
  assert.match(String(read('', ['k', '1'], ['k', '2'])), /'k' stands there twice/);
});

test('only a PNG becomes an image', () => {
  assert.ok(isPng('iVBORw0KGgoAAAANSUhEUgAA'));
  assert.ok(!isPng('iVBORw0KGgo"onload="alert(1)'));
  assert.ok(!isPng('PHN2ZyB4bWxucz0iaHR0cDovL3d3dy4='));
  assert.ok(!isPng('iVBORw0KGgoA'.slice(0, 11)));
});
