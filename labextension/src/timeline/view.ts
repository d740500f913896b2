/** The timeline: a list of checkpoints, and beside or below it what can be done with them. */

import type { IRow, IStatus } from '../records';
import type { IAction } from './actions';
import { KernelClock } from './clock';
import { make } from './dom';
import { emptyContent } from './empty';
import { listed, type IFilter } from './filter';
import { grouped, type IGrouped } from './groups';
import { Glances } from './glances';
import type { Verb } from './keys';
import { ListView } from './list';
import type { IPlace } from './menu';
import { Notice } from './notice';
import { Pane } from './pane';
import { Reader } from './reader';
import { RowMenu } from './rowmenu';
import { Selection } from './selection';
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
        selected: (first, second) => {
          this._menu.close();
          this._notice.leave();
          this._selection.select(first, second);
        },
        verb: verb => this._key(verb),
        fold: group => this._fold(group),
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
        verb: verb => (verb === 'compare' ? this._selection.compare() : this._tasks.do(verb)),
        untag: tag => this._tasks.untag(tag),
        switchTo: branch => this._tasks.switchTo(branch),
        more: (actions, place) => this._openMenu(actions, place),
        close: () => {
          this._selection.clear();
          this._list.node.focus();
        }
      },
      _words
    );
    this._reader = new Reader(this._pane, verbs, _words, name => void this._variables.open(name));
    this._selection = new Selection(
      { list: this._list, pane: this._pane, reader: this._reader, notice: this._notice },
      {
        rows: () => this._rows,
        status: () => this._status,
        changed: () => {
          this._resized();
        }
      },
      _words
    );
    this._tasks = new Tasks(
      {
        subject: () => this._selection.rows[0] ?? null,
        branches: () => [...new Set(this._rows.flatMap(row => [row.branch, ...row.heads]))],
        reveal: id => this._selection.reveal(id),
        showInstead: content => this._reader.instead(content, this._selection.rows),
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
        showInstead: content => this._reader.instead(content, this._selection.rows),
        showSubject: () => this._reader.again(this._selection.rows),
        reveal: id => this._selection.reveal(id),
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
    this._menu = new RowMenu(this._root, this._tasks, () => this._selection.compare(), _words);
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
    this._selection.listed();
    this._notice.refresh(status.busy);
    this._notice.moved(status.position);
    this._reader.refresh(status.busy);
  }

  /** The checkpoint that is selected, null where none or two are. */
  get selected(): IRow | null {
    return this._selection.one;
  }

  /** Select a checkpoint, now or as soon as it is listed. */
  reveal(id: string): void {
    this._selection.reveal(id);
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

  /** The kernel is gone: what is known stays to be read, below `why`, and nothing can be done. */
  end(why: string): void {
    this._menu.close();
    this._notice.end(why);
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
    const kept = [status.position, status.head, ...this._selection.ids].filter(id => id !== null);
    const rows = listed(this._rows, this._filter, kept);
    // Who looks for something sees all of it.
    this._listed =
      this._filter.query.trim() === ''
        ? grouped(rows, kept, this._open)
        : rows.map(row => ({ ...row, group: null, more: 0 }));
    const others = this._rows.filter(row => !row.own).length;
    const all = this._filter.others ? this._rows.length : this._rows.length - others;
    this._tellEmpty();
    this._list.show(this._listed, status, this._clock.now);
    this._toolbar.show(status, {
      listed: rows.length,
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

  private _fold(group: string): void {
    if (!this._open.delete(group)) {
      this._open.add(group);
    }
    this._relist();
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

  /** Open a menu of some actions, by default of all that the selected one has. */
  private _openMenu(actions: readonly IAction[] | null, place: IPlace): void {
    const row = this.selected;
    const { branch, position } = this._status ?? { branch: '', position: null };
    if (row && !this._notice.isClosed) {
      this._menu.open(row, { branch, here: position }, actions, place);
    }
  }

  private _key(verb: Verb): void {
    if (verb === 'filter') {
      this._toolbar.focusFilter();
    } else if (verb === 'escape') {
      if (this._pane.form) {
        this._tasks.cancel();
      } else {
        this._selection.less();
      }
    } else if (verb === 'compare') {
      this._selection.compare();
    } else if (this._selection.one && !this._notice.isClosed) {
      if (verb === 'rewind') {
        this._tasks.askRewind();
      } else {
        this._tasks.do(verb);
      }
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
  private readonly _selection: Selection;
  private readonly _tasks: Tasks;
  private readonly _variables: Variables;
  private readonly _trust: TrustBanner;
  private readonly _empty: HTMLElement;
  private readonly _observer: ResizeObserver;
  private readonly _timer: number;
  private _rows: readonly IRow[] = [];
  private _listed: readonly IGrouped[] = [];
  /** Groups of runs that are unfolded. */
  private readonly _open = new Set<string>();
  private _status: IStatus | null = null;
  private _older = 0;
  private _filter: IFilter = { query: '', automatic: true, others: false };
  private _focused: HTMLElement | null = null;
  private readonly _clock = new KernelClock();
}
