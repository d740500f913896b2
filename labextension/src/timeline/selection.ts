/** What is selected: one checkpoint, two that are compared, or one that waits for the other. */

import type { IRow, IStatus } from '../records';
import type { ListView } from './list';
import type { Notice } from './notice';
import type { Pane } from './pane';
import type { Reader } from './reader';
import type { IWords } from './words';

/** The parts that show it. */
interface IParts {
  list: ListView;
  pane: Pane;
  reader: Reader;
  notice: Notice;
}

/** What it needs of the view around it. */
interface IAround {
  rows(): readonly IRow[];
  status(): IStatus | null;
  /** Something else is shown: the layout may be another. */
  changed(): void;
}

/** Keeps list and pane to the same checkpoints. */
export class Selection {
  constructor(
    private readonly _parts: IParts,
    private readonly _around: IAround,
    private readonly _words: IWords
  ) {}

  /** The rows, oldest first where there are two. */
  get rows(): readonly IRow[] {
    return this._rows;
  }

  /** The checkpoint, null where none or two are selected. */
  get one(): IRow | null {
    return this._rows.length === 1 ? (this._rows[0] ?? null) : null;
  }

  get ids(): readonly (string | null)[] {
    return this._ids;
  }

  /** Select what the list has selected; it may be the second of two that are compared. */
  select(first: string | null, second: string | null): void {
    const other = this._choosing;
    this._choosing = null;
    if (other !== null && first !== null && first !== other) {
      this._parts.list.select(other, first);
      this.select(other, first);
      return;
    }
    this._ids = [first, second];
    this._parts.pane.closeForm();
    this.refresh();
  }

  /** Show the selected rows as they are now. */
  refresh(): void {
    const [first, second] = this._ids;
    const status = this._around.status();
    this._rows = this._around.rows().filter(row => row.id === first || row.id === second);
    this._parts.pane.show({
      rows: this._rows,
      branch: status?.branch ?? '',
      here: status?.position ?? null,
      choosing: this._choosing !== null
    });
    this._parts.pane.disabled = this._parts.notice.isClosed;
    this._parts.reader.show(this._rows);
    this._around.changed();
  }

  /** Go to a checkpoint, now or as soon as it is listed. */
  reveal(id: string): void {
    const isThere = this._around.rows().some(row => row.id === id);
    this._revealing = isThere ? null : id;
    if (isThere && this._ids[0] !== id) {
      this._parts.list.select(id);
      this.select(id, null);
    }
  }

  /** The rows are others: what was to be revealed may be there now. */
  listed(): void {
    if (this._revealing !== null) {
      this.reveal(this._revealing);
    }
    this.refresh();
  }

  /** Compare two, or have the next click choose the second. */
  compare(): void {
    if (this._rows.length === 2) {
      this._parts.reader.again(this._rows);
      return;
    }
    const row = this.one;
    this._choosing = this._choosing === null && row ? row.id : null;
    this.refresh();
    if (this._choosing !== null && row) {
      const text = this._words.__('Choose what to compare %1 with.', row.name);
      this._parts.notice.tell(text, 'done');
      this._parts.list.node.focus();
    }
  }

  /** Leave the choice of a second, else one of what is selected. */
  less(): void {
    if (this._choosing !== null) {
      this._choosing = null;
      this._parts.notice.tell('', 'done');
      this.refresh();
    } else {
      const first = this._ids[1] === null ? null : this._ids[0];
      this._parts.list.select(first);
      this.select(first, null);
    }
  }

  /** Select nothing. */
  clear(): void {
    this._parts.list.select(null);
    this.select(null, null);
  }

  private _ids: [string | null, string | null] = [null, null];
  private _rows: readonly IRow[] = [];
  private _choosing: string | null = null;
  private _revealing: string | null = null;
}
