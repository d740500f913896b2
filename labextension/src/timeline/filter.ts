/** Which checkpoints are listed, and how those that are not leave the graph whole. Pure. */

import type { IRow } from '../records';

export interface IFilter {
  /** What the user typed. */
  query: string;
  /** Whether checkpoints that were made by themselves are listed. */
  automatic: boolean;
  /** Whether those of other notebooks are listed. */
  others: boolean;
}

/** A row that is listed, and what its line leaves out. */
export interface IListed {
  row: IRow;
  id: string;
  /** Its nearest listed ancestor. */
  parent: string | null;
  /** Whether there are unlisted checkpoints between them. */
  skips: boolean;
}

type Test = (row: IRow) => boolean;

/**
 * The rows that pass, each tied to its nearest ancestor that passes too.
 *
 * @param rows - oldest first, a parent before its children
 * @param kept - ids that are listed whatever made them: where the user stands
 */
export function listed(rows: readonly IRow[], filter: IFilter, kept: readonly string[]): IListed[] {
  const tests = parse(filter.query);
  const passes = (row: IRow): boolean =>
    (kept.includes(row.id) ||
      ((filter.others || row.own) &&
        (filter.automatic || !row.automatic || row.heads.length > 0))) &&
    tests.every(test => test(row));
  const nearest = new Map<string, string | null>();
  const result: IListed[] = [];
  for (const row of rows) {
    const parent = row.parent === null ? null : (nearest.get(row.parent) ?? null);
    if (!passes(row)) {
      nearest.set(row.id, parent);
      continue;
    }
    nearest.set(row.id, row.id);
    result.push({ row, id: row.id, parent, skips: parent !== row.parent });
  }
  return result;
}

/** Words are all to be met: `var:df`, `#x`, `branch:y`, `is:failed`, else a part of the name. */
export function parse(query: string): Test[] {
  return query
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== '')
    .map(word => {
      if (word.length > 1 && word.startsWith('#')) {
        return row => has(row.tags, word.slice(1));
      }
      const colon = word.indexOf(':');
      const make = colon > 0 ? KINDS.get(word.slice(0, colon)) : undefined;
      return make ? make(word.slice(colon + 1)) : named(word);
    });
}

const has = (texts: readonly string[], part: string): boolean =>
  texts.some(text => text.toLowerCase().includes(part));

function named(part: string): Test {
  return row => has([row.name, row.note], part) || row.id.toLowerCase().startsWith(part);
}

const KINDS: ReadonlyMap<string, (part: string) => Test> = new Map([
  ['name', part => row => has([row.name], part)],
  ['note', part => row => has([row.note], part)],
  ['var', part => row => has(row.changed, part)],
  ['tag', part => row => has(row.tags, part)],
  ['branch', part => row => has([row.branch, ...row.heads], part)],
  ['notebook', part => row => has([row.notebook], part)],
  ['is', part => row => has([row.state, row.automatic ? 'automatic' : '', row.made_by], part)]
]);
