import type {
  IDetails,
  IDifference,
  IDrawer,
  IGlance,
  IStrangers,
  IVariableHistory,
  IWritten,
  Output
} from '../records';

/** How recorded cells are run again. */
export interface IRerunOptions {
  /** Also those that the change cannot have reached. */
  everything: boolean;
  /** Models are asked anew. */
  fresh: boolean;
  /** Whether the user has agreed to go to what another notebook made. */
  other: boolean;
}

/** What the view asks for; the widget and the sidebar each know how to get it. */
export interface IVerbs {
  details(ref: string): Promise<IDetails>;
  /** What the cells of checkpoints showed, by id. */
  glances(ids: readonly string[]): Promise<Readonly<Record<string, IGlance | null>>>;
  diff(a: string, b: string): Promise<IDifference>;
  /** What a cell displayed as more than text and pictures. */
  displays(ref: string): Promise<readonly Output[]>;
  /** What draws these as the front end does; null where it lends nothing. */
  drawer(): IDrawer | null;
  /** The steps that changed a variable, on the line that `ref` is on. */
  history(variable: string, ref: string): Promise<IVariableHistory>;
  /** Bring one variable back as it was at a checkpoint. */
  restore(variable: string, ref: string): Promise<IWritten>;
  /**
   * Go back to a checkpoint.
   *
   * @param other - whether the user has agreed to go to what another notebook made; so below
   */
  rewind(ref: string, other: boolean): Promise<IWritten>;
  /** `values` are expressions by variable, evaluated in the restored namespace. */
  fork(
    ref: string,
    branch: string | null,
    values: Readonly<Record<string, string>>,
    other: boolean
  ): Promise<IWritten>;
  rerun(ref: string, options: IRerunOptions): Promise<IWritten>;
  switch(branch: string, other: boolean): Promise<IWritten>;
  tag(ref: string, tag: string): Promise<IWritten>;
  untag(ref: string, tag: string): Promise<IWritten>;
  note(ref: string, note: string): Promise<IWritten>;
  /** What somebody else has made in this store, to be told before it is trusted. */
  strangers(): Promise<IStrangers>;
  /** Take all of that for the user's own; refused if it is other than the `records` it was. */
  trust(seen: string): Promise<IWritten>;
  /** End the cell that a verb waits for, where the host can. */
  interrupt?(): Promise<void>;
  /** Whether `rerun` asks by itself, in a form that knows more, what is to be run. */
  readonly asksBeforeRerun?: boolean;
}
