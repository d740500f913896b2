/** What the kernel tells: checked once in `checks.ts`, plain data from there on. */

/** One checkpoint as the list shows it. Times are seconds since the epoch. */
export interface IRow {
  id: string;
  parent: string | null;
  name: string;
  branch: string;
  /** Branches whose newest checkpoint this is. */
  heads: string[];
  state: State;
  created_at: number;
  duration_s: number | null;
  size_bytes: number | null;
  cost_usd: number | null;
  /** Number of model calls. */
  calls: number;
  tags: string[];
  note: string;
  /** Variables that it bound or changed. */
  changed: string[];
  automatic: boolean;
  /** "fork" or "update" where no cell made it, else empty. */
  made_by: string;
  error: string | null;
  /** Items done and in all, of a loop. */
  progress: [number, number] | null;
  notebook: string;
  /** Whether its cell showed anything. */
  has_outputs: boolean;
  /** Whether the notebook that is looked at made it, or was there. */
  own: boolean;
  /** Whether the user made it, or said to trust it. */
  trusted: boolean;
}

export type State = 'done' | 'failed' | 'partial';

/** The cell that runs now. */
export interface IBusy {
  name: string;
  began_at: number;
  done: number | null;
  total: number | null;
  /** The notebook's id of the cell; empty where no cell of it runs. */
  cell_id: string;
  /** Model calls that were paid so far, and what they cost. */
  calls: number;
  cost_usd: number | null;
}

export interface IStatus {
  store: string;
  /** Name of the notebook; empty where it is not known. */
  notebook: string;
  branch: string;
  /** The checkpoint that the namespace stands at. */
  position: string | null;
  head: string | null;
  /** Where it stood before it was rewound or switched. */
  before: string | null;
  busy: IBusy | null;
  /** The kernel's clock when it said this. */
  now: number;
  /** Of all model calls, and of those that were not made again. */
  paid_usd: number | null;
  saved_usd: number | null;
  /** How long what was restored had run. */
  saved_s: number | null;
  /** Of the store on disk. */
  size_bytes: number | null;
}

export interface IVariable {
  name: string;
  type_name: string;
  shape: string;
  size_bytes: number | null;
  changed: boolean;
  /** Made again by its own statement, instead of being stored. */
  recipe: boolean;
  preview: string;
  /** Whether the user made it, or said to trust it: else it is not built. */
  trusted: boolean;
}

export interface IRefused {
  variable: string;
  path: string;
  type_name: string;
  reason: string;
}

export interface IOutput {
  kind: string;
  text: string;
  mime: string;
  /** A PNG in base64. */
  image: string | null;
}

/** What a cell showed, in a thumbnail, a few cells of a table, or a line. */
export interface IGlance {
  /** A small PNG in base64. */
  image: string | null;
  rows: string[][];
  text: string;
}

/** One output as a notebook's file has it. */
export type Output = Readonly<Record<string, unknown>> & { output_type: string };

/** Draws outputs as the front end does, and lets go of what draws them. */
export interface IDrawer {
  of(output: Output): HTMLElement;
  dispose(): void;
}

export interface ICall {
  model: string;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
  duration_s: number | null;
  replayed: boolean;
}

export interface IDetails {
  row: IRow;
  source: string;
  execution_count: number | null;
  variables: IVariable[];
  removed: string[];
  refused: IRefused[];
  omitted: string[];
  outputs: IOutput[];
  calls: ICall[];
  /** Names of the recorded cells that follow. */
  next: string[];
  /** Sources of earlier cells that were joined to this one. */
  joined: string[];
  parent: { id: string; name: string } | null;
}

/** What somebody else has made in this store. */
export interface IStrangers {
  checkpoints: number;
  /** Tells just what is meant from anything that is there later. */
  seen: string;
  /** What it is and by whom, in lines. */
  text: string;
  /** What it means to trust it. */
  meaning: string;
}

export interface ISide {
  id: string;
  name: string;
  branch: string;
  created_at: number | null;
  duration_s: number | null;
  cost_usd: number | null;
}

export interface IDescription {
  type_name: string;
  shape: string;
  size_bytes: number | null;
  preview: string;
}

export interface ILine {
  /** " " both, "+" only in b, "-" only in a, "@" a jump. */
  sign: string;
  text: string;
}

export interface IDetail {
  kind: string;
  summary: string;
  /** Path, before, after. */
  rows: [string, string, string][];
  lines: ILine[];
  /** How much was left out. */
  more: number;
}

export interface IVariableDifference {
  name: string;
  status: string;
  a: IDescription | null;
  b: IDescription | null;
  detail: IDetail | null;
  /** Of the value before and the one after, where they say something. */
  facts: [IFacts, IFacts] | null;
}

export interface IDifference {
  a: ISide;
  b: ISide;
  variables: IVariableDifference[];
  code: ILine[];
  outputs: ILine[];
  /** Number of variables that are equal. */
  same: number;
  /** What else has to be said. */
  remarks: string[];
}

/** What a value is in numbers; what does not apply is null or empty. */
export interface IFacts {
  /** What `number` is: "mean", "rows", …. */
  measure: string;
  number: number | null;
  /** The first rows of a table, its columns' names first. */
  head: string[][];
  /** The value itself, if it is a row of numbers; null is a gap. */
  series: (number | null)[];
  histogram: number[];
  low: number | null;
  high: number | null;
}

/** A step that changed a variable. */
export interface IVariablePoint {
  checkpoint: string;
  step: string;
  branch: string;
  created_at: number;
  change: string;
  type_name: string;
  shape: string;
  size_bytes: number | null;
  /** The value in a line. */
  told: string;
  why: string[];
  code: string[];
  /** From the value before. */
  difference: string;
  facts: IFacts;
}

export interface IVariableHistory {
  variable: string;
  /** What the numbers are. */
  measure: string;
  /** Of each point, oldest first. */
  numbers: (number | null)[];
  /** How many steps before these changed it, too. */
  older: number;
  /** Newest first. */
  points: IVariablePoint[];
}

export interface ICellRun {
  name: string;
  checkpoint_id: string | null;
  state: string;
  why: string;
  took_s: number | null;
}

/** What a verb that writes has to say. */
export interface IWritten {
  text: string;
  /** Of a rerun; empty otherwise. */
  cells: ICellRun[];
  branch: string | null;
  error: string | null;
  /** Where everything stands after it. */
  status: IStatus | null;
}
