/** Turns what arrives from the kernel into the interfaces of `records.ts`, or says what is wrong. */

import type {
  IBusy,
  ICall,
  ICellRun,
  IDescription,
  IDetail,
  IDetails,
  IDifference,
  IFacts,
  IGlance,
  ILine,
  IOutput,
  Output,
  IRefused,
  IRow,
  ISide,
  IStatus,
  IStrangers,
  IVariable,
  IVariableDifference,
  IVariableHistory,
  IVariablePoint,
  IWritten,
  State
} from './records';
import {
  flag,
  isRecord,
  list,
  number,
  optional,
  or,
  refuse,
  shaped,
  text,
  type Check
} from './shapes';

const state: Check<State> = value =>
  value === 'done' || value === 'failed' || value === 'partial' ? value : refuse('state');

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
  notebook: or(text, ''),
  has_outputs: or(flag, false),
  own: or(flag, true),
  trusted: or(flag, true)
});

const asGlance: Check<IGlance> = shaped<IGlance>({
  image: optional(text),
  rows: list(list(text)),
  text: or(text, '')
});

/** By id of checkpoint. */
export const asGlances: Check<Record<string, IGlance | null>> = value =>
  isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([id, each]) => [id, optional(asGlance)(each)]))
    : refuse('record');

export const asRows: Check<IRow[]> = list(asRow);

export const asStatus: Check<IStatus> = shaped<IStatus>({
  store: or(text, ''),
  notebook: or(text, ''),
  branch: or(text, ''),
  position: optional(text),
  head: optional(text),
  before: optional(text),
  busy: optional(
    shaped<IBusy>({
      name: text,
      began_at: number,
      done: optional(number),
      total: optional(number),
      cell_id: or(text, ''),
      calls: or(number, 0),
      cost_usd: optional(number)
    })
  ),
  now: number,
  paid_usd: optional(number),
  saved_usd: optional(number),
  saved_s: optional(number),
  size_bytes: optional(number)
});

const variable = shaped<IVariable>({
  name: text,
  type_name: or(text, ''),
  shape: dimensions,
  size_bytes: optional(number),
  changed: or(flag, false),
  recipe: or(flag, false),
  preview: or(text, ''),
  trusted: or(flag, true)
});

export const asRefused: Check<IRefused> = shaped<IRefused>({
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

const KINDS: readonly unknown[] = ['stream', 'display_data', 'execute_result', 'error'];

/** Outputs as a notebook's file has them. */
export const asOutputs: Check<Output[]> = value =>
  list<unknown>(each => each)(value)
    .filter(isOutput)
    .map(joined);

function isOutput(value: unknown): value is Output {
  return isRecord(value) && KINDS.includes(value.output_type);
}

/** A file may have a text in lines; JupyterLab's model would join these with commas. */
function joined(one: Output): Output {
  return Array.isArray(one.text) ? { ...one, text: one.text.join('') } : one;
}

/** What the kernel answers to `displays`. */
export const asDisplays: Check<Output[]> = value =>
  shaped<{ displays: Output[] }>({ displays: asOutputs })(value).displays;

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
  refused: list(asRefused),
  omitted: list(text),
  outputs: list(output),
  calls: list(call),
  next: list(text),
  joined: list(text),
  parent: optional(shaped<{ id: string; name: string }>({ id: text, name: text }))
});

export const asStrangers: Check<IStrangers> = shaped<IStrangers>({
  checkpoints: or(number, 0),
  seen: or(text, ''),
  text: or(text, ''),
  meaning: or(text, '')
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

const facts = shaped<IFacts>({
  measure: or(text, ''),
  number: optional(number),
  head: list(list(text)),
  series: list(optional(number)),
  histogram: list(number),
  low: optional(number),
  high: optional(number)
});

const bothFacts: Check<[IFacts, IFacts]> = value => {
  const [before, after] = list(facts)(value);
  return before && after ? [before, after] : refuse('pair');
};

export const asDifference: Check<IDifference> = shaped<IDifference>({
  a: side,
  b: side,
  variables: list(
    shaped<IVariableDifference>({
      name: text,
      status: text,
      a: optional(description),
      b: optional(description),
      detail: optional(detail),
      facts: optional(bothFacts)
    })
  ),
  code: body,
  outputs: body,
  same: or(number, 0),
  remarks: list(text)
});

export const asVariableHistory: Check<IVariableHistory> = shaped<IVariableHistory>({
  variable: text,
  measure: or(text, 'bytes'),
  numbers: list(optional(number)),
  older: or(number, 0),
  points: list(
    shaped<IVariablePoint>({
      checkpoint: text,
      step: text,
      branch: or(text, ''),
      created_at: number,
      change: text,
      type_name: or(text, ''),
      shape: or(text, ''),
      size_bytes: optional(number),
      told: or(text, ''),
      why: list(text),
      code: list(text),
      difference: or(text, ''),
      facts
    })
  )
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
