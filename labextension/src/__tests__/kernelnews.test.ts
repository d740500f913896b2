import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asHello, isClosing, newsIn, type INews } from '../sidebar/kernelnews';

const STATUS = { store: '', branch: 'main', now: 1 };

function row(id: string, note = ''): object {
  return { id, parent: null, name: id, state: 'done', created_at: 1, note };
}

function known(...ids: string[]): INews {
  const rows = ids.map(id => row(id));
  return asHello({ version: '1', protocol: 1, revision: 7, rows, status: STATUS });
}

test('what changed takes its place, what is new comes last, what is gone goes', () => {
  const event = {
    event: 'changed',
    since: 7,
    revision: 8,
    rows: [row('b', 'new note'), row('d')],
    gone: ['a'],
    status: STATUS
  };

  const news = newsIn(event, known('a', 'b', 'c'));

  assert.deepEqual(
    news?.rows?.map(each => each.id + each.note),
    ['bnew note', 'c', 'd']
  );
  assert.equal(news.revision, 8);
});

test('what builds on a list that this page does not have is not believed', () => {
  const event = { event: 'changed', since: 6, revision: 7, rows: [], gone: [], status: STATUS };

  assert.equal(newsIn(event, known('a')), null);
});

test('an event of a newer nbckpt brings nothing', () => {
  assert.deepEqual(newsIn({ event: 'weather', rows: 1 }, known('a')), {});
});

test('an event that is not what it should be says where', () => {
  assert.throws(
    () => newsIn({ event: 'marks', marks: { one: { state: 'odd' } } }, known()),
    /marks/
  );
});

test('marks that a kernel does not tell in full are filled up', () => {
  const marks = { one: { state: 'restored', checkpoint: 'a', took_s: 0.01 } };

  const news = newsIn({ event: 'marks', marks }, known());

  assert.equal(news?.marks?.one?.why, '');
  assert.equal(news.marks.one.source_crc, null);
});

test('the end is told apart', () => {
  assert.ok(isClosing({ event: 'closed' }));
  assert.ok(!isClosing({ event: 'rows' }));
});
