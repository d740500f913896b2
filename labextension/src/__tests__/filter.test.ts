import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listed } from '../timeline/filter';
import { layout } from '../timeline/layout';
import { row } from './histories';

const ROWS = [
  row('load', null, { changed: ['df'] }),
  row('cell-1', 'load', { automatic: true, changed: ['Df2'] }),
  row('cell-2', 'cell-1', { automatic: true }),
  row('train', 'cell-2', {
    tags: ['best'],
    note: 'with k=5',
    branch: 'try',
    heads: ['try', 'spare']
  }),
  row('broken', 'train', { state: 'failed' })
];

function ids(query: string, automatic = true): string[] {
  return listed(ROWS, { query, automatic, others: false }, []).map(one => one.id);
}

test('a word is a part of the name or of the note', () => {
  assert.deepEqual(ids('TRA'), ['train']);
  assert.deepEqual(ids('k=5'), ['train']);
});

test('a word with a colon asks for one thing', () => {
  assert.deepEqual(ids('var:df'), ['load', 'cell-1']);
  assert.deepEqual(ids('tag:best'), ['train']);
  assert.deepEqual(ids('#best'), ['train']);
  assert.deepEqual(ids('branch:spare'), ['train']);
  assert.deepEqual(ids('is:failed'), ['broken']);
});

test('all words have to be met', () => {
  assert.deepEqual(ids('cell var:df'), ['cell-1']);
  assert.deepEqual(
    ids('  '),
    ROWS.map(each => each.id)
  );
});

test('an unknown word with a colon is a part of the name', () => {
  assert.deepEqual(ids('constructor:x'), []);
  assert.deepEqual(ids('toString:'), []);
});

test('a checkpoint that is left out ties its children to its parent', () => {
  const result = listed(ROWS, { query: '', automatic: false, others: false }, []);

  assert.deepEqual(
    result.map(one => [one.id, one.parent, one.skips]),
    [
      ['load', null, false],
      ['train', 'load', true],
      ['broken', 'train', false]
    ]
  );
  assert.equal(layout(result, 'broken').width, 1);
});

test('where the user stands is listed, automatic or not', () => {
  const result = listed(ROWS, { query: '', automatic: false, others: false }, ['cell-2']);

  assert.deepEqual(
    result.map(one => one.id),
    ['load', 'cell-2', 'train', 'broken']
  );
});

test("another notebook's are listed where they are asked for, or stood on", () => {
  const rows = [
    row('mine', null),
    row('theirs', null, { own: false, notebook: 'b' }),
    row('beyond', 'theirs')
  ];
  const shown = (others: boolean, kept: string[] = []): string[] =>
    listed(rows, { query: '', automatic: true, others }, kept).map(one => one.id);

  assert.deepEqual(shown(false), ['mine', 'beyond']);
  assert.deepEqual(shown(true), ['mine', 'theirs', 'beyond']);
  assert.deepEqual(shown(false, ['theirs']), ['mine', 'theirs', 'beyond']);
});
