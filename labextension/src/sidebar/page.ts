/** Rewinding a notebook's page with its variables: the cells' texts and outputs as they were. */

import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { Cell, ICodeCellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Widget } from '@lumino/widgets';
import type { IWritten } from '../records';
import type { IWords } from '../timeline/words';
import { exchange, type ICell } from './celledit';
import type { KernelLink } from './kernellink';
import {
  areInert,
  asPage,
  planOf,
  type INow,
  type IPage,
  type IPlan,
  type IThen
} from './pageplan';

/** Whether the page goes back with the variables. */
export type How = 'ask' | 'always' | 'never';

/** Where the user's answer is kept. */
export interface IPageSettings {
  how(): How;
  remember(how: How): void;
}

/** What was there before the last rewind, so that going back (`-`) brings it back as well. */
interface ILeft {
  /** The checkpoint that `-` stands for. */
  before: string | null;
  page: IPage;
}

/** That nothing was done, because the user said so. */
const NOTHING: IWritten = { text: '', cells: [], branch: null, error: null, status: null };

/** Rewinds notebooks, with their pages where the user wants it. */
export class Pages {
  constructor(
    private readonly _words: IWords,
    private readonly _settings: IPageSettings
  ) {}

  /**
   * Rewind the kernel to `ref`, and the page with it.
   *
   * @param ref - `-` for where the session stood before
   * @param other - whether it may be another notebook's
   * @returns what the kernel says, and what became of the page; no text if the user cancelled
   */
  async rewind(
    panel: NotebookPanel,
    link: KernelLink,
    ref: string,
    other = false
  ): Promise<IWritten> {
    const returning = ref === '-' ? this._leftAt(link) : null;
    if (this._settings.how() === 'never' || (ref === '-' && returning?.page.cells.length === 0)) {
      return this._rewound(link, { ref, other }, null);
    }
    const page = returning?.page ?? (await asked(link, ref));
    if (page instanceof Error) {
      const written = await this._rewound(link, { ref, other }, null);
      return withText(written, this._words.__('The cells stay as they are: %1', page.message));
    }
    const plan = planOf(contents(panel), page);
    const isMeant = returning !== null || this._settings.how() === 'always';
    const answer = isMeant || plan.changes.length === 0 ? 'cells' : await this._ask(plan);
    if (answer === 'cancel') {
      return NOTHING;
    }
    return this._rewound(link, { ref, other }, answer === 'cells' ? { panel, page } : null);
  }

  /** Rewind, and then the page; what it was is kept for the way back. */
  private async _rewound(
    link: KernelLink,
    { ref, other }: { ref: string; other: boolean },
    target: { panel: NotebookPanel; page: IPage } | null
  ): Promise<IWritten> {
    const written = await link.write('rewind', { ref, other_notebook: other });
    if (written.error !== null || target?.panel.isDisposed) {
      return written;
    }
    const left: IPage = { cells: [], later: [] };
    this._left.set(link, { before: written.status?.before ?? null, page: left });
    if (!target) {
      return written;
    }
    // Planned anew: cells may have run until the kernel was free.
    const now = contents(target.panel);
    const plan = planOf(now, target.page);
    left.cells.push(...turn(target.panel, plan, now));
    return withText(written, this._told(plan));
  }

  private _leftAt(link: KernelLink): ILeft | null {
    const left = this._left.get(link);
    const before = link.status?.before ?? null;
    return left && before !== null && left.before === before ? left : null;
  }

  private async _ask(plan: IPlan): Promise<'cells' | 'variables' | 'cancel'> {
    const words = this._words;
    const changes = plan.changes.length;
    const body = document.createElement('p');
    body.textContent = words._n(
      'The variables go back. %1 cell shows something else than it did then: its text and outputs can go back, too. Undo (Ctrl+Z) in a cell brings back what it has now.',
      'The variables go back. %1 cells show something else than they did then: their texts and outputs can go back, too. Undo (Ctrl+Z) in a cell brings back what it has now.',
      changes
    );
    const cells = Dialog.okButton({ label: words.__('Variables and Cells') });
    const variables = Dialog.createButton({
      label: words.__('Variables Only'),
      className: 'jp-mod-reject' // one button stands out
    });
    const { button, isChecked } = await showDialog({
      title: words.__('Rewind the cells, too?'),
      body: new Widget({ node: body }),
      buttons: [Dialog.cancelButton({ label: words.__('Cancel') }), variables, cells],
      defaultButton: 2,
      checkbox: {
        label: words.__('Do not ask again'),
        caption: words.__('The settings of nbckpt have the answer then.')
      }
    });
    const answer =
      button.label === cells.label
        ? 'cells'
        : button.label === variables.label
          ? 'variables'
          : 'cancel';
    if (isChecked && answer !== 'cancel') {
      this._settings.remember(answer === 'cells' ? 'always' : 'never');
    }
    return answer;
  }

  /** What became of the page. */
  private _told(plan: IPlan): string {
    const words = this._words;
    const { changes, missing, fixed } = plan;
    const acts = changes.some(cell => !areInert(cell.outputs ?? []));
    return [
      changes.length === 0
        ? words.__('The cells are as they were then.')
        : words._n(
            '%1 cell went back, too (Ctrl+Z in it undoes that).',
            '%1 cells went back, too (Ctrl+Z in one undoes it there).',
            changes.length
          ),
      missing > 0
        ? words._n(
            '%1 cell of then is not in this notebook any more.',
            '%1 cells of then are not in this notebook any more.',
            missing
          )
        : '',
      fixed > 0
        ? words._n(
            '%1 cell stays as it is: it runs, or is read-only.',
            '%1 cells stay as they are: they run, or are read-only.',
            fixed
          )
        : '',
      acts ? words.__('Scripts in outputs do not run until their cell has run.') : ''
    ]
      .filter(text => text !== '')
      .join(' ');
  }

  private readonly _left = new WeakMap<KernelLink, ILeft>();
}

/** The page at `ref`, or why the kernel does not tell. */
async function asked(link: KernelLink, ref: string): Promise<IPage | Error> {
  try {
    return await link.ask('page', { ref }, asPage);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** What the code cells of a page hold. */
export function contents(panel: NotebookPanel): INow[] {
  const isReadOnly = panel.context.model.readOnly;
  return codeCells(panel).map(({ cell_id, model }) => ({
    cell_id,
    source: model.sharedModel.getSource(),
    outputs: model.sharedModel.getOutputs(),
    execution_count: model.executionCount,
    isFixed: isReadOnly || model.getMetadata('editable') === false || runs(model)
  }));
}

function codeCells(panel: NotebookPanel): { cell_id: string; model: ICodeCellModel }[] {
  return panel.content.widgets
    .filter((cell: Cell) => cell.model.type === 'code')
    .map(cell => ({ cell_id: cell.model.id, model: cell.model as ICodeCellModel }));
}

function runs(model: ICodeCellModel): boolean {
  return (model as { executionState?: string }).executionState === 'running';
}

/** Change the cells of a plan; what these had. */
function turn(panel: NotebookPanel, plan: IPlan, now: readonly INow[]): IThen[] {
  const changes = new Map(plan.changes.map(cell => [cell.cell_id, cell]));
  for (const { cell_id, model } of codeCells(panel)) {
    const change = changes.get(cell_id);
    if (change) {
      exchange(new TrustedCell(model), { ...change, outputs: change.outputs ?? [] });
      // It has the very text of its outputs: the dot that says otherwise goes.
      Reflect.set(model, 'isDirty', false); // in old versions nobody may set it
    }
  }
  return now.filter(cell => changes.has(cell.cell_id));
}

/** A code cell whose trust is kept where JupyterLab looks for it. */
class TrustedCell implements ICell {
  constructor(private readonly _model: ICodeCellModel) {}

  get shared(): ICodeCellModel['sharedModel'] {
    return this._model.sharedModel;
  }

  get isTrusted(): boolean {
    return this._model.trusted;
  }
  set isTrusted(value: boolean) {
    if (value !== this._model.trusted) {
      this._model.trusted = value;
      // Else the server would sign the file with these outputs when it is saved.
      this._model.setMetadata('trusted', value);
    }
  }
}

function withText(written: IWritten, text: string): IWritten {
  return { ...written, text: written.text === '' ? text : `${written.text}\n${text}` };
}
