/** What the page knows of one notebook's kernel, and how it asks and changes it. */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import { type ISignal, Signal } from '@lumino/signaling';
import type { IWritten } from '../records';
import type { Check } from '../shapes';
import type { LinkState } from './connected';
import { Connection } from './connection';
import type { End, IEnded } from './ended';
import { asHello, isClosing, newsIn, type INews, type Marks } from './kernelnews';
import { AbortedError, execute, write } from './executerequests';
import { withRemedy } from './loaderrors';

export type { LinkState } from './connected';

/** What is new. */
export type Change = 'state' | 'rows' | 'status' | 'marks' | 'approvals';

/** The last news of a kernel that is gone. */
export interface ILast {
  news: INews;
  ended: IEnded;
}

/** How long nbckpt may take to introduce itself once it is loaded. */
const LOADING_MS = 20_000;
/** How often, and after how long, what our own interrupt threw away is asked for again. */
const AGAIN = 5;
const AGAIN_MS = 150;

/**
 * One link for each session: what its kernel told last, questions to it, and changes in it.
 *
 * Whether a cell runs is told by `status`, never by the kernel's own state, which the answer of a
 * subshell sets to idle in the midst of a cell.
 */
export class KernelLink implements IDisposable {
  /**
   * @param _policy - what `%nbckpt auto` is to be where the page loads nbckpt; empty: as it is
   */
  constructor(
    readonly context: ISessionContext,
    private readonly _policy: () => string = () => ''
  ) {
    this._connection = new Connection(context, {
      became: (state, problem) => {
        this._become(state, problem);
      },
      ended: how => {
        this._end(how);
      },
      heard: data => {
        this._hear(data);
      },
      greet: () => this._greet(),
      isBusy: () => this.isBusy
    });
    context.disposed.connect(() => {
      this.dispose();
    }, this);
    this._connection.begin();
  }

  get state(): LinkState {
    return this._state;
  }

  /** What is wrong where the state is `lost`. */
  get problem(): string {
    return this._problem;
  }

  /** The state, or one of the members of `news`, is another. */
  get changed(): ISignal<this, Change> {
    return this._changed;
  }

  /** What the kernel told last; null until it has told all. */
  get news(): INews | null {
    return this._news;
  }

  /** Whether a session has begun: somebody resumed it, or ran a cell of it. */
  get isSomewhere(): boolean {
    return (this.status?.position ?? null) !== null;
  }

  /** News of a kernel that is gone, until the next one stands somewhere. */
  get last(): ILast | null {
    return this._last;
  }

  get rows(): INews['rows'] {
    return this._news?.rows ?? [];
  }

  get older(): number {
    return this._news?.older ?? 0;
  }

  get status(): INews['status'] | null {
    return this._news?.status ?? null;
  }

  get marks(): INews['marks'] {
    return (this._news ?? this._last?.news)?.marks ?? {};
  }

  get approvals(): INews['approvals'] {
    return this._news?.approvals ?? [];
  }

  /** Whether a cell runs, as the kernel says. */
  get isBusy(): boolean {
    return (this.status?.busy ?? null) !== null;
  }

  get isDisposed(): boolean {
    return this._connection.isDisposed;
  }

  /** Ask what changes nothing; answered while cells run, where the kernel has subshells. */
  ask<T>(op: string, args: object, check: Check<T>, patience_s?: number): Promise<T> {
    return this._connection.questions.ask(op, args, check, patience_s);
  }

  /**
   * Have something changed, on the kernel's main thread and after the cells that run or wait.
   *
   * @throws AbortedError if a cell before it failed
   */
  async write(op: string, args: object): Promise<IWritten> {
    const interrupts = this._interrupts;
    for (let time = 1; ; time++) {
      try {
        const written = await write(this._kernel, op, args);
        const { status } = written;
        if (status && this._news) {
          this._tell({ ...this._news, status }, { status });
        }
        return written;
      } catch (error) {
        // Our interrupt ended the cell for the sake of what it then threw away.
        const isOurs = interrupts !== this._interrupts;
        if (!(error instanceof AbortedError) || !isOurs || time > AGAIN) {
          throw error;
        }
        await new Promise(done => setTimeout(done, AGAIN_MS));
      }
    }
  }

  /** Load nbckpt into the kernel, out of sight; done when it can be asked. */
  async load(): Promise<void> {
    if (this._state !== 'ready') {
      try {
        const policy = this._policy();
        const auto = policy === '' ? '' : `\n%nbckpt auto ${policy}`;
        await execute(this._kernel, `%load_ext nbckpt${auto}`);
      } catch (error) {
        throw withRemedy(error);
      }
      await this._untilReady();
    }
  }

  /** Interrupt the cell that runs; what waits to be written after it is written then. */
  async interrupt(): Promise<void> {
    this._interrupts++;
    await this._kernel.interrupt();
  }

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._connection.dispose();
    Signal.clearData(this);
  }

  private get _kernel(): Kernel.IKernelConnection {
    const kernel = this._connection.kernel;
    if (kernel === null) {
      throw new Error('this notebook has no kernel: choose one first');
    }
    return kernel;
  }

  private _become(state: LinkState, problem: string): void {
    const isSame = state === this._state && problem === this._problem;
    this._state = state;
    this._problem = problem;
    if (state !== 'ready' && state !== 'loading') {
      this._news = null;
    }
    if (!isSame) {
      this._changed.emit('state');
    }
  }

  /** Remember what was there; a second end, of a kernel that told nothing, changes nothing. */
  private _end(how: End | null): void {
    if (how === null) {
      this._last = null;
    } else if (this._news !== null && (this._last === null || this.isSomewhere)) {
      const { status, marks } = this._news;
      const { busy } = status;
      const ended = { how, at: Date.now() / 1000, busy };
      const news = { ...this._news, status: { ...status, busy: null }, marks: still(marks) };
      this._last = { news, ended };
    } else if (this._last !== null && how === 'died') {
      this._last = { ...this._last, ended: { ...this._last.ended, how } };
    }
  }

  private _hear(data: unknown): void {
    try {
      if (isClosing(data)) {
        this._connection.unloaded();
      } else if (this._news !== null) {
        const news = newsIn(data, this._news);
        if (news === null) {
          void this._greet().catch(() => undefined);
        } else {
          this._tell({ ...this._news, ...news }, news);
        }
      } // else the greeting, which tells all, is on its way
    } catch (error) {
      this._become('lost', error instanceof Error ? error.message : String(error));
    }
  }

  private async _greet(): Promise<void> {
    // Without a subshell it is answered after the cell that loads nbckpt, however long that takes.
    const hello = await this.ask('hello', {}, asHello, Infinity);
    this._tell(hello, hello);
  }

  private _tell(all: INews, news: Partial<INews>): void {
    this._news = all;
    if (this.isSomewhere) {
      this._last = null;
    }
    for (const member of MEMBERS) {
      if (member in news) {
        this._changed.emit(member);
      }
    }
  }

  private _untilReady(): Promise<void> {
    return new Promise((done, fail) => {
      const look = (): void => {
        if (this._state === 'ready') {
          stop(done);
        } else if (this._state === 'lost' || this._state === 'no-kernel') {
          stop(() => {
            fail(new Error(this._problem || 'the kernel is gone'));
          });
        }
      };
      const stop = (then: () => void): void => {
        clearTimeout(timer);
        this._changed.disconnect(look);
        then();
      };
      const timer = setTimeout(() => {
        stop(() => {
          fail(new Error('nbckpt is loaded, but does not answer: restart the kernel'));
        });
      }, LOADING_MS);
      this._changed.connect(look);
      look();
    });
  }

  private readonly _connection: Connection;
  private readonly _changed = new Signal<this, Change>(this);
  private _state: LinkState = 'starting';
  private _problem = '';
  private _news: INews | null = null;
  private _last: ILast | null = null;
  private _interrupts = 0;
}

/** Marks without any of a cell that runs: its kernel is gone. */
function still(marks: Marks): Marks {
  return Object.fromEntries(
    Object.entries(marks).map(([id, mark]) => [
      id,
      mark.state === 'running'
        ? { ...mark, state: 'stale' as const, why: 'the kernel ended' }
        : mark
    ])
  );
}

const MEMBERS: readonly Exclude<Change, 'state'>[] = ['rows', 'status', 'marks', 'approvals'];
