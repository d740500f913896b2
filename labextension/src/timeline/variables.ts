/** Shows the history of a variable in the pane, and does what is asked for there. */

import type { IRow, IVariableHistory, IVariablePoint } from '../records';
import { variable as differenceOf } from './compare';
import { make } from './dom';
import { variablePage } from './variablepage';
import type { IVerbs } from './verbs';
import type { IWords } from './words';

/** What it needs of the view around it. */
export interface IVariableSurroundings {
  /** The checkpoint that is selected. */
  subject(): IRow | null;
  now(): number;
  /** Show this in the pane until something else is selected. */
  showInstead(content: HTMLElement): void;
  /** Show the checkpoint again. */
  showSubject(): void;
  /** Select a checkpoint. */
  reveal(id: string): void;
  /** Bring one variable back as it was at a checkpoint. */
  restore(variable: string, ref: string): Promise<void>;
}

/** One history at a time. */
export class Variables {
  constructor(
    private readonly _around: IVariableSurroundings,
    private readonly _verbs: IVerbs,
    private readonly _words: IWords
  ) {}

  /** Ask for the history of a variable on the line of the selected checkpoint, and show it. */
  async open(name: string): Promise<void> {
    const row = this._around.subject();
    if (!row) {
      return;
    }
    const turn = ++this._turn;
    this._chosen = null;
    this._comparison = null;
    this._around.showInstead(make('p', 'loading', {}, [this._words.__('reading …')]));
    try {
      const history = await this._verbs.history(name, row.id);
      if (this._isNow(turn, row)) {
        this._history = history;
        this._show();
      }
    } catch (error) {
      if (this._isNow(turn, row)) {
        this._around.showInstead(make('p', 'error', { role: 'alert' }, [message(error)]));
      }
    }
  }

  private _show(): void {
    const history = this._history;
    if (!history) {
      return;
    }
    const page = variablePage(
      history,
      { chosen: this._chosen?.checkpoint ?? null, comparison: this._comparison },
      {
        restore: point => void this._restore(history.variable, point.checkpoint),
        compare: point => void this._compare(history, point),
        reveal: point => {
          this._around.reveal(point.checkpoint);
        },
        close: () => {
          this._around.showSubject();
        }
      },
      this._around.now(),
      this._words
    );
    this._around.showInstead(page);
  }

  private async _restore(variable: string, ref: string): Promise<void> {
    await this._around.restore(variable, ref);
    await this.open(variable);
  }

  /** Choose the first of two, or show how the two differ. */
  private async _compare(history: IVariableHistory, point: IVariablePoint): Promise<void> {
    const first = this._chosen;
    if (first === null || first.checkpoint === point.checkpoint) {
      this._chosen = first === null ? point : null;
      this._show();
      return;
    }
    this._chosen = null;
    const row = this._around.subject();
    const turn = ++this._turn;
    const [older, newer] = first.created_at < point.created_at ? [first, point] : [point, first];
    let content: HTMLElement;
    try {
      const { variables } = await this._verbs.diff(older.checkpoint, newer.checkpoint);
      const found = variables.find(each => each.name === history.variable);
      const names = this._words.__('%1 → %2', older.step, newer.step);
      content = make('div', '', {}, [
        make('p', 'hint', {}, [names]),
        found
          ? differenceOf(found, this._words)
          : make('p', 'hint', {}, [this._words.__('Nothing differs.')])
      ]);
    } catch (error) {
      content = make('p', 'error', { role: 'alert' }, [message(error)]);
    }
    if (this._isNow(turn, row)) {
      this._comparison = content;
      this._show();
    }
  }

  private _isNow(turn: number, row: IRow | null): boolean {
    return this._turn === turn && this._around.subject()?.id === row?.id;
  }

  private _history: IVariableHistory | null = null;
  private _chosen: IVariablePoint | null = null;
  private _comparison: Node | null = null;
  private _turn = 0;
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
