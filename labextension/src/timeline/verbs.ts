import type { IDetails, IDifference, IStrangers, IWritten } from '../records';

/** What the view asks for; the widget and the sidebar each know how to get it. */
export interface IVerbs {
  details(ref: string): Promise<IDetails>;
  diff(a: string, b: string): Promise<IDifference>;
  rewind(ref: string): Promise<IWritten>;
  /** `values` are expressions by variable, evaluated in the restored namespace. */
  fork(
    ref: string,
    branch: string | null,
    values: Readonly<Record<string, string>>
  ): Promise<IWritten>;
  rerun(ref: string, options: { everything: boolean; fresh: boolean }): Promise<IWritten>;
  switch(branch: string): Promise<IWritten>;
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
