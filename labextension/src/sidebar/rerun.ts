/** Rerun from here: the notebook's own cells below a step, so that outputs land in the page. */

import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { Cell, ICodeCellModel } from '@jupyterlab/cells';
import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import type { ICellRun, IWritten } from '../records';
import type { IWords } from '../timeline/words';
import type { KernelLink } from './kernellink';
import { isRecord } from '../shapes';
import { RerunBody } from './rerunbody';
import { asRerunPlan, chosen, failure, firstLine, summary, type IPlanned } from './rerunplan';

/** How a rerun is asked for. */
export interface IRerunOptions {
  /** All cells below, also those that stand as they would after it. */
  everything: boolean;
  /** Whether the checkpoint may be another notebook's. */
  other: boolean;
}

/** Reruns in the page. */
export class Reruns {
  constructor(private readonly _words: IWords) {}

  /**
   * Say what would run and why; if it is wanted, rewind to `ref` and execute the cells below it.
   *
   * @returns what became of each cell; no text if the user cancelled
   */
  async rerun(
    panel: NotebookPanel,
    link: KernelLink,
    ref: string,
    options: IRerunOptions
  ): Promise<IWritten> {
    const words = this._words;
    const cells = codeCells(panel).map(cell => ({
      cell_id: cell.model.id,
      source: cell.model.sharedModel.getSource(),
      kind: 'code'
    }));
    const plan = await link.ask('rerun_plan', { ref, cells }, asRerunPlan);
    const name = link.rows.find(row => row.id === ref)?.name ?? ref;
    if (plan.cells.length === 0) {
      return done(words.__('Below %1 there is no cell to run.', name));
    }
    const sources = new Map(cells.map(cell => [cell.cell_id, cell.source]));
    const body = new RerunBody(
      plan,
      link,
      { name, sources, everything: options.everything },
      words
    );
    const { button } = await showDialog({
      title: words.__('Rerun from %1', name),
      body,
      buttons: [
        Dialog.cancelButton({ label: words.__('Cancel') }),
        Dialog.okButton({ label: words.__('Rerun') })
      ]
    });
    if (!button.accept) {
      return done('');
    }
    const steps = chosen(plan, body.choice);
    if (steps.length === 0) {
      return done(words.__('Below %1 nothing is stale.', name));
    }
    if (plan.rewinds) {
      const rewound = await link.write('rewind', { ref, other_notebook: options.other });
      if (rewound.error !== null) {
        return rewound;
      }
    }
    const anyway = steps.filter(step => step.given.length > 0).map(step => step.cell_id);
    if (anyway.length > 0) {
      const told = await link.write('run_anyway', { cells: anyway });
      if (told.error !== null) {
        return told;
      }
    }
    const ran = await this._run(panel, steps);
    return {
      ...done(summary(name, ran, words)),
      cells: ran,
      branch: link.status?.branch ?? null,
      error: failure(ran, words)
    };
  }

  /**
   * Execute cells one after the other, up to the first error.
   *
   * Not all at once: the outputs of cells that are not reached would be cleared for nothing.
   */
  private async _run(panel: NotebookPanel, steps: readonly IPlanned[]): Promise<ICellRun[]> {
    const ran: ICellRun[] = [];
    let goesOn = true;
    for (const step of steps) {
      const cell = panel.isDisposed ? undefined : cellOf(panel, step.cell_id);
      const name = cell ? firstLine(cell.model.sharedModel.getSource()) : step.cell_id;
      if (!goesOn || !cell) {
        ran.push(told(name, 'not reached', ''));
        continue;
      }
      const began = performance.now();
      const error = await execute(panel, cell);
      const took_s = (performance.now() - began) / 1000;
      goesOn = error === null;
      const restored = goesOn ? restoredFrom(cell) : null;
      const state = error !== null ? 'failed' : restored !== null ? 'restored' : 'run';
      ran.push({ ...told(name, state, error ?? step.why), checkpoint_id: restored, took_s });
    }
    return ran;
  }
}

function codeCells(panel: NotebookPanel): Cell[] {
  return panel.content.widgets.filter(cell => cell.model.type === 'code');
}

function cellOf(panel: NotebookPanel, id: string): Cell | undefined {
  return panel.content.widgets.find(cell => cell.model.id === id);
}

/** Execute a cell as its user would; the error that it ended with. */
async function execute(panel: NotebookPanel, cell: Cell): Promise<string | null> {
  let told = '';
  const hear = (_: unknown, args: { cell: Cell; error?: unknown }): void => {
    if (args.cell === cell && isRecord(args.error)) {
      const { errorName, errorValue } = args.error;
      told = [errorName, errorValue].filter(part => typeof part === 'string').join(': ');
    }
  };
  NotebookActions.executed.connect(hear);
  try {
    const isDone = await NotebookActions.runCells(panel.content, [cell], panel.sessionContext);
    return isDone ? null : told || 'it did not run to its end';
  } finally {
    NotebookActions.executed.disconnect(hear);
  }
}

/** The checkpoint from which a cell was restored, as the line says that nbckpt shows under it. */
function restoredFrom(cell: Cell): string | null {
  for (const output of (cell.model as ICodeCellModel).sharedModel.getOutputs()) {
    const said = isRecord(output.metadata) ? output.metadata.nbckpt : undefined;
    if (isRecord(said) && typeof said.restored === 'string') {
      return said.restored;
    }
  }
  return null;
}

function told(name: string, state: string, why: string): ICellRun {
  return { name, checkpoint_id: null, state, why, took_s: null };
}

function done(text: string): IWritten {
  return { text, cells: [], branch: null, error: null, status: null };
}
