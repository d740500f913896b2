/** The marks at the cells of one notebook. They are drawn beside the document, never into it. */

import type { Cell } from '@jupyterlab/cells';
import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { isRecord } from '../shapes';
import type { IWords } from '../timeline/words';
import { cellMark } from './cellmark';
import { crc32 } from './crc';
import type { KernelLink } from './kernellink';
import type { ILinked } from './kernellinks';
import { lookOf, type ILook } from './looks';
import type { IMark } from './kernelnews';

/** How much of the marks is shown. */
export type Shown = 'words' | 'icons' | 'off';

/** How long an edit may go unseen: typing and printing change a notebook all the time. */
const EDITS_MS = 250;

/** What was drawn at a cell. */
interface IDrawn {
  key: string;
  mark: HTMLElement | null;
}

/**
 * Keeps the marks of one view of a notebook up to date.
 *
 * The kernel tells what became of the cells, in every window; JupyterLab's own signals of what ran
 * are heard in one window only. That a cell was edited is found here, by its text.
 */
export class NotebookMarks implements IDisposable {
  constructor(
    { panel, link }: ILinked,
    private readonly _words: IWords,
    private readonly _onOpen: (checkpoint: string) => void
  ) {
    this._panel = panel;
    this._link = link;
    link.changed.connect((_, change) => {
      if (change === 'state') {
        this._order = '';
      }
      if (change === 'marks' || change === 'state') {
        this._tellTexts();
        this.refresh();
      }
    }, this);
    panel.content.modelContentChanged.connect(() => {
      this._refreshLater();
    }, this);
    // A cell that was just put here takes over a name only if the kernel knows which ones are gone.
    NotebookActions.executionScheduled.connect((_, { notebook }) => {
      if (notebook === panel.content) {
        this._arrange();
      }
    }, this);
    panel.content.activeCellChanged.connect((_, cell) => {
      this._activate(cell);
    }, this);
    panel.disposed.connect(() => {
      this.dispose();
    }, this);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  get shown(): Shown {
    return this._shown;
  }
  set shown(value: Shown) {
    this._shown = value;
    this._panel.content.node.dataset.nbckptMarks = value;
    this.refresh();
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    clearTimeout(this._timer);
    Signal.clearData(this);
  }

  /** Draw what has changed. */
  refresh(): void {
    if (this._isDisposed || this._panel.isDisposed) {
      return;
    }
    this._arrange();
    const marks = this._shown === 'off' ? {} : this._link.marks;
    for (const cell of this._panel.content.widgets) {
      const mark = cell.model.type === 'code' ? marks[cell.model.id] : undefined;
      this._draw(cell, mark ? lookOf(mark, this._wasEdited(cell, mark), this._words) : null);
    }
  }

  /**
   * Tell the kernel which cells there are, and in which order: what is stale depends on it.
   *
   * By its text a cell is known that has another id than when it ran.
   */
  private _arrange(): void {
    if (this._link.state !== 'ready' || this._shown === 'off') {
      return;
    }
    const { widgets } = this._panel.content;
    const cells = widgets.map(cell => cell.model.id);
    const notebook = this._panel.context.path;
    const order = [notebook, ...cells].join(' ');
    if (order !== this._order) {
      this._order = order;
      const texts = this._textsNow();
      this._told = texts.join(' ');
      // What comes of it is told to all windows by an event.
      this._link.ask('marks', { cells, texts, notebook }, isRecord).catch(() => undefined);
    }
  }

  /** Tell the texts anew if there are marks for cells that are not here under their ids. */
  private _tellTexts(): void {
    if (this._isDisposed || this._panel.isDisposed) {
      return;
    }
    const ids = new Set(this._panel.content.widgets.map(cell => cell.model.id));
    const isMissing = Object.keys(this._link.marks).some(id => !ids.has(id));
    if (isMissing && this._textsNow().join(' ') !== this._told) {
      this._order = '';
    }
  }

  private _textsNow(): (number | null)[] {
    return this._panel.content.widgets.map(cell =>
      cell.model.type === 'code' ? this._crcOf(cell) : null
    );
  }

  private _wasEdited(cell: Cell, mark: IMark): boolean {
    return mark.source_crc !== null && this._crcOf(cell) !== mark.source_crc;
  }

  private _crcOf(cell: Cell): number {
    const source = cell.model.sharedModel.getSource();
    let known = this._texts.get(cell);
    if (known?.source !== source) {
      known = { source, crc: crc32(source) };
      this._texts.set(cell, known);
    }
    return known.crc;
  }

  private _draw(cell: Cell, look: ILook | null): void {
    const key = look === null ? '' : JSON.stringify(look);
    if ((this._drawn.get(cell)?.key ?? '') === key) {
      return;
    }
    if (look === null) {
      delete cell.node.dataset.nbckpt;
    } else {
      cell.node.dataset.nbckpt = look.state;
    }
    const header = headerOf(cell);
    if (!header) {
      this._drawWhenReady(cell);
      return;
    }
    const mark = look === null ? null : cellMark(look, this._onOpen);
    if (mark && cell === this._panel.content.activeCell) {
      mark.tabIndex = 0;
    }
    const focused = header.contains(document.activeElement);
    header.replaceChildren(...(mark ? [mark] : []));
    header.classList.toggle('nbckpt-has-mark', mark !== null);
    if (focused) {
      mark?.focus();
    }
    this._drawn.set(cell, { key, mark });
  }

  /** A cell that was never near to what is seen is only a placeholder yet, without a header. */
  private _drawWhenReady(cell: Cell): void {
    if (this._awaited.has(cell)) {
      return;
    }
    this._awaited.add(cell);
    void cell.ready.then(() => {
      this._refreshLater();
    });
  }

  private _refreshLater(): void {
    if (this._isDisposed) {
      return;
    }
    this._timer ??= setTimeout(() => {
      this._timer = undefined;
      this.refresh();
    }, EDITS_MS);
  }

  /** Tab leads to the mark of the active cell alone, as it does to the rest of that cell. */
  private _activate(cell: Cell | null): void {
    const before = this._active && this._drawn.get(this._active)?.mark;
    if (before) {
      before.tabIndex = -1;
    }
    const mark = cell && this._drawn.get(cell)?.mark;
    if (mark) {
      mark.tabIndex = 0;
    }
    this._active = cell;
  }

  private readonly _panel: NotebookPanel;
  private readonly _link: KernelLink;
  private readonly _drawn = new WeakMap<Cell, IDrawn>();
  private readonly _texts = new WeakMap<Cell, { source: string; crc: number }>();
  private readonly _awaited = new WeakSet<Cell>();
  private _active: Cell | null = null;
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _order = '';
  private _told = '';
  private _shown: Shown = 'words';
  private _isDisposed = false;
}

/**
 * Where the mark of a cell stands; null as long as there is no such place.
 *
 * JupyterLab takes the parts of a code cell that is far from what is seen out of the page, and puts
 * the same ones back: they are looked for in the cell's layout, which keeps them.
 */
function headerOf(cell: Cell): HTMLElement | null {
  for (const part of cell.layout ?? []) {
    if (part.node.classList.contains('jp-CellHeader')) {
      return part.node;
    }
  }
  return null;
}
