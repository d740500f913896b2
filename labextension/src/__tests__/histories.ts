/** Histories to test with. */

import type { IRow } from '../records';
import type { INode } from '../timeline/layout';

/** A generator of numbers in [0, 1) that gives the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** `count` nodes, oldest first; most follow the last, some branch off, a few begin anew. */
export function history(count: number, seed: number): INode[] {
  const chance = seeded(seed);
  const wild = chance();
  return Array.from({ length: count }, (_, index) => {
    const begins = index === 0 || chance() < 0.03;
    const back = chance() < wild ? 1 + Math.floor(chance() * Math.min(index, 25)) : 1;
    return { id: `n${index}`, parent: begins ? null : `n${Math.max(0, index - back)}` };
  });
}

/** A checkpoint that a cell made, except for `members`. */
export function row(id: string, parent: string | null, members: Partial<IRow> = {}): IRow {
  return {
    id,
    parent,
    name: id,
    branch: 'main',
    heads: [],
    state: 'done',
    created_at: 1000,
    duration_s: 1,
    size_bytes: 10,
    cost_usd: null,
    calls: 0,
    tags: [],
    note: '',
    changed: [],
    automatic: false,
    made_by: '',
    error: null,
    progress: null,
    notebook: '',
    has_outputs: false,
    own: true,
    trusted: true,
    ...members
  };
}
