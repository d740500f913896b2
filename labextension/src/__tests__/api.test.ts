import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Kernel, PATIENCE_S } from '../api';

interface ISent {
  id: number;
  op: string;
  args: Record<string, unknown>;
}

function paper(isBusy: () => boolean = () => false): {
  kernel: Kernel;
  sent: ISent[];
  waits: string[];
} {
  const sent: ISent[] = [];
  const waits: string[] = [];
  const kernel = new Kernel(
    message => sent.push(message as ISent),
    isBusy,
    text => waits.push(text)
  );
  return { kernel, sent, waits };
}

function last(sent: ISent[]): ISent {
  const message = sent[sent.length - 1];
  assert.ok(message);
  return message;
}

test('answers find their questions, whatever order they come in', async () => {
  const { kernel, sent } = paper();
  const first = kernel.rewind('a');
  const second = kernel.tag('b', 'x');
  const [one, two] = sent;

  kernel.receive({ id: two?.id, ok: true, result: { text: 'tagged' } });
  kernel.receive({ id: one?.id, ok: true, result: { text: 'rewound' } });

  assert.equal((await first).text, 'rewound');
  assert.equal((await second).text, 'tagged');
});

test('a question says what is asked for', () => {
  const { kernel, sent } = paper();

  void kernel.fork('a', null, { k: '5' }, true).catch(() => undefined);

  assert.deepEqual(
    { ...last(sent), id: 0 },
    {
      id: 0,
      op: 'fork',
      args: { ref: 'a', branch: null, values: { k: '5' }, other_notebook: true }
    }
  );
  kernel.dispose();
});

test("the kernel's refusal is the error, word by word", async () => {
  const { kernel, sent } = paper();
  const asked = kernel.rewind('nope');

  kernel.receive({ id: last(sent).id, ok: false, error: "no checkpoint 'nope'", kind: 'X' });

  await assert.rejects(asked, { message: "no checkpoint 'nope'" });
});

test("another view's answers pass by, and two views do not count alike", async () => {
  const { kernel, sent } = paper();
  const other = paper();
  void other.kernel.rewind('a').catch(() => undefined);
  const asked = kernel.rewind('a');

  assert.notEqual(last(sent).id, last(other.sent).id);
  kernel.receive({ id: last(other.sent).id, ok: true, result: { text: 'for the other' } });
  kernel.receive({ id: last(sent).id, ok: true, result: { text: 'for me' } });

  assert.equal((await asked).text, 'for me');
  other.kernel.dispose();
});

test('an answer of the wrong shape is an error and not a wrong picture', async () => {
  const { kernel, sent } = paper();
  const asked = kernel.details('a');

  kernel.receive({ id: last(sent).id, ok: true, result: { row: 'a' } });

  await assert.rejects(asked, /details\.row is no record/);
});

test('a read that nobody answers is given up, not while a cell runs', async () => {
  mock.timers.enable({ apis: ['setInterval'] });
  let busy = true;
  const { kernel } = paper(() => busy);
  let why = '';
  const asked = kernel.details('a').catch((error: unknown) => {
    why = String(error);
  });

  mock.timers.tick(10 * PATIENCE_S * 1000);
  await Promise.resolve();
  assert.equal(why, '');
  busy = false;
  mock.timers.tick(PATIENCE_S * 1000);
  await asked;

  assert.match(why, /did not answer within 30 s; if it was restarted, run %timeline again/);
  mock.timers.reset();
});

test('a sign of life makes a read wait on', async () => {
  mock.timers.enable({ apis: ['setInterval'] });
  const { kernel, sent } = paper();
  const asked = kernel.details('a');

  for (let times = 0; times < 5; times++) {
    mock.timers.tick((PATIENCE_S - 1) * 1000);
    kernel.heard();
  }
  kernel.receive({ id: last(sent).id, ok: false, error: 'late' });

  await assert.rejects(asked, { message: 'late' });
  mock.timers.reset();
});

test('what changes the kernel is waited for as long as it takes, and says what for', async () => {
  mock.timers.enable({ apis: ['setInterval'] });
  const { kernel, sent, waits } = paper();
  const asked = kernel.rerun('a', { everything: true, fresh: false, other: false });

  kernel.receive({ id: last(sent).id, waits: 'waits until the cell has ended' });
  mock.timers.tick(3_600_000);
  kernel.receive({ id: last(sent).id, ok: true, result: { text: 'reran' } });

  assert.equal((await asked).text, 'reran');
  assert.deepEqual(waits, ['waits until the cell has ended']);
  mock.timers.reset();
});

test('when the view is closed, nothing is waited for', async () => {
  const { kernel } = paper();
  const asked = kernel.rewind('a');

  kernel.dispose();

  await assert.rejects(asked, /was closed/);
});
