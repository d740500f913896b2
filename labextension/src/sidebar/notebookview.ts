/** The part of the panel that belongs to one notebook: its timeline, or why there is none. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { make } from '../timeline/dom';
import type { IWords } from '../timeline/words';
import { TimelineView } from '../timeline/view';
import type { Cache, IKept } from './cache';
import { EndedCard, type IWaysOn } from './endedcard';
import type { ILinked } from './kernellinks';
import type { INews } from './kernelnews';
import type { IOffer } from './resumeplan';
import type { Settings } from './settings';
import { type IPlight, type Remedy, stateNode } from './states';
import { type IPageVerbs, NotebookVerbs } from './verbs';

/** What all notebooks' views share. */
export interface IShared {
  words: IWords;
  cache: Cache;
  page: IPageVerbs | null;
  /** What a resume of a notebook would bring back; null where it never used nbckpt. */
  recall(path: string): Promise<IOffer | null>;
  /** Bring a notebook's variables back. */
  resumes: IResumeVerbs;
  settings: Settings;
  /** Do what a button says that concerns the application. */
  act(remedy: Remedy, linked: ILinked): void;
}

/** How a notebook is brought back in a new kernel; each says itself what came of it. */
export interface IResumeVerbs {
  restore(linked: ILinked, once: boolean): Promise<void>;
  restoreAndRun(linked: ILinked, once: boolean): Promise<void>;
}

/** Draws into `node`, whenever it is asked to; selection and scroll position stay with it. */
export class NotebookView implements IDisposable {
  readonly node = make('div', 'sideNotebook');

  /**
   * @param _changed - called when there is something else to draw
   */
  constructor(
    readonly linked: ILinked,
    private readonly _shared: IShared,
    private readonly _changed: () => void
  ) {
    const { link } = linked;
    link.changed.connect((_, change) => {
      if (change !== 'marks' && change !== 'approvals') {
        this._heard();
      }
      if (change === 'state') {
        this._refused = ''; // of another kernel, or of before
        this._recall();
      }
    }, this);
    link.context.propertyChanged.connect((_, property) => {
      if (property === 'path') {
        _shared.cache.rename(this._path, link.context.path);
        this._path = link.context.path;
      }
    }, this);
    this._path = link.context.path;
    this._verbs = new NotebookVerbs(linked, _shared.page, _shared.words);
    void _shared.cache.of(this._path).then(kept => {
      this._kept = kept;
      _changed();
    });
    this._recall();
    _shared.settings.changed.connect(() => {
      _changed();
    }, this);
  }

  /** The timeline, where there is one. */
  get timeline(): TimelineView | null {
    return this._timeline;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Draw what is known now. */
  draw(): void {
    const { link } = this.linked;
    const { news, state } = link;
    if (news !== null && (state === 'ready' || state === 'loading')) {
      this._list(link.isSomewhere ? null : this._ended(link.last?.news ?? news));
      this._show(news);
      return;
    }
    const known = link.last?.news ?? this._kept;
    const isComing = state === 'starting' || state === 'loading';
    const isOffered = link.last !== null || !isComing || this._card?.isDoing === true;
    const card = known && isOffered ? this._ended(known) : null;
    if (known && card) {
      this._list(card);
      this._show(known);
      return;
    }
    const kept = this._wasReady ? null : this._kept;
    if (kept && (state === 'starting' || state === 'loading')) {
      this._list(this._stale(kept));
      this._show(kept);
      return;
    }
    this._say({
      kind: state === 'ready' ? 'loading' : state,
      problem: link.problem,
      isDoing: this._isDoing,
      refused: this._refused,
      everywhere: this._shared.settings.enable
    });
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    Signal.clearData(this);
    this._timeline?.dispose();
    this._card?.dispose();
    this.node.remove();
  }

  private _heard(): void {
    const { news, state } = this.linked.link;
    if (state === 'ready' && news !== null) {
      this._wasReady = true;
      this._refused = '';
      this._shared.cache.keep(this._path, news);
    }
    this._changed();
  }

  private _recall(): void {
    const turn = ++this._turn;
    void this._shared.recall(this._path).then(offer => {
      if (turn === this._turn) {
        this._offer = offer;
        this._changed();
      }
    });
  }

  /** The card about a kernel that is gone; null where nothing could be brought back. */
  private _ended({ rows, status }: INews | IKept): HTMLElement | null {
    const { link } = this.linked;
    const isLost = link.state === 'lost' && link.last === null; // of another version, say
    if (!this._offer?.checkpoint || isLost || this._dismissed === this._ending()) {
      return null;
    }
    this._card ??= new EndedCard(this._waysOn(), this._shared.words);
    this._card.show({
      ended: link.last?.ended ?? null,
      rows,
      here: status.position ?? status.head,
      offer: this._offer,
      obstacle: this._obstacle(),
      hasKernel: link.state !== 'no-kernel',
      isLoaded: link.state === 'ready'
    });
    return this._card.node;
  }

  /** Tells one kernel's end from another's. */
  private _ending(): number {
    return this.linked.link.last?.ended.at ?? 0;
  }

  private _obstacle(): string {
    const { words } = this._shared;
    const { link } = this.linked;
    if (link.state === 'no-kernel') {
      return words.__('The notebook has no kernel now.');
    }
    return link.state === 'lost' ? link.problem : '';
  }

  private _waysOn(): IWaysOn {
    const { linked } = this;
    const { resumes } = this._shared;
    return {
      resume: () => resumes.restore(linked, true),
      resumeAndRun: () => resumes.restoreAndRun(linked, true),
      enable: () => linked.link.load(),
      dismiss: () => {
        this._dismissed = this._ending();
        this._changed();
      },
      getKernel: () => {
        this._shared.act(linked.link.state === 'no-kernel' ? 'choose-kernel' : 'restart', linked);
      }
    };
  }

  private _show(told: INews | IKept): void {
    if (told !== this._told) {
      this._told = told;
      this._timeline?.show(told.rows, told.status, told.older);
    }
  }

  /** Show the timeline, below `banner`. */
  private _list(banner: HTMLElement | null = null): void {
    if (!this._timeline) {
      this._host = make('div', 'sideHost');
      this._timeline = new TimelineView(this._host, this._verbs, this._shared.words);
    }
    const wanted = [banner, this._host].filter(each => each !== null);
    // To put in again what is there would cost it its scroll position and the focus.
    const isThere = wanted.every((each, at) => this.node.childNodes[at] === each);
    if (!isThere || this.node.childElementCount !== wanted.length) {
      this.node.replaceChildren(...wanted);
    }
    this._said = '';
  }

  private _say(plight: IPlight): void {
    const mark = JSON.stringify(plight);
    if (mark !== this._said) {
      this._said = mark;
      const act = (remedy: Remedy): void => {
        this._act(remedy);
      };
      this.node.replaceChildren(stateNode(plight, this._shared.words, act));
    }
  }

  /** Above a list that is not of now. */
  private _stale(kept: IKept): HTMLElement {
    const { words } = this._shared;
    const time = new Date(kept.at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    const text = words.__('The kernel is busy: this is the list of %1.', time);
    const interrupt = make('button', 'interrupt', { type: 'button' }, [words.__('Interrupt it')]);
    interrupt.addEventListener('click', () => {
      this._act('interrupt');
    });
    return make('div', 'sideBanner', { role: 'status' }, [make('span', '', {}, [text]), interrupt]);
  }

  private _act(remedy: Remedy): void {
    const { link } = this.linked;
    if (remedy === 'enable') {
      void this._do(() => link.load());
    } else if (remedy === 'enable-everywhere') {
      void this._do(async () => {
        await this._shared.settings.choose('enable', 'always');
        await link.load();
      });
    } else if (remedy === 'interrupt') {
      void this._do(() => link.interrupt());
    } else {
      this._shared.act(remedy, this.linked);
    }
  }

  private async _do(act: () => Promise<void>): Promise<void> {
    this._isDoing = true;
    this._refused = '';
    this._changed();
    try {
      await act();
    } catch (error) {
      this._refused = error instanceof Error ? error.message : String(error);
    } finally {
      this._isDoing = false;
      this._changed();
    }
  }

  private readonly _verbs: NotebookVerbs;
  private _timeline: TimelineView | null = null;
  private _card: EndedCard | null = null;
  private _offer: IOffer | null = null;
  private _dismissed: number | null = null;
  /** What was recalled in an earlier turn is no longer wanted. */
  private _turn = 0;
  private _host: HTMLElement | null = null;
  private _path: string;
  private _kept: IKept | null = null;
  private _told: INews | IKept | null = null;
  private _wasReady = false;
  private _isDoing = false;
  private _refused = '';
  private _said = '';
  private _isDisposed = false;
}
