/** What cells showed, at a glance: fetched for the rows that are seen, a few at a time. */

import type { IGlance, IRow } from '../records';
import { picture } from './details';
import { make } from './dom';

/** Rows that come into sight together are asked for together. */
const TOGETHER_MS = 40;
const MOST = 100;

/** Remembers them by checkpoint. */
export class Glances {
  /**
   * @param _fetch - asks the kernel
   * @param _came - called when there is something new to draw
   */
  constructor(
    private readonly _fetch: (
      ids: readonly string[]
    ) => Promise<Readonly<Record<string, IGlance | null>>>,
    private readonly _came: () => void
  ) {}

  /** What is known of a row; null where there is nothing to see, or nothing yet. */
  of(row: IRow): IGlance | null {
    if (!row.has_outputs) {
      return null;
    }
    const known = this._known.get(row.id);
    if (known === undefined) {
      this._known.set(row.id, null); // asked for once
      this._wanted.push(row.id);
      this._timer ??= window.setTimeout(() => void this._ask(), TOGETHER_MS);
    }
    return known ?? null;
  }

  dispose(): void {
    this._isDisposed = true;
    window.clearTimeout(this._timer);
  }

  private async _ask(): Promise<void> {
    this._timer = undefined;
    const ids = this._wanted.splice(0, MOST);
    try {
      const found = await this._fetch(ids);
      if (this._isDisposed) {
        return;
      }
      for (const [id, glance] of Object.entries(found)) {
        this._known.set(id, glance);
      }
      this._came();
    } catch {
      // A kernel that is gone or busy: asked again when the row is drawn anew.
      ids.forEach(id => this._known.delete(id));
    }
    if (this._wanted.length > 0 && !this._isDisposed) {
      this._timer ??= window.setTimeout(() => void this._ask(), TOGETHER_MS);
    }
  }

  private readonly _known = new Map<string, IGlance | null>();
  private _isDisposed = false;
  private _wanted: string[] = [];
  private _timer: number | undefined;
}

/** A glance as it stands in a row. */
export function glanceOf(glance: IGlance): HTMLElement {
  const title = { title: glance.text };
  if (glance.image !== null) {
    const image = picture(glance.image);
    if (image) {
      image.alt = glance.text;
      return make('span', 'glance is-image', title, [image]);
    }
  }
  if (glance.rows.length > 0) {
    const cells = glance.rows.flat().map(text => make('span', '', {}, [text]));
    const table = make('span', 'glance is-table', { ...title, 'aria-hidden': 'true' }, cells);
    const columns = Math.max(...glance.rows.map(row => row.length));
    table.style.gridTemplateColumns = `repeat(${columns}, auto)`;
    return table;
  }
  return make('span', 'glance is-text', title, [glance.text]);
}
