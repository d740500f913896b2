/** What the cells of two checkpoints displayed, as the front end draws it, side by side. */

import { contentOf, visible } from '../outputcontent';
import type { IDrawer, Output } from '../records';
import { isRecord, textOf } from '../shapes';
import { pre, section } from './details';
import { make } from './dom';
import { beside } from './valuefacts';
import type { IWords } from './words';

/**
 * A section with the displays that differ, in their order; null where none does.
 *
 * @param drawer - null where the front end lends none: then their texts stand for them
 */
export function comparedDisplays(
  before: readonly Output[],
  after: readonly Output[],
  drawer: IDrawer | null,
  words: IWords
): HTMLElement | null {
  const [older, newer] = [visible(before), visible(after)];
  const count = Math.max(older.length, newer.length);
  const pairs = Array.from({ length: count }, (_, at) => [older[at], newer[at]] as const);
  const differing = pairs.filter(([a, b]) => contentOf(a) !== contentOf(b));
  if (differing.length === 0) {
    return null;
  }
  const title = words._n('%1 output differs', '%1 outputs differ', differing.length);
  const drawn = (output: Output | undefined): HTMLElement | null =>
    output === undefined ? null : drawnBy(drawer, output);
  return section(
    title,
    'displays',
    differing.map(([a, b]) => beside([drawn(a), drawn(b)], words))
  );
}

function drawnBy(drawer: IDrawer | null, output: Output): HTMLElement | null {
  if (drawer !== null) {
    return make('div', 'display', { tabindex: '0' }, [drawer.of(output)]);
  }
  const text = isRecord(output.data) ? textOf(output.data['text/plain']) : '';
  return text === '' ? null : pre(text);
}
