/** The timeline: a list of checkpoints, and beside or below it what can be done with them. */

import type { IRow, IStatus } from '../records';
import type { IAction } from './actions';
import { KernelClock } from './clock';
import { make } from './dom';
import { emptyContent } from './empty';
import { listed, type IFilter, type IListed } from './filter';
import { Glances } from './glances';
import type { Verb } from './keys';
import { ListView } from './list';
import type { IPlace } from './menu';
import { Notice } from './notice';
import { Pane } from './pane';
import { Reader } from './reader';
import { RowMenu } from './rowmenu';
import style from './style.css';
import { Toolbar } from './toolbar';
import { Tasks } from './tasks';
import { TrustBanner } from './trust';
import { Variables } from './variables';
import type { IVerbs } from './verbs';
import { ENGLISH, type IWords } from './words';

/** From this width on the pane stands beside the list. */
const WIDE_PX = 720;
/** Ages are in minutes. */
const AGES_S = 20;

/** Draws rows into `host` and says through `verbs` what was clicked. */
export class TimelineView {
  constructor(
    host: HTMLElement,
    verbs: IVerbs,
    private readonly _words: IWords = ENGLISH
  ) {
    this._toolbar = new Toolbar(filter => {
      this._filter = filter;
      this._relist();
    }, _words);
    this._glances = new Glances(
      ids => verbs.glances(ids),
      () => this._list.refill()
    );
    this._list = new ListView(
      {
        selected: (first, second) => this._select(first, second),
        verb: verb => this._key(verb),
        menu: place => this._openMenu(null, place)
      },
      this._glances,
      _words
    );
    this._notice = new Notice(
      disabled => this._disable(disabled),
      _words,
      verbs.interrupt && (() => verbs.interrupt?.() ?? Promise.resolve())
    );
    this._pane = new Pane(
      {
        verb: verb => (verb === 'compare' ? this._compare() : this._tasks.do(verb)),
        untag: tag => this._tasks.untag(tag),
        switchTo: branch => this._tasks.switchTo(branch),
        more: (actions, place) => this._openMenu(actions, place),
        close: () => {
          this._list.select(null);
          this._select(null, null);
          this._list.node.focus();
        }
      },
      _words
    );
    this._reader = new Reader(this._pane, verbs, _words, name => void this._variables.open(name));
    this._tasks = new Tasks(
      {
        subject: () => this._subject[0] ?? null,
        branches: () => [...new Set(this._rows.flatMap(row => [row.branch, ...row.heads]))],
        reveal: id => this._reveal(id),
        showInstead: content => this._reader.instead(content, this._subject),
        focusList: () => this._list.node.focus()
      },
      { pane: this._pane, notice: this._notice, reader: this._reader },
      verbs,
      _words
    );
    this._variables = new Variables(
      {
        subject: () => this.selected,
        now: () => this._clock.now,
        showInstead: content => this._reader.instead(content, this._subject),
        showSubject: () => this._reader.again(this._subject),
        reveal: id => this._reveal(id),
        restore: (variable, ref) => this._tasks.restore(variable, ref)
      },
      verbs,
      _words
    );
    this._trust = new TrustBanner(
      {
        strangers: () => verbs.strangers(),
        trust: seen => this._notice.perform(_words.__('Trust'), () => verbs.trust(seen)),
        failed: why => {
          this.tell(why, true);
        },
        focusList: () => this._list.node.focus()
      },
      _words
    );
    this._empty = make('p', 'empty', { hidden: '' });
    this._root = make('div', 'root', { 'data-lm-suppress-shortcuts': 'true', role: 'region' }, [
      make('style', '', {}, [style]),
      this._toolbar.node,
      this._trust.node,
      make('div', 'columns', {}, [
        make('div', 'listColumn', {}, [this._list.head, this._list.node, this._empty]),
        this._pane.node
      ]),
      this._notice.node
    ]);
    this._menu = new RowMenu(this._root, this._tasks, () => this._compare(), _words);
    this._root.setAttribute('aria-label', _words.__('Timeline of checkpoints'));
    host.append(this._root);
    this._observer = new ResizeObserver(() => this._resized());
    this._observer.observe(this._root);
    this._observer.observe(this._list.node);
    this._timer = window.setInterval(() => this._tick(), 1000);
  }

  /** Whether a cell runs, so that answers take as long as it does. */
  get isBusy(): boolean {
    return this._status?.busy !== null && this._status !== null;
  }

  /** Draw anew, oldest row first; selection, scroll position, focus and an open form stay. */
  show(rows: readonly IRow[], status: IStatus, older: number): void {
    this._clock.hear(status.now);
    this._rows = rows;
    this._status = status;
    this._older = older;
    this._trust.show(rows);
    this._relist();
    if (this._revealing !== null) {
      this._reveal(this._revealing);
    }
    this._reselect();
    this._notice.refresh(status.busy);
    this._notice.moved(status.position);
    this._reader.refresh(status.busy);
  }

  /** The checkpoint that is selected, null where none or two are. */
  get selected(): IRow | null {
    return this._subject.length === 1 ? (this._subject[0] ?? null) : null;
  }

  /** Select a checkpoint, now or as soon as it is listed. */
  reveal(id: string): void {
    this._reveal(id);
  }

  /** Do what a button or a key does, with the checkpoint that is selected. */
  do(verb: Verb): void {
    this._key(verb);
  }

  /** Give the list the keys. */
  focus(): void {
    this._list.node.focus();
  }

  /** Say something below the list. */
  tell(text: string, isError: boolean): void {
    this._notice.tell(text, isError ? 'error' : 'done');
  }

  /** What is being done has to wait, as the kernel says. */
  wait(text: string): void {
    this._notice.wait(text);
  }

  dispose(): void {
    this._observer.disconnect();
    window.clearInterval(this._timer);
    this._reader.dispose();
    this._glances.dispose();
    this._root.remove();
  }

  private _relist(): void {
    const status = this._status;
    if (!status) {
      return;
    }
    const kept = [status.position, status.head, ...this._selected].filter(id => id !== null);
    this._listed = listed(this._rows, this._filter, kept);
    const others = this._rows.filter(row => !row.own).length;
    const all = this._filter.others ? this._rows.length : this._rows.length - others;
    this._tellEmpty();
    this._list.show(this._listed, status, this._clock.now);
    this._toolbar.show(status, {
      listed: this._listed.length,
      all,
      older: this._older,
      others,
      automatic: this._rows.filter(row => row.automatic).length
    });
    this._toolbar.tick(status.busy, this._clock.now);
    this._root.classList.toggle(
      'nbckpt-is-costly',
      this._rows.some(row => row.cost_usd)
    );
  }

  /** A list without rows gives way to a sentence. */
  private _tellEmpty(): void {
    this._empty.hidden = this._listed.length > 0;
    this._list.node.hidden = this._listed.length === 0;
    this._list.head.hidden = this._listed.length === 0;
    this._empty.replaceChildren(
      ...emptyContent(this._rows, this._filter, this._words, () => {
        this._toolbar.listOthers();
      })
    );
  }

  private _select(first: string | null, second: string | null): void {
    this._menu.close();
    if (this._choosing !== null && first !== null && first !== this._choosing) {
      const other = this._choosing;
      this._choosing = null;
      this._list.select(other, first);
      this._select(other, first);
      return;
    }
    this._choosing = null;
    this._selected = [first, second];
    this._pane.closeForm();
    this._reselect();
  }

  /** The selected rows as they are now. */
  private _reselect(): void {
    const [first, second] = this._selected;
    this._subject = this._rows.filter(row => row.id === first || row.id === second);
    this._pane.show({
      rows: this._subject,
      branch: this._status?.branch ?? '',
      here: this._status?.position ?? null,
      choosing: this._choosing !== null
    });
    this._pane.disabled = this._notice.isDoing;
    this._reader.show(this._subject);
    this._resized();
  }

  /** Go to a checkpoint, now or as soon as it is listed. */
  private _reveal(id: string): void {
    const isThere = this._rows.some(row => row.id === id);
    this._revealing = isThere ? null : id;
    if (isThere && this._selected[0] !== id) {
      this._list.select(id);
      this._select(id, null);
    }
  }

  private _compare(): void {
    if (this._subject.length === 2) {
      this._reader.again(this._subject);
      return;
    }
    const [row] = this._subject;
    this._choosing = this._choosing === null && row ? row.id : null;
    this._reselect();
    if (this._choosing !== null && row) {
      this.tell(this._words.__('Choose what to compare %1 with.', row.name), false);
      this._list.node.focus();
    }
  }

  /** Open a menu of some actions, by default of all that the selected one has. */
  private _openMenu(actions: readonly IAction[] | null, place: IPlace): void {
    const row = this.selected;
    const { branch, position } = this._status ?? { branch: '', position: null };
    if (row && !this._notice.isDoing) {
      this._menu.open(row, { branch, here: position }, actions, place);
    }
  }

  private _key(verb: Verb): void {
    if (verb === 'filter') {
      this._toolbar.focusFilter();
    } else if (verb === 'escape') {
      this._escape();
    } else if (verb === 'compare') {
      this._compare();
    } else if (this._subject.length === 1 && !this._notice.isDoing) {
      if (verb === 'rewind') {
        this._tasks.askRewind();
      } else {
        this._tasks.do(verb);
      }
    }
  }

  private _escape(): void {
    if (this._pane.form) {
      this._tasks.cancel();
    } else if (this._choosing !== null) {
      this._choosing = null;
      this.tell('', false);
      this._reselect();
    } else {
      const first = this._selected[1] === null ? null : this._selected[0];
      this._list.select(first);
      this._select(first, null);
    }
  }

  /** What is disabled loses the focus; it has it again afterwards, unless the user went elsewhere. */
  private _disable(disabled: boolean): void {
    const page = this._root.getRootNode() as Document | ShadowRoot;
    const focused = page.activeElement;
    if (disabled) {
      this._focused = this._root.contains(focused) ? (focused as HTMLElement) : null;
    }
    this._pane.disabled = disabled;
    this._trust.disabled = disabled;
    if (!disabled && (focused === null || focused === document.body)) {
      this._focused?.focus();
    }
  }

  private _tick(): void {
    const now = this._clock.now;
    this._toolbar.tick(this._status?.busy ?? null, now);
    if (Math.floor(now) % AGES_S === 0) {
      this._list.tick(now);
    }
  }

  private _resized(): void {
    const width = this._root.clientWidth;
    const isWide = width >= WIDE_PX;
    this._root.classList.toggle('nbckpt-is-wide', isWide);
    this._root.classList.toggle('nbckpt-is-slim', this._list.isNarrowAt(width));
    const column = this._list.node.clientWidth || width;
    this._root.classList.toggle('nbckpt-is-narrow', this._list.isNarrowAt(column));
    this._list.resized(column);
  }

  private readonly _root: HTMLElement;
  private readonly _menu: RowMenu;
  private readonly _toolbar: Toolbar;
  private readonly _glances: Glances;
  private readonly _list: ListView;
  private readonly _pane: Pane;
  private readonly _notice: Notice;
  private readonly _reader: Reader;
  private readonly _tasks: Tasks;
  private readonly _variables: Variables;
  private readonly _trust: TrustBanner;
  private readonly _empty: HTMLElement;
  private readonly _observer: ResizeObserver;
  private readonly _timer: number;
  private _rows: readonly IRow[] = [];
  private _listed: readonly IListed[] = [];
  private _status: IStatus | null = null;
  private _older = 0;
  private _filter: IFilter = { query: '', automatic: true, others: false };
  private _selected: [string | null, string | null] = [null, null];
  private _subject: readonly IRow[] = [];
  private _choosing: string | null = null;
  private _revealing: string | null = null;
  private _focused: HTMLElement | null = null;
  private readonly _clock = new KernelClock();
}
