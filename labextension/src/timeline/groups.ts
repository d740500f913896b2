/** Runs of one cell, one after the other, as one row that opens. Pure. */

import type { IRow } from '../records';
import type { IListed } from './filter';

/** So many runs in a row are in nobody's way. */
const FEW = 2;

/** A row of the list, which may stand for older ones of the same name. */
export interface IGrouped extends IListed {
  /** Id of the oldest of its group; null where it is in none. */
  group: string | null;
  /** How many older ones it stands for. */
  more: number;
}

/**
 * The rows with each longer group folded into its newest one.
 *
 * A group is a line without branches of finished checkpoints of one name; what somebody has named,
 * tagged or noted, and where anybody stands, is in none.
 *
 * @param listed - oldest first
 * @param kept - ids that stay in sight: where the user stands, what is selected
 * @param open - ids of the oldest of groups that are unfolded
 */
export function grouped(
  listed: readonly IListed[],
  kept: readonly string[],
  open: ReadonlySet<string>
): IGrouped[] {
  const children = new Map<string, number>();
  for (const { parent } of listed) {
    if (parent !== null) {
      children.set(parent, (children.get(parent) ?? 0) + 1);
    }
  }
  const byId = new Map(listed.map(one => [one.id, one]));
  const groups = new Map<string, IListed[]>();
  const groupOf = new Map<string, string>();
  for (const one of listed) {
    const before = one.parent === null ? undefined : byId.get(one.parent);
    const follows =
      before !== undefined &&
      before.row.name === one.row.name &&
      one.row.state === 'done' &&
      children.get(before.id) === 1 &&
      isPlain(before.row) &&
      !kept.includes(before.id);
    const group = follows ? (groupOf.get(before.id) ?? before.id) : one.id;
    groupOf.set(one.id, group);
    const all = groups.get(group) ?? [];
    groups.set(group, all);
    all.push(one);
  }
  return listed.flatMap((one): IGrouped[] => {
    const group = groupOf.get(one.id) ?? one.id;
    const all = groups.get(group) ?? [one];
    if (all.length <= FEW) {
      return [{ ...one, group: null, more: 0 }];
    }
    if (open.has(group)) {
      return [{ ...one, group, more: 0 }];
    }
    if (one !== all[all.length - 1]) {
      return [];
    }
    return [{ ...one, parent: all[0]?.parent ?? null, skips: true, group, more: all.length - 1 }];
  });
}

/** Whether nobody has said anything of it. */
function isPlain(row: IRow): boolean {
  return row.state === 'done' && row.tags.length === 0 && row.note === '' && row.heads.length === 0;
}
