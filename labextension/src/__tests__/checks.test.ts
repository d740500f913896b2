import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asAnswer, asDetails, asDifference, asRows, asStatus, asWritten } from '../checks';
import { checked } from '../shapes';
import { row } from './histories';

test('rows arrive as they were sent', () => {
  const sent = [row('a', null), row('b', 'a', { progress: [1, 5], cost_usd: 0.1 })];

  assert.deepEqual(checked(asRows, sent, 'rows'), sent);
});

test('what a kernel of another version leaves out is empty', () => {
  const { tags, note, made_by, ...rest } = row('a', null);

  const [read] = checked(asRows, [rest], 'rows');

  assert.deepEqual([read?.tags, read?.note, read?.made_by], [tags, note, made_by]);
});

test('what is wrong is named with its place and the next move', () => {
  assert.throws(() => checked(asRows, [row('a', null), { ...row('b', 'a'), name: 5 }], 'rows'), {
    message: /rows\[1\]\.name is no text; reload the page/
  });
  assert.throws(
    () => checked(asRows, [{ ...row('a', null), state: 'running' }], 'rows'),
    /rows\[0\]\.state/
  );
  assert.throws(
    () => checked(asRows, [{ ...row('a', null), created_at: NaN }], 'rows'),
    /created_at/
  );
  assert.throws(() => checked(asRows, {}, 'rows'), /rows is no list/);
  assert.throws(() => checked(asStatus, null, 'status'), /status is no record/);
});

test('a shape is text, whether it comes as numbers or as text', () => {
  const variable = { name: 'x', type_name: 'ndarray', size_bytes: 1, changed: true, preview: '' };
  const details = checked(
    asDetails,
    {
      row: row('a', null),
      variables: [
        { ...variable, shape: [3, 4] },
        { ...variable, shape: '3 × 4' },
        { ...variable, shape: null }
      ]
    },
    'details'
  );

  assert.deepEqual(
    details.variables.map(one => one.shape),
    ['3 × 4', '3 × 4', '']
  );
});

test('a difference is read with what was added and removed', () => {
  const side = { id: 'a', name: 'a' };
  const read = checked(
    asDifference,
    {
      a: side,
      b: side,
      variables: [
        {
          name: 'd',
          status: 'changed',
          a: null,
          b: null,
          detail: { kind: 'tree', summary: '', rows: [['.x', null, '1']], lines: [], more: 0 }
        }
      ],
      code: { lines: [{ sign: '+', text: 'k = 5' }] },
      outputs: null,
      same: 2
    },
    'diff'
  );

  assert.deepEqual(read.variables[0]?.detail?.rows, [['.x', '', '1']]);
  assert.deepEqual(read.code, [{ sign: '+', text: 'k = 5' }]);
  assert.deepEqual(read.outputs, []);
});

test('an answer to a verb may say no more than a sentence', () => {
  assert.deepEqual(checked(asWritten, { text: 'tagged' }, 'tag'), {
    text: 'tagged',
    cells: [],
    branch: null,
    error: null,
    status: null
  });
});

test('messages that are no answers pass by', () => {
  assert.equal(asAnswer({ method: 'custom' }), null);
  assert.equal(asAnswer({ id: 'x', ok: true }), null);
  assert.equal(asAnswer('text'), null);
  assert.equal(asAnswer({ id: 1, waits: 'waits for a cell' })?.waits, 'waits for a cell');
});
