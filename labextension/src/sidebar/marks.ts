/** The marks at the cells of all open notebooks: what became of each cell, and its checkpoint. */

import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { IWords } from '../timeline/words';
import type { ILinked, Links } from './kernellinks';
import { NotebookMarks, type Shown } from './notebookmarks';

export type { Shown } from './notebookmarks';

/** What a mark leads to. */
export interface IMarkActions {
  /** Show a checkpoint among the others. */
  reveal(panel: NotebookPanel, checkpoint: string): void;
}

/** Gives every notebook its marks, from when it is opened until it is closed. */
export class Marks implements IDisposable {
  constructor(
    private readonly _links: Links,
    private readonly _words: IWords,
    private readonly _actions: IMarkActions
  ) {
    _links.added.connect((_, linked) => {
      this._add(linked);
    }, this);
    _links.forEach(linked => {
      this._add(linked);
    });
  }

  /** How much of them is shown, in all notebooks. */
  get shown(): Shown {
    return this._shown;
  }
  set shown(value: Shown) {
    this._shown = value;
    for (const marks of this._all.values()) {
      marks.shown = value;
    }
  }

  /** The checkpoint of a notebook's active cell, null where it has none. */
  checkpointOfActive(panel: NotebookPanel): string | null {
    const id = panel.content.activeCell?.model.id;
    return (id !== undefined && this._links.of(panel).link.marks[id]?.checkpoint) || null;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this.shown = 'off';
    for (const marks of this._all.values()) {
      marks.dispose();
    }
    this._all.clear();
    Signal.clearData(this);
  }

  private _add(linked: ILinked): void {
    const { panel } = linked;
    if (this._all.has(panel)) {
      return;
    }
    const marks = new NotebookMarks(linked, this._words, checkpoint => {
      this._actions.reveal(panel, checkpoint);
    });
    this._all.set(panel, marks);
    panel.disposed.connect(() => this._all.delete(panel));
    marks.shown = this._shown;
  }

  private readonly _all = new Map<NotebookPanel, NotebookMarks>();
  private _shown: Shown = 'words';
  private _isDisposed = false;
}
