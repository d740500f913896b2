/** What stands where no checkpoint is listed. */

import type { IRow } from '../records';
import { button } from './dom';
import type { IFilter } from './filter';
import type { IWords } from './words';

/** A sentence, and the way to those of other notebooks where there are no others. */
export function emptyContent(
  rows: readonly IRow[],
  filter: IFilter,
  words: IWords,
  listOthers: () => void
): (Node | string)[] {
  const others = rows.filter(row => !row.own).length;
  if (rows.length > 0 && (others < rows.length || filter.others)) {
    return [words.__('No checkpoint matches the filter.')];
  }
  const nothing = words.__('Nothing is checkpointed yet: put %1 on top of a cell.', '%%checkpoint');
  if (others === 0) {
    return [nothing];
  }
  const what = words._n(
    'List %1 checkpoint of other notebooks',
    'List %1 checkpoints of other notebooks',
    others
  );
  return [nothing, button('action listOthers', what, listOthers)];
}
