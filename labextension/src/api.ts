/** The questions to the kernel, one typed function each; the only file that knows the messages. */

import { asAnswer, asDetails, asDifference, asWritten } from './checks';
import type { IDetails, IDifference, IWritten } from './records';
import { checked, type Check } from './shapes';
import type { IVerbs } from './timeline/verbs';

/** Seconds without a sign of life after which a reading question is given up. */
export const PATIENCE_S = 30;

interface IWaiting {
  settle: (result: unknown) => void;
  fail: (error: Error) => void;
  /** Infinite for what changes the kernel: a rerun takes as long as its cells. */
  patience_s: number;
  left_s: number;
}

/**
 * Asks by message and knows its answers by their number.
 *
 * A kernel that runs a cell answers after it, so the clock stands still while `isBusy` says so, and
 * starts again at every sign of life (`heard`).
 */
export class Kernel implements IVerbs {
  constructor(
    private readonly _send: (message: object) => void,
    private readonly _isBusy: () => boolean,
    private readonly _onWaits: (text: string) => void
  ) {}

  details(ref: string): Promise<IDetails> {
    return this._ask('details', { ref }, asDetails, PATIENCE_S);
  }

  diff(a: string, b: string): Promise<IDifference> {
    return this._ask('diff', { a, b }, asDifference, PATIENCE_S);
  }

  rewind(ref: string): Promise<IWritten> {
    return this._write('rewind', { ref });
  }

  fork(
    ref: string,
    branch: string | null,
    values: Readonly<Record<string, string>>
  ): Promise<IWritten> {
    return this._write('fork', { ref, branch, values });
  }

  rerun(ref: string, options: { everything: boolean; fresh: boolean }): Promise<IWritten> {
    return this._write('rerun', { ref, ...options });
  }

  switch(branch: string): Promise<IWritten> {
    return this._write('switch', { branch });
  }

  tag(ref: string, tag: string): Promise<IWritten> {
    return this._write('tag', { ref, tag });
  }

  untag(ref: string, tag: string): Promise<IWritten> {
    return this._write('untag', { ref, tag });
  }

  note(ref: string, note: string): Promise<IWritten> {
    return this._write('note', { ref, note });
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
      this._onWaits(answer.waits);
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

  /** Nobody looks at the answers any more. */
  dispose(): void {
    for (const [id, waiting] of [...this._waiting]) {
      this._forget(id);
      waiting.fail(new Error('the timeline was closed'));
    }
  }

  private _write(op: string, args: object): Promise<IWritten> {
    return this._ask(op, args, asWritten, Infinity);
  }

  private _ask<T>(op: string, args: object, check: Check<T>, patience_s: number): Promise<T> {
    const id = this._next++;
    const answer = new Promise<unknown>((settle, fail) => {
      this._waiting.set(id, { settle, fail, left_s: patience_s, patience_s });
    });
    this._timer ??= setInterval(() => {
      this._tick();
    }, 1000);
    this._send({ id, op, args });
    return answer.then(result => checked(check, result, op));
  }

  private _tick(): void {
    if (this._isBusy()) {
      return;
    }
    for (const [id, waiting] of [...this._waiting]) {
      waiting.left_s -= 1;
      if (waiting.left_s <= 0) {
        this._forget(id);
        waiting.fail(
          new Error(
            `the kernel did not answer within ${waiting.patience_s} s; ` +
              'if it was restarted, run %timeline again'
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
  private _timer: ReturnType<typeof setInterval> | undefined;
  // Answers reach every view of a model, so that two views must not count alike.
  private _next = Math.floor(Math.random() * 2 ** 40);
}
