import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asStatus } from '../checks';
import { brief, inFull } from '../sidebar/statuswords';
import { ENGLISH } from '../timeline/words';

const status = (members: object): ReturnType<typeof asStatus> =>
  asStatus({ branch: 'main', head: 'a1', now: 0, ...members });

test('the status bar tells branch, head, and money', () => {
  const rich = status({ paid_usd: 1.2, saved_usd: 4.2, saved_s: 7800 });

  assert.equal(brief(rich, 'train', ENGLISH), 'main · train · $1.20 paid, $4.20 saved');
  assert.match(inFull(rich, 'train', ENGLISH), /run again: \$4\.20, 2 h 10 min/);
});

test('without model calls it tells the time that was saved', () => {
  assert.equal(
    brief(status({ saved_s: 7800 }), 'train', ENGLISH),
    'main · train · 2 h 10 min saved'
  );
});

test('what is nothing is not told', () => {
  const poor = status({ paid_usd: 0, saved_usd: 0, saved_s: 0.1 });

  assert.equal(brief(poor, null, ENGLISH), 'main');
  assert.doesNotMatch(inFull(poor, null, ENGLISH), /run again/);
});
