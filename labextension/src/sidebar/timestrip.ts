/** A notebook's time as a strip: one segment for each checkpoint of its line. Pure. */

import type { IRow } from '../records';

/** A checkpoint in the strip. */
export interface ISegment {
  row: IRow;
  /** Where it begins and how wide it is, as shares of the strip. */
  start: number;
  width: number;
  /** How much of what the dearest one cost, 0 to 1. */
  cost: number;
}

/** However quick a cell was, its segment can be hit: this share of an even part. */
const LEAST = 0.35;

/** The line of checkpoints that leads to `newest`, oldest first; as far as it is known. */
export function lineTo(rows: readonly IRow[], newest: string | null): IRow[] {
  const byId = new Map(rows.map(row => [row.id, row]));
  const line: IRow[] = [];
  let row = newest === null ? undefined : byId.get(newest);
  while (row !== undefined) {
    line.push(row);
    row = row.parent === null ? undefined : byId.get(row.parent);
  }
  return line.reverse();
}

/** Widths by time, shades by dollars. */
export function segmentsOf(line: readonly IRow[]): ISegment[] {
  const times = line.map(row => Math.max(0, row.duration_s ?? 0));
  const all = times.reduce((sum, each) => sum + each, 0);
  const even = 1 / Math.max(1, line.length);
  const least = LEAST * even;
  const shared = 1 - least * line.length;
  const dearest = Math.max(...line.map(row => row.cost_usd ?? 0), 0);
  let start = 0;
  return line.map((row, at) => {
    const width = least + shared * (all > 0 ? (times[at] ?? 0) / all : even);
    const segment = { row, start, width, cost: dearest > 0 ? (row.cost_usd ?? 0) / dearest : 0 };
    start += width;
    return segment;
  });
}

/** Which segment lies at a share of the strip. */
export function segmentAt(segments: readonly ISegment[], share: number): number {
  const found = segments.findIndex(each => share < each.start + each.width);
  return found < 0 ? segments.length - 1 : found;
}
