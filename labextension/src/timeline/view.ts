/** The timeline: list above or beside what is known of the selected checkpoint. */

import type { IRow, IStatus } from '../records';
import { button, make } from './dom';
import { listed } from './filter';
import { ListView } from './list';
import style from './style.css';
import type { IVerbs } from './verbs';
import { ENGLISH, type IWords } from './words';

/** Draws rows into `host` and says through `verbs` what was clicked. */
export class TimelineView {
  constructor(
    host: HTMLElement,
    private readonly _verbs: IVerbs,
    private readonly _words: IWords = ENGLISH
  ) {
    this._list = new ListView(
      {
        selected: first => {
          this._first = first;
        },
        verb: () => undefined
      },
      _words
    );
    this._notice = make('div', 'notice', { role: 'status' });
    const rewind = button('rewind', _words.__('Rewind'), () => {
      void this._rewind();
    });
    host.append(
      make('div', 'root', { 'data-lm-suppress-shortcuts': 'true' }, [
        make('style', '', {}, [style]),
        this._list.node,
        rewind,
        this._notice
      ])
    );
  }

  get isBusy(): boolean {
    return this._status?.busy != null;
  }

  show(rows: IRow[], status: IStatus, _older: number): void {
    this._status = status;
    this._list.show(listed(rows, { query: '', automatic: true }, []), status, status.now);
  }

  tell(text: string, _isError: boolean): void {
    this._notice.textContent = text;
  }

  dispose(): void {
    this._status = null;
  }

  private async _rewind(): Promise<void> {
    if (this._first !== null) {
      try {
        this.tell((await this._verbs.rewind(this._first)).text, false);
      } catch (error) {
        this.tell(String(error), true);
      }
    }
  }

  private readonly _list: ListView;
  private readonly _notice: HTMLElement;
  private _status: IStatus | null = null;
  private _first: string | null = null;
}
