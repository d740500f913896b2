/** Offers to resume, where a kernel is new and its notebook has checkpoints. */

import { Dialog, Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { KernelLink, LinkState } from './kernellink';
import type { ILinked, Links } from './kernellinks';
import type { Memory } from './memory';
import type { IResumed, Resumes } from './resume';
import { offered, shortened, type IOffer } from './resumeplan';
import type { Settings } from './settings';

/** How long a word on what was done is shown. */
const TOLD_MS = 8000;
/** A kernel that starts may seem to do so twice; what is dismissed before it is drawn stays. */
const SETTLES_MS = 250;
/** From these, a kernel without nbckpt is one that has not been offered anything. */
const NEW: ReadonlySet<LinkState> = new Set(['starting', 'no-kernel', 'lost']);

/** What the offers are made of. */
export interface IOfferParts {
  links: Links;
  memory: Memory;
  resumes: Resumes;
  settings: Settings;
  trans: TranslationBundle;
  /** JupyterLab's own words. */
  lab: TranslationBundle;
}

interface IOpen {
  linked: ILinked;
  offer: IOffer;
  /** Of the notification; null where the notebook is not seen yet. */
  shown: string | null;
}

/**
 * Watches all notebooks. After a restart, a death or a reopening it offers to resume, once.
 *
 * Nothing is loaded or restored before a click, unless the user's settings say so: a store may have
 * come with a notebook from elsewhere.
 */
export class Offers implements IDisposable {
  constructor(private readonly _parts: IOfferParts) {
    const { links } = _parts;
    links.forEach(linked => {
      this._follow(linked);
    });
    links.added.connect((_, linked) => {
      this._follow(linked);
    }, this);
    links.currentChanged.connect(() => {
      this._show();
    }, this);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    for (const link of [...this._open.keys()]) {
      this._withdraw(link);
    }
    Signal.clearData(this);
  }

  /** Restore, and say what came of it. */
  async restore(linked: ILinked, once = false): Promise<void> {
    this._withdraw(linked.link);
    await this._tell(linked, this._parts.resumes.restore(linked, { once }));
  }

  /** The same, and run what is left, after a look at it. */
  async restoreAndRun(linked: ILinked, once = false): Promise<void> {
    this._withdraw(linked.link);
    await this._tell(linked, this._parts.resumes.restoreAndRun(linked, { once }));
  }

  private _follow(linked: ILinked): void {
    const { panel, link } = linked;
    let before: LinkState = 'starting';
    const look = (): void => {
      const { state } = link;
      if (state === 'not-loaded' && NEW.has(before)) {
        void this._consider(linked);
      } else if (state === 'ready' ? link.isSomewhere : NEW.has(state)) {
        this._withdraw(link);
      }
      before = state;
    };
    link.changed.connect((_, what) => {
      if (what === 'state' || what === 'status') {
        look();
      }
    }, this);
    panel.disposed.connect(() => {
      this._withdraw(link);
    }, this);
    look();
  }

  private async _consider(linked: ILinked): Promise<void> {
    const { memory, settings } = this._parts;
    const { panel, link } = linked;
    const turn = {};
    this._turns.set(link, turn);
    await settings.ready;
    const offer = await memory.recall(panel.context.path);
    await new Promise(done => setTimeout(done, SETTLES_MS));
    if (this._turns.get(link) !== turn) {
      return; // it was withdrawn, or another was begun
    }
    const isNew = link.state === 'not-loaded' || (link.state === 'ready' && !link.isSomewhere);
    if (!offer?.checkpoint || !isNew || settings.offerResume === 'never') {
      return;
    }
    if (settings.enable === 'never') {
      return;
    }
    this._withdraw(link);
    if (settings.offerResume === 'always') {
      await this._automatic(linked);
      return;
    }
    this._open.set(link, { linked, offer, shown: null });
    this._show();
  }

  /** Show the offers of notebooks that the user sees; the others when they are looked at. */
  private _show(): void {
    for (const open of this._open.values()) {
      if (open.shown === null && open.linked.panel.isVisible) {
        this._closeWordOfDeath();
        open.shown = this._notify(open);
      }
    }
  }

  private _notify({ linked, offer }: IOpen): string {
    const { trans } = this._parts;
    const name = shortened(linked.panel.title.label, 24);
    const what = offered(offer, Date.now() / 1000, trans);
    return Notification.info(trans.__('%1 has a new kernel. %2?', name, what), {
      autoClose: false,
      actions: [
        {
          label: trans.__('Resume'),
          caption: trans.__('Bring the variables back, and run nothing'),
          displayType: 'accent',
          callback: () => void this.restore(linked, true)
        },
        {
          label: trans.__('Resume and run the rest'),
          caption: trans.__('Show what would run, then bring the variables back and run it'),
          callback: () => void this.restoreAndRun(linked, true)
        }
      ]
    });
  }

  private async _automatic(linked: ILinked): Promise<void> {
    const { settings, resumes, trans } = this._parts;
    this._closeWordOfDeath();
    const resumed = await this._tell(linked, resumes.restore(linked, { once: true }), true);
    if (!resumed || resumed.rest.length === 0 || settings.afterResume === 'stop') {
      return;
    }
    if (settings.afterResume === 'run') {
      await resumes.run(linked.panel, resumed.rest);
      return;
    }
    const count = resumed.rest.length;
    Notification.info(trans._n('%1 cell has not run yet.', '%1 cells have not run yet.', count), {
      autoClose: TOLD_MS,
      actions: [
        {
          label: trans._n('Run it', 'Run them', count),
          callback: () => void resumes.run(linked.panel, resumed.rest)
        }
      ]
    });
  }

  /** Show what came of a resume; the resume, where it was done. */
  private async _tell(
    { panel }: ILinked,
    doing: Promise<IResumed | null>,
    isQuiet = false
  ): Promise<IResumed | null> {
    const name = shortened(panel.title.label, 24);
    try {
      const resumed = await doing;
      const error = resumed?.written.error ?? null;
      if (resumed && error === null) {
        Notification.success(`${name}: ${resumed.written.text}`, { autoClose: TOLD_MS });
        return resumed;
      }
      if (error !== null && !isQuiet) {
        Notification.warning(`${name}: ${error}`, { autoClose: false });
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      Notification.error(`${name}: ${why}`, { autoClose: false });
    }
    return null;
  }

  private _withdraw(link: KernelLink): void {
    const open = this._open.get(link);
    this._turns.delete(link);
    this._open.delete(link);
    if (open && open.shown !== null) {
      Notification.dismiss(open.shown);
    }
  }

  /** JupyterLab says in front of everything that the kernel died: the offer says it, too. */
  private _closeWordOfDeath(): void {
    const title = this._parts.lab.__('Kernel Restarting');
    Dialog.tracker.forEach(dialog => {
      if (dialog.node.querySelector('.jp-Dialog-header')?.textContent === title) {
        dialog.reject();
      }
    });
  }

  private readonly _turns = new WeakMap<KernelLink, object>();
  private readonly _open = new Map<KernelLink, IOpen>();
  private _isDisposed = false;
}
