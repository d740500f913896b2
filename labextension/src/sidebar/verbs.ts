/** What the view in the side panel asks for, and who does it: the kernel, or the page's cells. */

import type { NotebookPanel } from '@jupyterlab/notebook';
import {
  asDetails,
  asDifference,
  asDisplays,
  asGlances,
  asStrangers,
  asVariableHistory
} from '../checks';
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
import { OutputNodes } from '../outputnode';
import type { IRerunOptions, IVerbs } from '../timeline/verbs';
import type { IWords } from '../timeline/words';
import type { KernelLink } from './kernellink';
import type { ILinked } from './kernellinks';

/** What concerns the notebook's cells, too. */
export interface IPageVerbs {
  /** Rewind, and take the cells back as well if the user wants that. */
  rewind(panel: NotebookPanel, link: KernelLink, ref: string, other?: boolean): Promise<IWritten>;
  /** Run the notebook's own cells again, after having told which. */
  rerun(
    panel: NotebookPanel,
    link: KernelLink,
    ref: string,
    options: { everything: boolean; other: boolean }
  ): Promise<IWritten>;
}

/** The verbs for one notebook. */
export class NotebookVerbs implements IVerbs {
  readonly asksBeforeRerun: boolean;

  constructor(
    private readonly _linked: ILinked,
    private readonly _page: IPageVerbs | null,
    private readonly _words: IWords
  ) {
    this.asksBeforeRerun = _page !== null;
  }

  details(ref: string): Promise<IDetails> {
    return this._linked.link.ask('details', { ref }, asDetails);
  }

  glances(ids: readonly string[]): Promise<Readonly<Record<string, IGlance | null>>> {
    return this._linked.link.ask('glances', { ids }, asGlances);
  }

  displays(ref: string): Promise<readonly Output[]> {
    return this._linked.link.ask('displays', { ref }, asDisplays);
  }

  drawer(): IDrawer | null {
    return new OutputNodes(this._linked.panel.content.rendermime, this._words);
  }

  diff(a: string, b: string): Promise<IDifference> {
    return this._linked.link.ask('diff', { a, b }, asDifference);
  }

  history(variable: string, ref: string): Promise<IVariableHistory> {
    return this._linked.link.ask('history', { variable, at: ref }, asVariableHistory);
  }

  restore(variable: string, ref: string): Promise<IWritten> {
    return this._write('restore', { variable, ref });
  }

  async rewind(ref: string, other = false): Promise<IWritten> {
    const { panel, link } = this._linked;
    await link.load();
    return this._page
      ? this._page.rewind(panel, link, ref, other)
      : this._write('rewind', { ref, other_notebook: other });
  }

  fork(
    ref: string,
    branch: string | null,
    values: Readonly<Record<string, string>>,
    other = false
  ): Promise<IWritten> {
    return this._write('fork', { ref, branch, values, other_notebook: other });
  }

  async rerun(ref: string, options: IRerunOptions): Promise<IWritten> {
    const { panel, link } = this._linked;
    await link.load();
    const { other, ...how } = options;
    return this._page
      ? this._page.rerun(panel, link, ref, options)
      : this._write('rerun', { ref, ...how, other_notebook: other });
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
    return this._linked.link.ask('strangers', {}, asStrangers);
  }

  trust(seen: string): Promise<IWritten> {
    return this._write('trust', { seen });
  }

  interrupt(): Promise<void> {
    return this._linked.link.interrupt();
  }

  /** Have something changed; in a new kernel, the click says that nbckpt is wanted there. */
  private async _write(op: string, args: object): Promise<IWritten> {
    const { link } = this._linked;
    await link.load();
    return link.write(op, args);
  }
}
