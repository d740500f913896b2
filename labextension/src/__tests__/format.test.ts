import assert from 'node:assert/strict';
import { test } from 'node:test';
import { age, bytes, duration, money, plain } from '../timeline/format';

test('bytes have a unit and two or three digits', () => {
  assert.deepEqual(
    [0, 999, 1000, 4_149_999, 99_400, 999_499, 999_500, 88e6, 2.04e9, 5e18].map(bytes),
    ['0 B', '999 B', '1 kB', '4.1 MB', '99 kB', '999 kB', '1 MB', '88 MB', '2 GB', '5000 PB']
  );
});

test('durations are told in the two units that matter', () => {
  assert.deepEqual(
    [0, 0.0042, 0.9994, 0.9996, 1.25, 12.4, 59.94, 59.96, 126, 3599.6, 7300, 86_400, 100_000].map(
      duration
    ),
    [
      '0 ms',
      '4 ms',
      '999 ms',
      '1 s',
      '1.3 s',
      '12 s',
      '60 s',
      '1 min',
      '2 min 6 s',
      '1 h',
      '2 h 2 min',
      '1 d',
      '1 d 4 h'
    ]
  );
});

test('an age grows coarser until it is a date', () => {
  const now = 1_760_000_000;
  assert.deepEqual(
    [-5, 10, 44, 46, 90, 3500, 3580, 80_000, 86_000, 172_800].map(ago => age(now - ago, now)),
    ['now', 'now', 'now', '1 min', '2 min', '58 min', '1 h', '22 h', '1 d', '2 d']
  );
  assert.match(age(now - 30 * 86_400, now), /\d/);
  assert.notEqual(age(now - 30 * 86_400, now), age(now - 400 * 86_400, now));
});

test('money has cents, and small sums their first digits', () => {
  assert.deepEqual([0, 0.42, 1204, 0.0042, 0.00001].map(money), [
    '$0.00',
    '$0.42',
    '$1,204.00',
    '$0.0042',
    '< $0.0001'
  ]);
});

test('text is as a terminal leaves it', () => {
  assert.equal(plain('\u001b[1;31mred\u001b[0m'), 'red');
  assert.equal(plain('10%\r50%\r100%\ndone\r\n'), '100%\ndone\r\n');
});
