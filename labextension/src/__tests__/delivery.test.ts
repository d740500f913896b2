import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { Delivery, SOON_MS, TIMES } from '../approvals/delivery';

Object.assign(globalThis, { window: globalThis });

/** A wire that keeps what was sent. */
class Wire {
  readonly sent: { op?: string; number?: string }[] = [];

  /** What was sent, by the order in which it was made. */
  get numbers(): string[] {
    const all = this.sent.map(({ number }) => String(number));
    const known = [...new Set(all)];
    return all.map(number => `${known.indexOf(number) + 1}`);
  }

  /** The number of the message that was made so many-th. */
  numberOf(which: number): string {
    return [...new Set(this.sent.map(({ number }) => String(number)))][which - 1] ?? '';
  }

  send(message: object): void {
    this.sent.push(message);
  }
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
});

test('a message is sent until the kernel says that it came', () => {
  const wire = new Wire();
  const delivery = new Delivery(wire);
  delivery.send({ op: 'shown' });
  mock.timers.tick(SOON_MS);
  mock.timers.tick(2 * SOON_MS);
  assert.deepEqual(wire.numbers, ['1', '1', '1']);
  assert.equal(delivery.receive({ came: wire.numberOf(1) }), true);
  mock.timers.tick(1e6);
  assert.equal(wire.sent.length, 3);
});

test('a message of which nothing is heard is given up, and another is sent anew', () => {
  const wire = new Wire();
  const delivery = new Delivery(wire);
  let silences = 0;
  delivery.send({ op: 'answer' }, () => silences++);
  for (let time = 0; time < TIMES; time++) {
    assert.equal(silences, 0);
    mock.timers.tick(SOON_MS * 2 ** time);
  }
  assert.deepEqual([silences, wire.sent.length], [1, TIMES]);
  delivery.send({ op: 'answer' });
  assert.deepEqual([wire.sent.at(-1)?.op, wire.numbers.at(-1)], ['answer', '2']);
  delivery.dispose();
});

test('a word about one message ends no other, and other messages are no such word', () => {
  const wire = new Wire();
  const delivery = new Delivery(wire);
  delivery.send({ op: 'shown' });
  delivery.send({ op: 'answer' });
  delivery.receive({ came: wire.numberOf(1) });
  assert.equal(delivery.receive({ error: 'no' }), false);
  assert.equal(delivery.receive(null), false);
  mock.timers.tick(SOON_MS);
  assert.deepEqual(wire.numbers, ['1', '2', '2']);
  delivery.dispose();
  mock.timers.tick(1e6);
  assert.equal(wire.sent.length, 3);
});

test('two views of one widget give their messages other numbers', () => {
  const wire = new Wire();
  const views = [new Delivery(wire), new Delivery(wire)];
  views.forEach(view => {
    view.send({ op: 'shown' });
  });
  assert.deepEqual(wire.numbers, ['1', '2']);
  views.forEach(view => {
    view.dispose();
  });
});

test('what cannot be sent any more is given up without an error', () => {
  let silences = 0;
  const delivery = new Delivery({
    send: () => {
      throw new Error('Cannot send');
    }
  });
  delivery.send({ op: 'answer' }, () => silences++);
  mock.timers.tick(1e6);
  assert.equal(silences, 1);
});
