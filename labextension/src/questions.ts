/** Questions to the kernel by message, and the answers to them by number. */

import { asAnswer } from './checks';
import { checked, type Check } from './shapes';

/** Seconds without a sign of life after which a reading question is given up. */
export const PATIENCE_S = 30;

interface IWaiting {
  settle: (result: unknown) => void;
  fail: (error: Error) => void;
  /** Infinite for what changes the kernel: a rerun takes as long as its cells. */
  patience_s: number;
  left_s: number;
}

/** How questions get to the kernel, and what is known of it meanwhile. */
export interface IWire {
  send(message: object): void;
  /** Whether a cell runs, for which a kernel may let its answers wait. */
  isBusy(): boolean;
  /** An answer takes a while, for the reason given. */
  waits(text: string): void;
  /** What a user does about a kernel that no longer answers. */
  remedy: string;
}

/**
 * Asks by message and knows its answers by their number.
 *
 * A kernel that runs a cell answers after it, so the clock stands still while the wire says that it
 * is busy, and starts again at every sign of life (`heard`).
 */
export class Questions {
  constructor(private readonly _wire: IWire) {}

  /** Ask; what comes back is put through `check`. */
  ask<T>(op: string, args: object, check: Check<T>, patience_s = PATIENCE_S): Promise<T> {
    if (this._end !== '') {
      return Promise.reject(new Error(this._end));
    }
    const id = this._next++;
    const answer = new Promise<unknown>((settle, fail) => {
      this._waiting.set(id, { settle, fail, left_s: patience_s, patience_s });
    });
    this._timer ??= setInterval(() => {
      this._tick();
    }, 1000);
    try {
      this._wire.send({ id, op, args });
    } catch (error) {
      this._forget(id);
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
    return answer.then(result => checked(check, result, op));
  }

  /** A message has come: an answer, word that it takes a while, another view's, or something else. */
  receive(message: unknown): void {
    this.heard();
    const answer = asAnswer(message);
    const waiting = answer && this._waiting.get(answer.id);
    if (!answer || !waiting) {
      return;
    }
    if (answer.waits !== null) {
      this._wire.waits(answer.waits);
      return;
    }
    this._forget(answer.id);
    if (answer.ok) {
      waiting.settle(answer.result);
    } else {
      waiting.fail(new Error(answer.error));
    }
  }

  /** The kernel lives: every wait begins anew. */
  heard(): void {
    for (const waiting of this._waiting.values()) {
      waiting.left_s = waiting.patience_s;
    }
  }

  /** Nobody will ever answer again, for the reason given: what is asked later is refused. */
  end(why: string): void {
    this._end = why;
    this.giveUp(why);
  }

  /** Nobody will answer what was asked, for the reason given. */
  giveUp(why: string): void {
    for (const [id, waiting] of [...this._waiting]) {
      this._forget(id);
      waiting.fail(new Error(why));
    }
  }

  private _tick(): void {
    if (this._wire.isBusy()) {
      return;
    }
    for (const [id, waiting] of [...this._waiting]) {
      waiting.left_s -= 1;
      if (waiting.left_s <= 0) {
        this._forget(id);
        waiting.fail(
          new Error(
            `the kernel did not answer within ${waiting.patience_s} s; ${this._wire.remedy}`
          )
        );
      }
    }
  }

  private _forget(id: number): void {
    this._waiting.delete(id);
    if (this._waiting.size === 0 && this._timer !== undefined) {
      clearInterval(this._timer);
      this._timer = undefined;
    }
  }

  private readonly _waiting = new Map<number, IWaiting>();
  private _end = '';
  private _timer: ReturnType<typeof setInterval> | undefined;
  // Answers reach every view of a model, so that two views must not count alike.
  private _next = Math.floor(Math.random() * 2 ** 40);
}
