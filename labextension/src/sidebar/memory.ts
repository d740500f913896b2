/** What the page remembers of notebooks that used nbckpt: enough to offer a resume. */

import type { IStateDB } from '@jupyterlab/statedb';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { KernelLink } from './kernellink';
import type { ILinked, Links } from './kernellinks';
import { asOffer, type IOffer } from './resumeplan';

/** Loops tell of their items four times a second; the kernel is asked at once, then once in so long. */
const EVERY_MS = 700;

/**
 * Asks each kernel about its checkpoints what a resume would bring back, and keeps the answer.
 *
 * When it is needed the kernel is dead, and nothing is loaded in the next one before the user says
 * so. It is kept by the notebook's path, and goes when the user unloads nbckpt there.
 */
export class Memory implements IDisposable {
  constructor(
    links: Links,
    private readonly _kept: IStateDB | null
  ) {
    links.forEach(linked => {
      this._follow(linked);
    });
    links.added.connect((_, linked) => {
      this._follow(linked);
    }, this);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** What a resume of a notebook would bring back; null where it never used nbckpt. */
  async recall(path: string): Promise<IOffer | null> {
    const key = keyOf(path);
    const here = this._here.get(key);
    if (here !== undefined) {
      return here;
    }
    try {
      return asOffer(await this._kept?.fetch(key));
    } catch {
      return null; // nothing there, or of another version
    }
  }

  dispose(): void {
    this._isDisposed = true;
    for (const timer of this._timers.values()) {
      clearTimeout(timer);
    }
    Signal.clearData(this);
  }

  private _follow({ panel, link }: ILinked): void {
    const { context } = panel;
    let path = context.path;
    let before = link.state;
    const ask = (): void => {
      link.ask('resume_plan', { cells: [] }, asOffer).then(
        offer => {
          this._keep(path, offer.checkpoint === null ? null : offer);
        },
        () => undefined // the kernel went away: what was known before it still holds
      );
    };
    link.changed.connect((_, what) => {
      if (link.state === 'ready' && what === 'state') {
        ask();
      } else if (link.state === 'ready' && what === 'rows') {
        this._soon(link, ask);
      } else if (before === 'ready' && link.state === 'not-loaded') {
        this._keep(path, null);
      }
      before = link.state;
    }, this);
    context.pathChanged.connect((_, renamed) => {
      void this._move(path, renamed);
      path = renamed;
    }, this);
  }

  /** Ask now, or when the last question is old enough: who dies right after that is remembered. */
  private _soon(link: KernelLink, ask: () => void): void {
    if (this._timers.has(link)) {
      this._owed.add(link);
      return;
    }
    ask();
    const due = (): void => {
      this._timers.delete(link);
      if (this._owed.delete(link)) {
        this._soon(link, ask);
      }
    };
    this._timers.set(link, setTimeout(due, EVERY_MS));
  }

  private async _move(from: string, to: string): Promise<void> {
    const known = await this.recall(from);
    if (known !== null) {
      this._keep(to, known);
      this._keep(from, null);
    }
  }

  private _keep(path: string, offer: IOffer | null): void {
    const key = keyOf(path);
    this._here.set(key, offer);
    // What cannot be restored is told by the plan that comes before a resume.
    const kept =
      offer === null ? this._kept?.remove(key) : this._kept?.save(key, { ...offer, refused: [] });
    // Where nothing can be written it holds for as long as this page lives.
    kept?.catch(() => undefined);
  }

  private readonly _here = new Map<string, IOffer | null>();
  /** Links of which more was told since they were asked. */
  private readonly _owed = new Set<KernelLink>();
  private readonly _timers = new Map<KernelLink, ReturnType<typeof setTimeout>>();
  private _isDisposed = false;
}

function keyOf(path: string): string {
  return `nbckpt:resume:${path}`;
}
