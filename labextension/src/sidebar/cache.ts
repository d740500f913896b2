/** The lists that kernels told last, for a page that is loaded while a kernel cannot answer. */

import type { IStateDB } from '@jupyterlab/statedb';
import type { ReadonlyPartialJSONValue } from '@lumino/coreutils';
import { asRows, asStatus } from '../checks';
import type { IRow, IStatus } from '../records';
import { list, number, shaped, text } from '../shapes';
import type { INews } from './kernelnews';

/** A list, and when it was told. */
export interface IKept {
  path: string;
  /** Milliseconds since the epoch. */
  at: number;
  rows: IRow[];
  older: number;
  status: IStatus;
}

const KEY = 'nbckpt:lists';
/** It is written with the whole layout of the page, so it has to be small. */
const MOST_ROWS = 40;
const MOST_NOTEBOOKS = 8;
/** What comes within this time is written at once. */
const REST_MS = 1000;
/** A loop tells four times a second, and is one row all the time. */
const SAME_MS = 60_000;

const asKept = list(
  shaped<IKept>({ path: text, at: number, rows: asRows, older: number, status: asStatus })
);

/** Keeps the newest rows of the notebooks that were looked at last. */
export class Cache {
  constructor(private readonly _state: IStateDB | null) {
    this._fetched = this._fetch();
  }

  /** What was kept of a notebook, null if nothing was. */
  async of(path: string): Promise<IKept | null> {
    await this._fetched;
    return this._kept.find(each => each.path === path) ?? null;
  }

  /** Keep what a kernel told of a notebook. */
  keep(path: string, news: INews): void {
    const rows = news.rows.slice(-MOST_ROWS);
    const older = news.older + news.rows.length - rows.length;
    const status = { ...news.status, busy: null };
    const kept = { path, at: Date.now(), rows, older, status };
    this._kept = [kept, ...this._kept.filter(each => each.path !== path)].slice(0, MOST_NOTEBOOKS);
    const ids = rows.map(row => row.id).join();
    const isSame = ids === this._ids && kept.at - this._saved < SAME_MS;
    if (!isSame) {
      this._ids = ids;
      this._saved = kept.at;
      this._timer ??= setTimeout(() => {
        this._timer = undefined;
        this._save();
      }, REST_MS);
    }
  }

  /** The notebook has another path now. */
  rename(before: string, path: string): void {
    this._kept = this._kept
      .filter(each => each.path !== path)
      .map(each => (each.path === before ? { ...each, path } : each));
    this._save();
  }

  private _save(): void {
    const value = this._kept as unknown as ReadonlyPartialJSONValue;
    // Without it a page that is loaded anew waits for its kernel; nothing else is lost.
    this._state?.save(KEY, value).catch(() => undefined);
  }

  private async _fetch(): Promise<void> {
    try {
      const told = asKept(await this._state?.fetch(KEY));
      this._kept = [...this._kept, ...told].slice(0, MOST_NOTEBOOKS);
    } catch {
      // Of another version of nbckpt: it is written anew.
    }
  }

  private readonly _fetched: Promise<void>;
  private _kept: IKept[] = [];
  private _ids = '';
  private _saved = 0;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
