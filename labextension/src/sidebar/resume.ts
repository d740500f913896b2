/** Bringing a notebook back in a new kernel: its variables, and the cells that had not run. */

import { Dialog, type ISessionContextDialogs, showDialog } from '@jupyterlab/apputils';
import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import type { ITranslator } from '@jupyterlab/translation';
import type { IWritten } from '../records';
import type { IWords } from '../timeline/words';
import type { ILinked } from './kernellinks';
import { ResumeBody } from './resumebody';
import { asPlan, rest, shortened, type IPlan } from './resumeplan';

/** How a resume goes about it. */
export interface IHow {
  /** Only if nobody has begun anything in this kernel, in whatever window. */
  once: boolean;
}

/** What came of it. */
export interface IResumed {
  written: IWritten;
  /** The cells that were left to run. */
  rest: string[];
}

/** Resumes notebooks. */
export class Resumes {
  constructor(
    private readonly _words: IWords,
    private readonly _translator: ITranslator,
    private readonly _dialogs: ISessionContextDialogs | null
  ) {}

  /** Restore the head of the notebook's branch, and run nothing. */
  async restore(linked: ILinked, how: IHow): Promise<IResumed> {
    await linked.link.load();
    const plan = await this._plan(linked);
    return { written: await this._write(linked, how), rest: rest(plan) };
  }

  /**
   * Tell what would run, be skipped, or cannot be restored; if it is wanted, do it.
   *
   * @returns null if the user cancelled
   */
  async restoreAndRun(linked: ILinked, how: IHow): Promise<IResumed | null> {
    await linked.link.load();
    const plan = await this._plan(linked);
    const chosen = await this._ask(linked.panel, plan);
    if (chosen === null) {
      return null;
    }
    const written = await this._write(linked, how, chosen.again);
    if (chosen.cells.length > 0 && written.error === null) {
      await this.run(linked.panel, chosen.cells);
    }
    return { written, rest: rest(plan) };
  }

  /** Run cells of a notebook, in its order; up to the first error, as *Run All* does. */
  run(panel: NotebookPanel, ids: readonly string[]): Promise<boolean> {
    const wanted = new Set(ids);
    const cells = panel.content.widgets.filter(cell => wanted.has(cell.model.id));
    return NotebookActions.runCells(
      panel.content,
      cells,
      panel.sessionContext,
      this._dialogs ?? undefined,
      this._translator
    );
  }

  private async _plan({ panel, link }: ILinked): Promise<IPlan> {
    const cells = panel.content.widgets.map(({ model }) => ({
      cell_id: model.id,
      source: model.sharedModel.getSource(),
      kind: model.type
    }));
    const plan = await link.ask('resume_plan', { cells }, asPlan);
    if (plan.checkpoint === null) {
      throw new Error(this._words.__('there is no checkpoint of this notebook to resume from'));
    }
    return plan;
  }

  private _write(
    { link }: ILinked,
    { once }: IHow,
    again: readonly string[] = []
  ): Promise<IWritten> {
    return link.write('resume', { branch: null, once, again });
  }

  /**
   * The cells that shall run after the resume, and those of them that must not be restored; null
   * if the user cancelled.
   */
  private async _ask(
    panel: NotebookPanel,
    plan: IPlan
  ): Promise<{ cells: string[]; again: string[] } | null> {
    const words = this._words;
    const sources = new Map(
      panel.content.widgets.map(({ model }) => [model.id, model.sharedModel.getSource()])
    );
    const body = new ResumeBody(plan, sources, words);
    const runs = rest(plan).length;
    const mayRun = runs > 0 || plan.cells.some(cell => cell.edited || cell.sets_up);
    const buttons = [Dialog.cancelButton({ label: words.__('Cancel') })];
    if (mayRun) {
      buttons.push(
        Dialog.createButton({
          label: words.__('Resume Only'),
          actions: ['restore'],
          className: 'nbckpt-ResumeOnly'
        })
      );
    }
    const label = mayRun ? words.__('Resume and Run') : words.__('Resume');
    buttons.push(Dialog.okButton({ label, actions: ['run'] }));
    const { button } = await showDialog({
      title: words.__("Resume from '%1'", shortened(plan.checkpoint?.name ?? '')),
      body,
      buttons
    });
    if (!button.accept) {
      return null;
    }
    return button.actions.includes('run')
      ? { cells: rest(plan, body.also), again: body.again }
      : { cells: [], again: [] };
  }
}
