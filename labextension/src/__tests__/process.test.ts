import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KernelMessage } from '@jupyterlab/services';
import { ProcessWatch } from '../sidebar/process';

function status(session: string, state = 'busy'): KernelMessage.IMessage {
  const message = { header: { session, msg_type: 'status' }, content: { execution_state: state } };
  return message as unknown as KernelMessage.IMessage;
}

function watch(): { watch: ProcessWatch; count: () => number } {
  let count = 0;
  return { watch: new ProcessWatch(() => count++), count: () => count };
}

test('another process is noticed once', () => {
  const { watch: process, count } = watch();
  process.know(status('one'));

  process.hear(status('one'));
  assert.equal(count(), 0);
  process.hear(status('two'));
  process.hear(status('two'));

  assert.equal(count(), 1);
});

test('what a server says in the name of a kernel is no process', () => {
  const { watch: process, count } = watch();
  process.know(status('one'));

  process.hear(status('server', 'restarting'));

  assert.equal(count(), 0);
});

test('no process is a surprise before one is known', () => {
  const { watch: process, count } = watch();

  process.hear(status('one'));
  process.know(status('one'));
  process.forget();
  process.hear(status('two'));

  assert.equal(count(), 0);
});
