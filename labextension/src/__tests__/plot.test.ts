import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placesOf } from '../timeline/plot';
import { reading } from '../timeline/valuefacts';

test('numbers lie evenly apart, the lowest at the bottom; a gap has no place', () => {
  assert.deepEqual(placesOf([0, null, 10], 100, 20, 0), [
    [0, 20],
    [100, 0]
  ]);
});

test('equal numbers lie in the middle, also one alone', () => {
  assert.deepEqual(placesOf([3, 3], 10, 8, 0), [
    [0, 4],
    [10, 4]
  ]);
  assert.deepEqual(placesOf([3], 10, 8, 1), [[1, 4]]);
});

test('the largest numbers have places, too', () => {
  const places = placesOf([-1.7e308, 1.7e308], 10, 10, 0);
  assert.deepEqual(places, [
    [0, 10],
    [10, 0]
  ]);
});

test('numbers are read with four digits, sizes in their units', () => {
  assert.equal(reading(0.123456, 'mean'), '0.1235');
  assert.equal(reading(500, 'rows'), '500');
  assert.equal(reading(1500, 'bytes'), '1.5 kB');
});
