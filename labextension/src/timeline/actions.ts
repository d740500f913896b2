/** What can be done with one checkpoint, the likeliest first. Pure. */

import type { IRow } from '../records';
import type { TaskVerb } from './tasks';
import type { IWords } from './words';

/** A verb with what it is called and the key that does it. */
export interface IAction {
  verb: TaskVerb | 'compare' | 'switch';
  text: string;
  key: string;
  /** Where to, of `switch`. */
  branch?: string;
}

/** How many stand as buttons; the rest is in a menu. */
export const SHOWN = 3;
/** More heads than these are in nobody's way. */
const MOST_SWITCHES = 3;

/**
 * All that can be done with `row`.
 *
 * @param here - where the session stands: there is nothing to rewind to there
 * @param branch - the one that it is on
 */
export function actionsOf(
  row: IRow,
  { here, branch }: { here: string | null; branch: string },
  words: IWords
): IAction[] {
  const rewind: IAction = { verb: 'rewind', text: words.__('Rewind'), key: words.__('Enter') };
  const rerun: IAction = { verb: 'rerun', text: words.__('Rerun from here'), key: 'R' };
  const fork: IAction = { verb: 'fork', text: words.__('Fork…'), key: 'F' };
  const isHere = row.id === here;
  const switches = row.heads
    .filter(head => head !== branch)
    .slice(0, MOST_SWITCHES)
    .map((head): IAction => {
      return { verb: 'switch', text: words.__('Switch to %1', head), key: '', branch: head };
    });
  return [
    ...(isHere ? [rerun, fork] : [rewind, fork]),
    { verb: 'compare', text: words.__('Compare…'), key: 'C' },
    ...(isHere ? [rewind] : [rerun]),
    ...switches,
    { verb: 'tag', text: words.__('Tag'), key: 'T' },
    { verb: 'note', text: words.__('Note'), key: 'N' }
  ];
}
