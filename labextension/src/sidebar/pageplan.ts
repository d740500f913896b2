/** What the cells of a page had at an earlier checkpoint, and what takes them back there. Pure. */

import { asOutputs } from '../checks';
import type { Output } from '../records';
import { isRecord, list, number, optional, shaped, text, type Check } from '../shapes';

export type { Output } from '../records';

/** What a cell holds. */
export interface IContents {
  source: string;
  /** Null where they are not known. */
  outputs: Output[] | null;
  execution_count: number | null;
}

/** A cell of an earlier page. */
export interface IThen extends IContents {
  cell_id: string;
}

/** An earlier page. */
export interface IPage {
  cells: IThen[];
  /** Cells that ran first after it. */
  later: string[];
}

/** A cell of the page as it is now. */
export interface INow extends IThen {
  outputs: Output[];
  /** It runs, or the user made it read-only. */
  isFixed: boolean;
}

/** What is to be changed so that the page is as it was. */
export interface IPlan {
  changes: IThen[];
  /** Cells that had something then and are not in the page any more. */
  missing: number;
  /** Cells that would change, but run or are read-only. */
  fixed: number;
}

const NBCKPT = 'nbckpt';
const LIVE = 'application/vnd.jupyter.widget-view+json';

/** What is shown as it stands, whoever wrote it: all else may act in the page. */
const INERT: ReadonlySet<string> = new Set(['text/plain', 'image/png', 'image/jpeg']);

/** What the kernel answers to `page`. */
export const asPage: Check<IPage> = shaped<IPage>({
  cells: list(
    shaped<IThen>({
      cell_id: text,
      source: text,
      outputs: optional(asOutputs),
      execution_count: optional(number)
    })
  ),
  later: list(text)
});

/**
 * What takes a page back.
 *
 * Cells that had not run by then keep their text and lose their outputs; cells that no checkpoint
 * knows are left alone, and so are outputs that were not recorded, unless the text is another now.
 */
export function planOf(now: readonly INow[], then: IPage): IPlan {
  const had = new Map(then.cells.map(cell => [cell.cell_id, cell]));
  const later = new Set(then.later);
  const plan: IPlan = { changes: [], missing: 0, fixed: 0 };
  for (const cell of now) {
    const was = had.get(cell.cell_id) ?? (later.has(cell.cell_id) ? unrun(cell) : null);
    if (was === null) {
      continue;
    }
    const change = changeOf(cell, was);
    if (change !== null && cell.isFixed) {
      plan.fixed += 1;
    } else if (change !== null) {
      plan.changes.push(change);
    }
  }
  const there = new Set(now.map(cell => cell.cell_id));
  plan.missing = then.cells.filter(cell => !there.has(cell.cell_id)).length;
  return plan;
}

function unrun(cell: INow): IThen {
  return { ...cell, outputs: [], execution_count: null };
}

function changeOf(now: INow, then: IThen): IThen | null {
  const isSameText = now.source === then.source;
  const shown = then.outputs ?? (isSameText ? now.outputs : []);
  if (isSameText && areEqual(now.outputs.filter(isKept), shown.filter(isKept))) {
    return null;
  }
  const { cell_id, source, execution_count } = then;
  return { cell_id, source, execution_count, outputs: shown };
}

/** No checkpoint has what nbckpt itself says under a cell, nor what lives in a kernel. */
function isKept(output: Output): boolean {
  const { data, metadata } = output;
  return !(isRecord(metadata) && NBCKPT in metadata) && !(isRecord(data) && LIVE in data);
}

/** Whether two lists of outputs show the same. */
export function areEqual(a: readonly Output[], b: readonly Output[]): boolean {
  return JSON.stringify(a.map(sorted)) === JSON.stringify(b.map(sorted));
}

/** Members in one order, empty metadata left out: files and models differ in these. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sorted);
  }
  if (!isRecord(value)) {
    return value;
  }
  const members = Object.entries(value)
    .filter(([name, member]) => member !== undefined && !(name === 'metadata' && isEmpty(member)))
    .map(([name, member]) => [name, sorted(member)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members);
}

function isEmpty(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

/** Whether none of the outputs can do more than be looked at. */
export function areInert(shown: readonly Output[]): boolean {
  return shown.every(
    output =>
      output.output_type === 'stream' ||
      output.output_type === 'error' ||
      (isRecord(output.data) && Object.keys(output.data).every(mime => INERT.has(mime)))
  );
}
