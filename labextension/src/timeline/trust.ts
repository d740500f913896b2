/** Above a list that holds what somebody else made: how much that is, and how to trust it. */

import type { IRow, IStrangers, IWritten } from '../records';
import { button, make } from './dom';
import type { IWords } from './words';

/** What the banner asks for. */
export interface ITrustEvents {
  strangers(): Promise<IStrangers>;
  /** Null if it was not done, which is told elsewhere. */
  trust(seen: string): Promise<IWritten | null>;
  failed(why: string): void;
  focusList(): void;
}

/** One line; its button opens a dialog in place, and nothing is trusted before that says so. */
export class TrustBanner {
  readonly node: HTMLElement;

  constructor(
    private readonly _events: ITrustEvents,
    private readonly _words: IWords
  ) {
    this._text = make('span', 'strangersText', { role: 'status' });
    this._open = button('trust', _words.__('Trust…'), () => {
      void this._ask();
    });
    this._slot = make('div', 'trustSlot');
    this.node = make('div', 'strangers', { hidden: '' }, [
      make('span', 'sign', { 'aria-hidden': 'true' }, ['⚠']),
      this._text,
      this._open,
      this._slot
    ]);
  }

  /** Say how many of these are somebody else's; nothing is shown if none is. */
  show(rows: readonly IRow[]): void {
    const count = rows.filter(row => !row.trusted).length;
    if (count === this._count) {
      return;
    }
    this._count = count;
    this.node.hidden = count === 0;
    this._text.textContent = this._words._n(
      '%1 checkpoint here is not known to be yours.',
      '%1 checkpoints here are not known to be yours.',
      count
    );
    if (count === 0) {
      this._close();
    }
  }

  /** While something is being done, nothing else can be asked for. */
  set disabled(disabled: boolean) {
    for (const each of this.node.querySelectorAll('button')) {
      each.disabled = disabled;
    }
  }

  private async _ask(): Promise<void> {
    if (this._slot.firstChild) {
      this._close();
      return;
    }
    this._open.disabled = true;
    try {
      this._tell(await this._events.strangers());
    } catch (error) {
      this._events.failed(error instanceof Error ? error.message : String(error));
    } finally {
      this._open.disabled = false;
    }
  }

  /** The dialog; the cautious answer has the focus. */
  private _tell(strangers: IStrangers): void {
    const words = this._words;
    const cancel = button('cancel', words.__('Cancel'), () => {
      this._close();
      this._open.focus();
    });
    const agree = button('submit', words.__('Trust'), () => {
      void this._trust(strangers.seen);
    });
    const title = words.__('Trust what is not known to be yours?');
    const dialog = make('div', 'trustDialog', { role: 'alertdialog', 'aria-label': title }, [
      make('div', 'formTitle', {}, [title]),
      make('p', 'hint', {}, [strangers.meaning]),
      make('pre', 'text', { tabindex: '0' }, [strangers.text]),
      make('div', 'formButtons', {}, [agree, cancel])
    ]);
    dialog.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        event.stopPropagation();
        cancel.click();
      }
    });
    this._slot.replaceChildren(dialog);
    this._open.setAttribute('aria-expanded', 'true');
    cancel.focus();
  }

  private async _trust(seen: string): Promise<void> {
    const written = await this._events.trust(seen);
    if (written) {
      this._close();
      this._events.focusList();
    }
  }

  private _close(): void {
    this._slot.replaceChildren();
    this._open.setAttribute('aria-expanded', 'false');
  }

  private readonly _text: HTMLElement;
  private readonly _open: HTMLButtonElement;
  private readonly _slot: HTMLElement;
  private _count = 0;
}
