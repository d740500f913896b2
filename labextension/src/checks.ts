/** Turns what arrives from the kernel into the interfaces of `records.ts`, or says what is wrong. */

import type {
  IBusy,
  ICall,
  ICellRun,
  IDescription,
  IDetail,
  IDetails,
  IDifference,
  ILine,
  IOutput,
  IRefused,
  IRow,
  ISide,
  IStatus,
  IVariable,
  IVariableDifference,
  IWritten,
  State
} from './records';

/** Returns `value` as a T, or throws a `Mismatch`. */
export type Check<T> = (value: unknown) => T;

/** Something is not what it should be; its place is told from the inside out, and only then. */
class Mismatch extends Error {
  constructor(
    readonly wanted: string,
    public at = ''
  ) {
    super(wanted);
  }
}

/** What `check` makes of `value`, or an error in one sentence that begins the place with `name`. */
export function checked<T>(check: Check<T>, value: unknown, name: string): T {
  try {
    return check(value);
  } catch (error) {
    if (!(error instanceof Mismatch)) {
      throw error;
    }
    throw new TypeError(
      "the kernel's nbckpt is of another version than this page: " +
        `${name}${error.at} is no ${error.wanted}; reload the page and run %timeline again`
    );
  }
}

function refuse(wanted: string): never {
  throw new Mismatch(wanted);
}

/** Add to a mismatch where it was found. */
function inside(error: unknown, at: string): unknown {
  if (error instanceof Mismatch) {
    error.at = at + error.at;
  }
  return error;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const text: Check<string> = value => (typeof value === 'string' ? value : refuse('text'));
const number: Check<number> = value =>
  typeof value === 'number' && Number.isFinite(value) ? value : refuse('number');
const flag: Check<boolean> = value => (typeof value === 'boolean' ? value : refuse('boolean'));
const state: Check<State> = value =>
  value === 'done' || value === 'failed' || value === 'partial' ? value : refuse('state');

/** Lists keep what is missing as empty: a kernel may have nothing to say about it. */
function list<T>(check: Check<T>): Check<T[]> {
  return value => {
    const items = value ?? [];
    if (!Array.isArray(items)) {
      return refuse('list');
    }
    return items.map((item: unknown, index) => {
      try {
        return check(item);
      } catch (error) {
        throw inside(error, `[${index}]`);
      }
    });
  };
}

function or<T>(check: Check<T>, missing: T): Check<T> {
  return value => (value === undefined || value === null ? missing : check(value));
}

function optional<T>(check: Check<T>): Check<T | null> {
  return or<T | null>(check, null);
}

function shaped<T>(members: { [K in keyof T]: Check<T[K]> }): Check<T> {
  const names = Object.keys(members) as (keyof T & string)[];
  return value => {
    if (!isRecord(value)) {
      return refuse('record');
    }
    const made: Partial<T> = {};
    for (const name of names) {
      try {
        made[name] = members[name](value[name]);
      } catch (error) {
        throw inside(error, `.${name}`);
      }
    }
    return made as T;
  };
}

const progress: Check<[number, number]> = value => {
  const [done, total] = list(number)(value);
  return done === undefined || total === undefined ? refuse('pair') : [done, total];
};

/** A shape comes as text or as a list of numbers. */
const dimensions: Check<string> = value =>
  Array.isArray(value) ? list(or(number, NaN))(value).join(' × ') : or(text, '')(value);

const asRow: Check<IRow> = shaped<IRow>({
  id: text,
  parent: optional(text),
  name: text,
  branch: or(text, ''),
  heads: list(text),
  state,
  created_at: number,
  duration_s: optional(number),
  size_bytes: optional(number),
  cost_usd: optional(number),
  calls: or(number, 0),
  tags: list(text),
  note: or(text, ''),
  changed: list(text),
  automatic: or(flag, false),
  made_by: or(text, ''),
  error: optional(text),
  progress: optional(progress),
  notebook: or(text, '')
});

export const asRows: Check<IRow[]> = list(asRow);

export const asStatus: Check<IStatus> = shaped<IStatus>({
  store: or(text, ''),
  branch: or(text, ''),
  position: optional(text),
  head: optional(text),
  busy: optional(
    shaped<IBusy>({
      name: text,
      began_at: number,
      done: optional(number),
      total: optional(number)
    })
  ),
  now: number
});

const variable = shaped<IVariable>({
  name: text,
  type_name: or(text, ''),
  shape: dimensions,
  size_bytes: optional(number),
  changed: or(flag, false),
  recipe: or(flag, false),
  preview: or(text, '')
});

const refused = shaped<IRefused>({
  variable: text,
  path: or(text, ''),
  type_name: or(text, ''),
  reason: or(text, '')
});

const output = shaped<IOutput>({
  kind: text,
  text: or(text, ''),
  mime: or(text, ''),
  image: optional(text)
});

const call = shaped<ICall>({
  model: or(text, ''),
  input_tokens: optional(number),
  output_tokens: optional(number),
  cost_usd: optional(number),
  duration_s: optional(number),
  replayed: or(flag, false)
});

export const asDetails: Check<IDetails> = shaped<IDetails>({
  row: asRow,
  source: or(text, ''),
  execution_count: optional(number),
  variables: list(variable),
  removed: list(text),
  refused: list(refused),
  omitted: list(text),
  outputs: list(output),
  calls: list(call),
  next: list(text),
  joined: list(text),
  parent: optional(shaped<{ id: string; name: string }>({ id: text, name: text }))
});

const side = shaped<ISide>({
  id: text,
  name: text,
  branch: or(text, ''),
  created_at: optional(number),
  duration_s: optional(number),
  cost_usd: optional(number)
});

const description = shaped<IDescription>({
  type_name: or(text, ''),
  shape: dimensions,
  size_bytes: optional(number),
  preview: or(text, '')
});

const line = shaped<ILine>({ sign: text, text });
const lines = list(line);

/** Values of a path come as text; what is nothing (added, removed) as null. */
const change: Check<[string, string, string]> = value => {
  const [path, before, after] = list(or(text, ''))(value);
  return [path ?? '', before ?? '', after ?? ''];
};

const detail = shaped<IDetail>({
  kind: or(text, 'value'),
  summary: or(text, ''),
  rows: list(change),
  lines,
  more: or(number, 0)
});

/** Code and outputs come as `{lines: […]}`. */
const body: Check<ILine[]> = value =>
  or(shaped<{ lines: ILine[] }>({ lines }), { lines: [] })(value).lines;

export const asDifference: Check<IDifference> = shaped<IDifference>({
  a: side,
  b: side,
  variables: list(
    shaped<IVariableDifference>({
      name: text,
      status: text,
      a: optional(description),
      b: optional(description),
      detail: optional(detail)
    })
  ),
  code: body,
  outputs: body,
  same: or(number, 0)
});

export const asWritten: Check<IWritten> = shaped<IWritten>({
  text: or(text, ''),
  cells: list(
    shaped<ICellRun>({
      name: text,
      checkpoint_id: optional(text),
      state: text,
      why: or(text, ''),
      took_s: optional(number)
    })
  ),
  branch: optional(text),
  error: optional(text),
  status: optional(asStatus)
});

/** An answer to a request, or null: other kinds of messages pass by. */
export function asAnswer(message: unknown): IAnswer | null {
  if (!isRecord(message) || typeof message.id !== 'number') {
    return null;
  }
  const { id, ok, result, error, waits } = message;
  if (typeof waits === 'string') {
    return { id, ok: false, result: null, error: '', waits };
  }
  const why = typeof error === 'string' ? error : 'the kernel refused and did not say why';
  return typeof ok === 'boolean' ? { id, ok, result, error: why, waits: null } : null;
}

export interface IAnswer {
  id: number;
  ok: boolean;
  result: unknown;
  error: string;
  /** Not an answer yet: what it waits for. */
  waits: string | null;
}
