/** The widget's questions to the kernel, one typed function each. */

import {
  asDetails,
  asDifference,
  asDisplays,
  asGlances,
  asStrangers,
  asVariableHistory,
  asWritten
} from './checks';
import { Questions } from './questions';
import type {
  IDetails,
  IDifference,
  IDrawer,
  IGlance,
  IStrangers,
  IVariableHistory,
  IWritten,
  Output
} from './records';
import type { IRerunOptions, IVerbs } from './timeline/verbs';

export { PATIENCE_S } from './questions';

/** Asks what the view wants to know or have done, over the messages of a widget's model. */
export class Kernel implements IVerbs {
  constructor(
    send: (message: object) => void,
    isBusy: () => boolean,
    waits: (text: string) => void,
    private readonly _drawer: () => IDrawer | null = () => null
  ) {
    const remedy = 'if it was restarted, run %timeline again';
    this._questions = new Questions({ send, isBusy, waits, remedy });
  }

  details(ref: string): Promise<IDetails> {
    return this._questions.ask('details', { ref }, asDetails);
  }

  glances(ids: readonly string[]): Promise<Readonly<Record<string, IGlance | null>>> {
    return this._questions.ask('glances', { ids }, asGlances);
  }

  displays(ref: string): Promise<readonly Output[]> {
    return this._questions.ask('displays', { ref }, asDisplays);
  }

  drawer(): IDrawer | null {
    return this._drawer();
  }

  diff(a: string, b: string): Promise<IDifference> {
    return this._questions.ask('diff', { a, b }, asDifference);
  }

  history(variable: string, ref: string): Promise<IVariableHistory> {
    return this._questions.ask('history', { variable, at: ref }, asVariableHistory);
  }

  restore(variable: string, ref: string): Promise<IWritten> {
    return this._write('restore', { variable, ref });
  }

  rewind(ref: string, other = false): Promise<IWritten> {
    return this._write('rewind', { ref, other_notebook: other });
  }

  fork(
    ref: string,
    branch: string | null,
    values: Readonly<Record<string, string>>,
    other = false
  ): Promise<IWritten> {
    return this._write('fork', { ref, branch, values, other_notebook: other });
  }

  rerun(ref: string, { other, ...options }: IRerunOptions): Promise<IWritten> {
    return this._write('rerun', { ref, ...options, other_notebook: other });
  }

  switch(branch: string, other = false): Promise<IWritten> {
    return this._write('switch', { branch, other_notebook: other });
  }

  tag(ref: string, tag: string): Promise<IWritten> {
    return this._write('tag', { ref, tag });
  }

  untag(ref: string, tag: string): Promise<IWritten> {
    return this._write('untag', { ref, tag });
  }

  note(ref: string, note: string): Promise<IWritten> {
    return this._write('note', { ref, note });
  }

  strangers(): Promise<IStrangers> {
    return this._questions.ask('strangers', {}, asStrangers);
  }

  trust(seen: string): Promise<IWritten> {
    return this._write('trust', { seen });
  }

  /** A message has come: an answer, word that it takes a while, another view's, or something else. */
  receive(message: unknown): void {
    this._questions.receive(message);
  }

  /** The kernel lives: every wait begins anew. */
  heard(): void {
    this._questions.heard();
  }

  /** The kernel is gone: nothing is answered any more, for the reason given. */
  end(why: string): void {
    this._questions.end(why);
  }

  /** Nobody looks at the answers any more. */
  dispose(): void {
    this._questions.giveUp('the timeline was closed');
  }

  private _write(op: string, args: object): Promise<IWritten> {
    return this._questions.ask(op, args, asWritten, Infinity);
  }

  private readonly _questions: Questions;
}
