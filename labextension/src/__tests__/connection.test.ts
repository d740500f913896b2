import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ISessionContext } from '@jupyterlab/apputils';
import { Signal } from '@lumino/signaling';
import type { LinkState } from '../sidebar/connected';
import { Connection } from '../sidebar/connection';
import type { End } from '../sidebar/ended';

type Hear = (message: object) => void;

/** A comm of paper: counts what must not happen twice. */
class Comm {
  isDisposed = false;
  disposals = 0;
  opened = false;
  sent: object[] = [];
  onMsg: Hear = () => undefined;
  onClose: Hear = () => undefined;
  readonly subshellStarted = Promise.resolve();

  constructor(readonly commId: string) {}

  open(): void {
    this.opened = true;
  }
  send(data: object): void {
    this.sent.push(data);
  }
  close(): void {
    assert.ok(!this.isDisposed);
    this.dispose();
  }
  dispose(): void {
    this.disposals++;
    this.isDisposed = true;
  }
}

class Kernel {
  isDisposed = false;
  comms: Comm[] = [];
  target: ((comm: Comm, message: object) => void) | null = null;

  constructor(private readonly _there: string[] = []) {}

  registerCommTarget(_: string, target: (comm: Comm, message: object) => void): void {
    this.target = target;
  }
  removeCommTarget(): void {
    this.target = null;
  }
  hasComm(id: string): boolean {
    return this.comms.some(comm => comm.commId === id && !comm.isDisposed);
  }
  createComm(_: string, id: string): Comm {
    const comm = new Comm(id);
    this.comms.push(comm);
    return comm;
  }
  requestCommInfo(): Promise<object> {
    const comms = Object.fromEntries(this._there.map(id => [id, { target_name: 'nbckpt' }]));
    return Promise.resolve({ content: { status: 'ok', comms } });
  }
  /** nbckpt is loaded in it. */
  announce(protocol = 1): Comm {
    const comm = new Comm('nbckpt-events-1');
    this.target?.(comm, { content: { data: { version: '1', protocol } } });
    return comm;
  }
}

class Context {
  session: { kernel: Kernel } | null;
  readonly ready = Promise.resolve();
  readonly kernelChanged = new Signal<this, object>(this);
  readonly statusChanged = new Signal<this, string>(this);
  readonly iopubMessage = new Signal<this, object>(this);
  readonly connectionStatusChanged = new Signal<this, string>(this);

  constructor(kernel: Kernel | null) {
    this.session = kernel && { kernel };
  }
}

interface IPaper {
  context: Context;
  connection: Connection;
  states: LinkState[];
  ends: (End | null)[];
  settled: () => Promise<void>;
}

function connected(kernel: Kernel | null): IPaper {
  const context = new Context(kernel);
  const states: LinkState[] = [];
  const ends: (End | null)[] = [];
  const connection = new Connection(context as unknown as ISessionContext, {
    became: state => states.push(state),
    ended: how => ends.push(how),
    heard: () => undefined,
    greet: () => Promise.resolve(),
    isBusy: () => false
  });
  connection.begin();
  const settled = (): Promise<void> => new Promise(done => setTimeout(done, 5));
  return { context, connection, states, ends, settled };
}

test('a kernel that has not announced itself gets no comm', async () => {
  const kernel = new Kernel();
  const { states, settled } = connected(kernel);
  await settled();

  assert.deepEqual(states, ['starting', 'not-loaded']);
  assert.deepEqual(kernel.comms, []);
});

test('an announced kernel is asked over a comm of the page', async () => {
  const kernel = new Kernel();
  const { states, settled } = connected(kernel);
  await settled();
  kernel.announce();
  await settled();

  assert.deepEqual(states.slice(1), ['not-loaded', 'loading', 'ready']);
  assert.deepEqual(
    kernel.comms.map(comm => [comm.commId.startsWith('nbckpt-asks-'), comm.opened]),
    [[true, true]]
  );
});

test('a page that is loaded later finds the comm of events among those of other pages', async () => {
  const kernel = new Kernel(['nbckpt-asks-of-another', 'nbckpt-events-1']);
  const { states, settled } = connected(kernel);
  await settled();

  assert.equal(states.at(-1), 'ready');
  assert.equal(kernel.comms[0]?.commId, 'nbckpt-events-1');
  assert.equal(kernel.comms[0].opened, false);
});

test('a kernel of another protocol is lost', async () => {
  const kernel = new Kernel();
  const { states, settled } = connected(kernel);
  await settled();
  kernel.announce(2);
  await settled();

  assert.equal(states.at(-1), 'lost');
  assert.deepEqual(kernel.comms, []);
});

test('no comm is disposed of twice, and those of the kernel are left to it', async () => {
  const kernel = new Kernel();
  const { connection, settled } = connected(kernel);
  await settled();
  const events = kernel.announce();
  await settled();
  kernel.announce();
  await settled();
  connection.dispose();
  connection.dispose();

  assert.equal(events.disposals, 0);
  assert.deepEqual(
    kernel.comms.map(comm => comm.disposals),
    [1, 1]
  );
});

test('after a restart the kernel is looked at anew, and its comms are left to JupyterLab', async () => {
  const kernel = new Kernel();
  const { context, states, settled } = connected(kernel);
  await settled();
  kernel.announce();
  await settled();
  context.statusChanged.emit('restarting');
  context.statusChanged.emit('starting');
  context.statusChanged.emit('idle');
  await settled();

  assert.deepEqual(states.slice(-3), ['starting', 'starting', 'not-loaded']);
  assert.equal(kernel.comms[0]?.disposals, 0);
});

test('a kernel that seems to start twice is still found to have nbckpt', async () => {
  const kernel = new Kernel(['nbckpt-events-1']);
  const { context, states, settled } = connected(kernel);
  for (const status of ['restarting', 'idle', 'restarting', 'idle']) {
    context.statusChanged.emit(status);
  }
  await settled();

  assert.equal(states.at(-1), 'ready');
  assert.equal(kernel.comms.filter(comm => comm.commId === 'nbckpt-events-1').length, 1);
});

test('what is asked of a kernel without nbckpt fails at once', async () => {
  const { connection, settled } = connected(new Kernel());
  await settled();

  await assert.rejects(
    connection.questions.ask('details', {}, value => value),
    /not loaded/
  );
});

test('a notebook without a kernel says so once it is open', async () => {
  const { states, settled } = connected(null);
  assert.deepEqual(states, ['starting']);
  await settled();

  assert.deepEqual(states, ['starting', 'no-kernel']);
});

test('how a kernel went is told: by itself, or by somebody', async () => {
  for (const [status, how] of [
    ['autorestarting', 'died'],
    ['restarting', 'restarted'],
    ['dead', 'died']
  ] as const) {
    const kernel = new Kernel();
    const { context, ends, settled } = connected(kernel);
    await settled();
    kernel.announce();
    await settled();
    context.statusChanged.emit(status);

    assert.deepEqual(ends, [how]);
  }
});
