/** Fetches what the pane shows, and drops answers that nobody waits for any more. */

import type { IBusy, IDetails, IDrawer, IRow, Output } from '../records';
import { comparisonOf } from './compare';
import { detailsOf } from './details';
import { comparedDisplays } from './displays';
import { make } from './dom';
import { waitsFor } from './notice';
import { picturesIn } from './pictures';
import type { Pane } from './pane';
import type { IVerbs } from './verbs';
import type { IWords } from './words';

/** Arrow keys pass over rows; only where they rest is the kernel asked. */
const REST_MS = 90;
/** A kernel that answers while a cell runs does so within this time. */
const SOON_MS = 500;
/** A loop that runs changes its checkpoint four times a second. */
const CHANGED_MS = 700;
/** Details that are remembered, for going to and fro. */
const REMEMBERED = 60;

/** Keeps the body of the pane what the selection asks for. */
export class Reader {
  constructor(
    private readonly _pane: Pane,
    private readonly _verbs: IVerbs,
    private readonly _words: IWords,
    private readonly _onVariable: (name: string) => void
  ) {}

  /** Show `rows`: nothing, one checkpoint, or two of which the older comes first. */
  show(rows: readonly IRow[]): void {
    const mark = JSON.stringify(rows);
    if (mark === this._mark) {
      return;
    }
    this._mark = mark;
    const ids = rows.map(row => row.id).join(' ');
    const moved = ids !== this._ids;
    if (this._isInstead && !moved) {
      return;
    }
    this._isInstead = false;
    this._ids = ids;
    const turn = this._begin();
    const known = this._known.get(mark);
    if (rows.length === 0) {
      this._pane.fill(null);
    } else if (known) {
      this._pane.fill(detailsOf(known, this._words, this._onVariable));
    } else {
      if (moved) {
        this._wait();
      }
      this._timer = window.setTimeout(() => void this._fetch(rows, turn), this._delay(moved));
    }
  }

  /** A click is answered at once, and so is the first of many keys. */
  private _delay(moved: boolean): number {
    if (!moved) {
      return CHANGED_MS;
    }
    const now = Date.now();
    const isFirst = now - this._moved > 2 * REST_MS;
    this._moved = now;
    return isFirst ? 0 : REST_MS;
  }

  /** Ask again, whatever is shown. */
  again(rows: readonly IRow[]): void {
    this._mark = '';
    this._ids = '';
    this._known.clear();
    this.show(rows);
  }

  /** Show something else, until another checkpoint is selected. */
  instead(content: HTMLElement, rows: readonly IRow[]): void {
    this._begin();
    this._isInstead = true;
    this._mark = JSON.stringify(rows);
    this._ids = rows.map(row => row.id).join(' ');
    this._pane.fill(content);
  }

  /** What is known of the one that is shown. */
  get details(): IDetails | undefined {
    return this._known.get(this._mark);
  }

  /** Another cell runs, or none. */
  refresh(busy: IBusy | null): void {
    this._busy = busy;
    const waiting = this._waiting;
    if (waiting?.isConnected && Date.now() - this._moved >= SOON_MS) {
      waiting.textContent = this._waitingText();
    }
  }

  dispose(): void {
    this._begin();
    this._drawer?.dispose();
  }

  /** From now on, earlier answers are too late. */
  private _begin(): number {
    window.clearTimeout(this._timer);
    return ++this._turn;
  }

  private async _fetch(rows: readonly IRow[], turn: number): Promise<void> {
    const [first, second] = rows;
    if (!first) {
      return;
    }
    try {
      const content = second
        ? await this._comparison(first, second)
        : detailsOf(await this._details(first), this._words, this._onVariable);
      if (this._turn === turn) {
        this._pane.fill(content);
      }
    } catch (error) {
      if (this._turn === turn) {
        const why = error instanceof Error ? error.message : String(error);
        this._pane.fill(make('p', 'error', { role: 'alert' }, [why]));
      }
    }
  }

  private async _comparison(first: IRow, second: IRow): Promise<HTMLElement> {
    const pictures = async (row: IRow): Promise<string[]> =>
      row.has_outputs
        ? this._details(row).then(
            ({ outputs }) => picturesIn(outputs),
            () => [] // without pictures, then
          )
        : [];
    const displays = async (row: IRow): Promise<readonly Output[]> =>
      row.has_outputs ? this._verbs.displays(row.id).catch(() => []) : [];
    const [difference, before, after, older, newer] = await Promise.all([
      this._verbs.diff(first.id, second.id),
      pictures(first),
      pictures(second),
      displays(first),
      displays(second)
    ]);
    this._drawer?.dispose();
    this._drawer = this._verbs.drawer();
    const shown = comparedDisplays(older, newer, this._drawer, this._words);
    return comparisonOf(difference, { pictures: { before, after }, displays: shown }, this._words);
  }

  /** All that is known of a row, remembered as long as the row is as it is. */
  private async _details(row: IRow): Promise<IDetails> {
    const mark = JSON.stringify([row]);
    const details = this._known.get(mark) ?? (await this._verbs.details(row.id));
    this._known.set(mark, details);
    for (const oldest of this._known.keys()) {
      if (this._known.size <= REMEMBERED) {
        break;
      }
      this._known.delete(oldest);
    }
    return details;
  }

  private _wait(): void {
    this._waiting = make('p', 'loading', {}, [this._words.__('reading …')]);
    this._pane.fill(this._waiting);
    window.setTimeout(() => {
      this.refresh(this._busy);
    }, SOON_MS);
  }

  private _waitingText(): string {
    return this._busy ? waitsFor(this._busy, this._words) : this._words.__('reading …');
  }

  private readonly _known = new Map<string, IDetails>();
  private _drawer: IDrawer | null = null;
  private _mark = '[]';
  private _ids = '';
  private _timer = 0;
  private _turn = 0;
  private _moved = 0;
  private _isInstead = false;
  private _waiting: HTMLElement | null = null;
  private _busy: IBusy | null = null;
}
