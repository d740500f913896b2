/** What a page still knows of a kernel that is gone, in words. Pure. */

import type { IBusy, IRow } from '../records';
import { ago, money } from '../timeline/format';
import { stateText } from '../timeline/row';
import type { IWords } from '../timeline/words';

/** A kernel's end: by itself, or because somebody restarted or changed it. */
export type End = 'died' | 'restarted' | 'changed';

/** A kernel that was known and is gone. */
export interface IEnded {
  how: End;
  /** Seconds since the epoch. */
  at: number;
  /** The cell that ran then. */
  busy: IBusy | null;
}

/** "The kernel died 2 min ago, while summaries ran (killed; perhaps out of memory)". */
export function endedText(ended: IEnded | null, now: number, words: IWords): string {
  if (ended === null) {
    return words.__('This notebook has a new kernel');
  }
  const when = ago(ended.at, now, words);
  switch (ended.how) {
    case 'died':
      return ended.busy === null
        ? words.__('The kernel died %1', when)
        : words.__(
            'The kernel died %1, while %2 ran (killed; perhaps out of memory)',
            when,
            ended.busy.name === '' ? words.__('a cell') : ended.busy.name
          );
    case 'restarted':
      return words.__('The kernel was restarted %1', when);
    case 'changed':
      return words.__('This notebook has had another kernel since %1', when);
  }
}

/**
 * What was begun and did not end, newest first: "summaries: 7 of 24, $0.02 paid".
 *
 * @param rows - oldest first
 * @param here - where the session stood; what follows from its line counts
 */
export function halfDone(rows: readonly IRow[], here: string | null, words: IWords): string[] {
  const line = lineOf(rows, here);
  const ended = new Set<string>();
  const told = new Map<string, string>();
  for (const row of [...rows].reverse()) {
    const isOnLine = line.has(row.id);
    if (row.state === 'partial' && (isOnLine || (here !== null && row.parent === here))) {
      if (!ended.has(row.name) && !told.has(row.name)) {
        told.set(row.name, partText(row, words));
      }
    } else if (isOnLine) {
      ended.add(row.name);
    }
  }
  return [...told.values()];
}

/** Ids from `here` back to the first. */
function lineOf(rows: readonly IRow[], here: string | null): Set<string> {
  const byId = new Map(rows.map(row => [row.id, row]));
  const line = new Set<string>();
  for (let row = byId.get(here ?? ''); row; row = byId.get(row.parent ?? '')) {
    line.add(row.id);
  }
  return line;
}

function partText(row: IRow, words: IWords): string {
  const [done, total] = row.progress ?? [0, 0];
  const paid = row.cost_usd ? words.__('%1 paid', money(row.cost_usd)) : '';
  const isOpen = total <= 0 && done > 0; // of a generator nobody knows how long it is
  const far = isOpen ? words._n('%1 item done', '%1 items done', done) : stateText(row, words);
  return `${row.name}: ${[far, paid].filter(text => text !== '').join(', ')}`;
}
