/** One line that says what is being done, what was done, or why not. */

import type { IBusy, IWritten } from '../records';
import { button, cross, make } from './dom';
import type { IWords } from './words';

/** The status line, and the one verb that runs at a time. */
export class Notice {
  readonly node: HTMLElement;

  constructor(
    private readonly _setDisabled: (disabled: boolean) => void,
    private readonly _words: IWords,
    private readonly _interrupt?: () => Promise<void>
  ) {
    this.node = make('div', 'notice', { role: 'status', 'aria-live': 'polite' });
  }

  /** Say `text`, with a button for what may follow from it; nothing more is said after the end. */
  tell(text: string, kind: 'done' | 'error' | 'waiting', next?: HTMLElement): void {
    if (this._isOver) {
      return;
    }
    this._isError = kind === 'error';
    this._draw(text, kind, next);
  }

  private _draw(
    text: string,
    kind: 'done' | 'error' | 'waiting',
    next: HTMLElement | null = null
  ): void {
    const sign = { done: '', error: '✕', waiting: '' }[kind];
    const classes = { done: 'is-done', error: 'is-error', waiting: 'is-waiting' };
    const mark =
      kind === 'waiting'
        ? make('span', 'spinner', { 'aria-hidden': 'true' })
        : make('span', 'sign', { 'aria-hidden': 'true' }, [sign]);
    this._place = null;
    this.node.className = `nbckpt-Timeline-notice nbckpt-${classes[kind]}`;
    this.node.replaceChildren(
      ...(text === ''
        ? []
        : [
            mark,
            make('span', 'noticeText', {}, [text]),
            ...(next ? [next] : []),
            ...(this._isOver ? [] : [kind === 'waiting' ? this._stopWaiting() : this._dismiss()])
          ])
    );
  }

  /** The kernel is gone: `why` stays, and nothing can be asked for any more. */
  end(why: string): void {
    this._isOver = true;
    this._stop();
    this._draw(why, 'error');
    this._setDisabled(true);
  }

  /** The user turns to something else: an error of before is of no interest any more. */
  leave(): void {
    if (this._isError && this._doing === null) {
      this.tell('', 'done');
    }
  }

  /** What was told last is of interest only as long as the session stands at `place`. */
  keepWhileAt(place: string | null): void {
    this._place = place;
    this._isThere = place === this._at; // the view may have heard of it before
  }

  /** The session stands at `place`, as far as the view has heard. */
  moved(place: string | null): void {
    this._at = place;
    if (this._place === null) {
      return;
    }
    if (place === this._place) {
      this._isThere = true;
    } else if (this._isThere) {
      this.tell('', 'done');
    }
  }

  /** Whether nothing can be asked for now: a verb waits for its answer, or the kernel is gone. */
  get isClosed(): boolean {
    return this._doing !== null || this._isOver;
  }

  /**
   * Ask for something that changes the kernel; nothing else can be asked for until it is answered.
   *
   * @param refused - says why it was not done, and whether it could; else that is said here
   * @returns what the kernel said; null if it refused, which is told, or if nobody waits any more
   */
  async perform(
    what: string,
    ask: () => Promise<IWritten>,
    refused: (why: string) => boolean = () => false
  ): Promise<IWritten | null> {
    if (this.isClosed) {
      return null;
    }
    this._doing = what;
    this._waits = '';
    this._setDisabled(true);
    this.refresh(this._busy);
    try {
      const stopped = new Promise<null>(stop => {
        this._stop = () => {
          stop(null);
        };
      });
      const written = await Promise.race([ask(), stopped]);
      if (written === null) {
        this.tell(this._words.__('%1: the kernel may still do it.', what), 'done');
        return null;
      }
      this.tell(written.error ?? written.text, written.error === null ? 'done' : 'error');
      if (written.error !== null) {
        this.keepWhileAt(written.status?.position ?? this._at);
      }
      return written;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.tell(refused(why) ? '' : why, 'error');
      this.keepWhileAt(this._at);
      return null;
    } finally {
      this._doing = null;
      this._setDisabled(this._isOver);
    }
  }

  /** Another cell runs, or none: what waits for it says so. */
  refresh(busy: IBusy | null): void {
    this._busy = busy;
    if (this._doing === null) {
      return;
    }
    const waits = busy && this._waits === '' ? waitsFor(busy, this._words) : this._waits;
    const text = waits === '' ? this._words.__('%1 …', this._doing) : `${this._doing}: ${waits}`;
    if (this.node.querySelector('.nbckpt-Timeline-noticeText')?.textContent !== text) {
      this.tell(text, 'waiting', busy && this._interrupt ? this._interruptButton() : undefined);
    }
  }

  /** The kernel itself says what the verb waits for. */
  wait(text: string): void {
    this._waits = text;
    this.refresh(this._busy);
  }

  /** Ends the cell, so that what waits for it is done at once. */
  private _interruptButton(): HTMLElement {
    const interrupt = button('interrupt', this._words.__('Interrupt it'), () => {
      interrupt.disabled = true;
      this._interrupt?.().catch((error: unknown) => {
        this.tell(error instanceof Error ? error.message : String(error), 'error');
      });
    });
    return interrupt;
  }

  private _stopWaiting(): HTMLElement {
    return cross('dismiss', this._words.__('Stop waiting for the kernel'), () => this._stop());
  }

  private _dismiss(): HTMLElement {
    return cross('dismiss', this._words.__('Dismiss'), () => {
      this.tell('', 'done');
    });
  }

  private _doing: string | null = null;
  private _waits = '';
  private _stop: () => void = () => undefined;
  private _busy: IBusy | null = null;
  private _place: string | null = null;
  private _isThere = false;
  private _isError = false;
  private _isOver = false;
  private _at: string | null = null;
}

/** Why an answer is not there yet. */
export function waitsFor(busy: IBusy, words: IWords): string {
  return busy.name === ''
    ? words.__('waits for the running cell')
    : words.__("waits for the running cell '%1'", busy.name);
}
