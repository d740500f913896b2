/** The cells of two branches, laid beside each other. Pure. */

import { contentOf, visible } from '../outputcontent';
import { areEqual, type IPage, type IThen, type Output } from './pageplan';

/** One cell on both sides; null where a branch has not run it. */
export interface IPair {
  cell_id: string;
  before: IThen | null;
  after: IThen | null;
  /** Whether its text, and what it showed, are the same on both. */
  isSame: boolean;
}

/**
 * Each cell that ran on either branch, once, in the order of the notebook.
 *
 * @param order - ids of the notebook's cells; those that are not in it any more come last
 */
export function pairsOf(before: IPage, after: IPage, order: readonly string[]): IPair[] {
  const [one, other] = [before, after].map(
    page => new Map(page.cells.map(cell => [cell.cell_id, cell]))
  ) as [Map<string, IThen>, Map<string, IThen>];
  const known = new Set([...one.keys(), ...other.keys()]);
  const placed = order.filter(id => known.has(id));
  const gone = [...known].filter(id => !order.includes(id));
  return [...placed, ...gone].map(cell_id => {
    const a = one.get(cell_id) ?? null;
    const b = other.get(cell_id) ?? null;
    return { cell_id, before: a, after: b, isSame: a !== null && b !== null && areSame(a, b) };
  });
}

function areSame(one: IThen, other: IThen): boolean {
  return one.source === other.source && areEqual(told(one.outputs), told(other.outputs));
}

/** What was shown, without how often the cell had run, nor names made up each time. */
function told(outputs: readonly Output[] | null): Output[] {
  return visible(outputs ?? []).map(output => ({
    ...output,
    data: contentOf(output),
    metadata: null,
    execution_count: null
  }));
}
