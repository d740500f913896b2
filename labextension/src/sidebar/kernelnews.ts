/** What the kernel tells the sidebar, by itself or at its greeting; checked here once. */

import { asRows, asStatus } from '../checks';
import type { IRow, IStatus } from '../records';
import {
  checked,
  isRecord,
  list,
  number,
  optional,
  or,
  refuse,
  shaped,
  text,
  type Check
} from '../shapes';

export type MarkState = 'checkpointed' | 'restored' | 'stale' | 'failed' | 'running';

/** What is known of a cell of the notebook. */
export interface IMark {
  state: MarkState;
  /** Id of the checkpoint that it made or was restored from. */
  checkpoint: string | null;
  name: string;
  created_at: number | null;
  /** Of its run, or of its restore. */
  took_s: number | null;
  /** CRC-32 of the cell's text as it ran last; null where that is not known. */
  source_crc: number | null;
  /** Why it is stale. */
  why: string;
  /** In one line. */
  error: string;
}

/** By the notebook's ids of cells. */
export type Marks = Readonly<Record<string, IMark>>;

/** A question that waits for an answer; `approvals.ts` knows its members. */
export type Approval = Readonly<Record<string, unknown>>;

/** All that the kernel keeps telling. */
export interface INews {
  /** Oldest first. */
  rows: readonly IRow[];
  /** Of the rows: an event that tells what changed says since when. */
  revision: number;
  /** Checkpoints that are too old to be listed. */
  older: number;
  status: IStatus;
  marks: Marks;
  approvals: Approval[];
}

/** The answer to the first question. */
export interface IHello extends INews {
  version: string;
  protocol: number;
  notebook: string;
}

const STATES: readonly string[] = ['checkpointed', 'restored', 'stale', 'failed', 'running'];

const markState: Check<MarkState> = value =>
  typeof value === 'string' && STATES.includes(value)
    ? (value as MarkState)
    : refuse('state of a cell');

const mark = shaped<IMark>({
  state: markState,
  checkpoint: optional(text),
  name: or(text, ''),
  created_at: optional(number),
  took_s: optional(number),
  source_crc: optional(number),
  why: or(text, ''),
  error: or(text, '')
});

const asMarks: Check<Marks> = value => {
  if (value !== undefined && value !== null && !isRecord(value)) {
    return refuse('record');
  }
  return Object.fromEntries(Object.entries(value ?? {}).map(([id, each]) => [id, mark(each)]));
};

const approval: Check<Approval> = value => (isRecord(value) ? value : refuse('record'));
const asApprovals = list(approval);

export const asHello: Check<IHello> = shaped<IHello>({
  version: or(text, ''),
  protocol: number,
  notebook: or(text, ''),
  revision: or(number, 0),
  rows: asRows,
  older: or(number, 0),
  status: asStatus,
  marks: asMarks,
  approvals: asApprovals
});

/** The event that says that nbckpt is unloaded. */
export const isClosing = (data: unknown): boolean => isRecord(data) && data.event === 'closed';

/**
 * What an event brings, of what is known; null where it builds on what this page has missed.
 *
 * An event of a kind that is not known here, of a newer nbckpt, brings nothing.
 */
export function newsIn(data: unknown, known: INews): Partial<INews> | null {
  if (!isRecord(data)) {
    return {};
  }
  const told = <T>(check: Check<T>, name: string): T => checked(check, data[name], name);
  switch (data.event) {
    case 'rows':
    case 'changed': {
      const isWhole = data.event === 'rows';
      if (!isWhole && data.since !== known.revision) {
        return null;
      }
      const rows = told(asRows, 'rows');
      return {
        rows: isWhole ? rows : changed(known.rows, rows, told(list(text), 'gone')),
        revision: told(or(number, 0), 'revision'),
        older: told(or(number, 0), 'older'),
        status: told(asStatus, 'status')
      };
    }
    case 'status':
      return { status: told(asStatus, 'status') };
    case 'marks':
      return { marks: told(asMarks, 'marks') };
    case 'approvals':
      return { approvals: told(asApprovals, 'approvals') };
    default:
      return {};
  }
}

/** Rows with others in their places, and new ones at the end. */
function changed(
  rows: readonly IRow[],
  others: readonly IRow[],
  gone: readonly string[]
): readonly IRow[] {
  const byId = new Map(rows.map(row => [row.id, row]));
  for (const id of gone) {
    byId.delete(id);
  }
  for (const row of others) {
    byId.set(row.id, row);
  }
  return [...byId.values()];
}
