import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from '../sidebar/crc';
import { lookOf } from '../sidebar/looks';
import type { IMark } from '../sidebar/kernelnews';
import { ENGLISH } from '../timeline/words';

const MARK: IMark = {
  state: 'checkpointed',
  checkpoint: 'c1',
  name: 'train',
  created_at: 1_760_000_000,
  took_s: 0.012,
  source_crc: null,
  why: '',
  error: ''
};

function look(change: Partial<IMark>, edited = false): ReturnType<typeof lookOf> {
  return lookOf({ ...MARK, ...change }, edited, ENGLISH);
}

test('a text has the number that zlib has for it', () => {
  assert.deepEqual(
    ['', 'x = 1', 'df.mean() # µ ≠ 漢 🎉\n'].map(crc32),
    [0, 0x475ba176, 0x7e4dc802]
  );
});

test('each state is told in words', () => {
  assert.deepEqual(
    [
      look({}),
      look({ state: 'restored' }),
      look({ state: 'restored', took_s: null }),
      look({ state: 'stale', why: 'df changed' }),
      look({ state: 'stale' }),
      look({ state: 'failed', error: 'ValueError: no rows\n  in line 3' }),
      look({ state: 'failed' }),
      look({ state: 'running' })
    ].map(each => each.text),
    [
      'checkpointed',
      'restored in 12 ms',
      'restored',
      'stale: df changed',
      'stale',
      'failed: ValueError: no rows',
      'failed',
      'running'
    ]
  );
});

test('a cell that was edited is stale, whatever became of it, but while it runs', () => {
  assert.deepEqual(
    (['checkpointed', 'restored', 'stale', 'failed', 'running'] as const).map(state => {
      const { text, state: shown } = look({ state, why: 'df changed' }, true);
      return [shown, text];
    }),
    [
      ['stale', 'stale: edited since'],
      ['stale', 'stale: edited since'],
      ['stale', 'stale: edited since'],
      ['stale', 'stale: edited since it failed'],
      ['running', 'running']
    ]
  );
});

test('a mark names its checkpoint where it has one', () => {
  const with_one = look({ state: 'restored' });
  assert.match(with_one.title, /^restored in 12 ms\nCheckpoint train, made .+\nA click shows it/);
  assert.equal(with_one.label, 'restored in 12 ms. Show checkpoint train');
  const without = look({ state: 'running', checkpoint: null });
  assert.deepEqual([without.title, without.label], ['running', 'running']);
});

test('a long error is cut beside the cell, not in the tooltip, and loses its colours', () => {
  const error = `\u001b[31mValueError\u001b[0m: ${'x'.repeat(200)}`;
  const { text, title } = look({ state: 'failed', error });
  assert.equal(text.length, 90);
  assert.match(text, /^failed: ValueError: x+…$/);
  assert.match(title, /^failed: ValueError: x{200}\n/);
});
