/**
 * Messages that count once, however often they are sent.
 *
 * JupyterLab has a comm's messages answered beside the running cell by a subshell, which it begins
 * as the widget comes; what is sent before it has begun waits until the cell has ended. A cell that
 * waits for that message never ends: so it is sent again until the kernel says that it came.
 */

/** How long the first answer is waited for; each further wait is twice as long. */
export const SOON_MS = 150;
/** How often a message is sent, some ten seconds in all. */
export const TIMES = 7;

/** What carries the messages. */
export interface IWire {
  send(message: object): void;
}

/** Sends messages until they are said to have come. */
export class Delivery {
  private readonly _waiting = new Map<string, number>();
  /** Of this view alone: a widget may be shown twice, and each view counts from one. */
  private readonly _own = Math.random().toString(36).slice(2);
  private _last = 0;

  constructor(private readonly _wire: IWire) {}

  /** Send a message; `onSilence` is called if the kernel has said nothing to all of its copies. */
  send(message: object, onSilence: () => void = () => undefined): void {
    const number = `${this._own}-${++this._last}`;
    this._try({ ...message, number }, number, 0, onSilence);
  }

  /** Whether what came says that a message came: it is sent no more. */
  receive(message: unknown): boolean {
    if (typeof message !== 'object' || message === null || !('came' in message)) {
      return false;
    }
    const number = String(message.came);
    window.clearTimeout(this._waiting.get(number));
    this._waiting.delete(number);
    return true;
  }

  /** Send nothing more. */
  dispose(): void {
    for (const timer of this._waiting.values()) {
      window.clearTimeout(timer);
    }
    this._waiting.clear();
  }

  private _try(message: object, number: string, sent: number, onSilence: () => void): void {
    if (sent === TIMES) {
      this._waiting.delete(number);
      onSilence();
      return;
    }
    const next = (): void => {
      this._try(message, number, sent + 1, onSilence);
    };
    // Before it is sent: a host without a kernel between may answer at once.
    this._waiting.set(number, window.setTimeout(next, SOON_MS * 2 ** sent));
    try {
      this._wire.send(message);
    } catch {
      // The kernel died meanwhile, and the widget's comm with it: nobody will say that it came.
      window.clearTimeout(this._waiting.get(number));
      this._waiting.delete(number);
      onSilence();
    }
  }
}
