/** The list of checkpoints: rows, selection, keys. */

import type { IStatus } from '../records';
import { make } from './dom';
import { day } from './format';
import type { IGrouped } from './groups';
import type { Glances } from './glances';
import { scaled } from './graph';
import { idAt, isForMore, isNear, standing } from './listevents';
import type { IPlace } from './menu';
import { moveOf, verbOf, type Verb } from './keys';
import { layout, type ILayout } from './layout';
import { fillRow } from './row';
import type { IWords } from './words';
import { VirtualRows } from './virtual';

/** What the user did in the list. */
export interface IListEvents {
  /** One checkpoint is selected, or two to be compared, or none. */
  selected(first: string | null, second: string | null): void;
  verb(verb: Verb): void;
  /** Fold or unfold the runs of one cell, by the id of the oldest. */
  fold(group: string): void;
  /** All that can be done with the one that is selected is asked for. */
  menu(place: IPlace): void;
}

/** Below this width a row has two lines. */
const NARROW_PX = 400;
/** Below this width not all columns are shown. */
const MIDDLING_PX = 560;

/** A listbox of checkpoints, newest on top. */
export class ListView {
  /** The listbox: what takes the keys. */
  readonly node: HTMLElement;
  /** Names of the columns. */
  readonly head: HTMLElement;

  constructor(
    private readonly _events: IListEvents,
    private readonly _glances: Pick<Glances, 'of'>,
    private readonly _words: IWords
  ) {
    // Ids have to differ between two timelines on one page.
    this._prefix = `nbckpt-${Math.random().toString(36).slice(2, 10)}-`;
    this.node = make('div', 'list', {
      role: 'listbox',
      tabindex: '0',
      'aria-label': _words.__('Checkpoints, newest first'),
      'aria-multiselectable': 'true'
    });
    this._day = make('span', 'day');
    this.head = make('div', 'columnHeads', { 'aria-hidden': 'true' }, [
      this._day,
      make('span', 'figures', {}, [
        make('span', 'age', {}, [_words.__('age')]),
        make('span', 'duration', {}, [_words.__('took')]),
        make('span', 'size', {}, [_words.__('added')]),
        make('span', 'cost', {}, [_words.__('cost')])
      ])
    ]);
    this._rows = new VirtualRows(this.node, () => this._create());
    // A row that is written anew, or that moves away, while the button is down swallows the click
    // of the browser: what counts is which row was pressed.
    this.node.addEventListener('mousedown', pressed => {
      const id = idAt(pressed);
      const group = (pressed.target as Element).closest<HTMLElement>('[data-group]')?.dataset.group;
      const released = (event: MouseEvent): void => {
        if (event.button !== 0 || id === undefined || !isNear(pressed, event)) {
          return;
        }
        if (group === undefined) {
          this._choose(id, isForMore(event));
        } else {
          this._events.fold(group);
        }
      };
      this.node.ownerDocument.addEventListener('mouseup', released, { once: true });
    });
    // One without a mouse: assistive software clicks so.
    this.node.addEventListener('click', event => {
      const id = idAt(event);
      if (event.detail === 0 && id !== undefined) {
        this._choose(id, isForMore(event));
      }
    });
    this.node.addEventListener('keydown', event => {
      this._key(event);
    });
    this.node.addEventListener('scroll', () => {
      this._tellDay();
    });
    this.node.addEventListener('contextmenu', event => {
      this._menu(event);
    });
  }

  /** Show these, oldest first. */
  show(listed: readonly IGrouped[], status: IStatus, now: number): void {
    const here = standing(listed, status);
    // A place may be told of before its row: then it is followed when that comes.
    const hasMoved = here !== null && here !== this._here;
    this._here = here ?? this._here;
    this._listed = listed;
    this._layout = layout(listed, here);
    this._status = status;
    this._now = now;
    const isGone = !listed.some(one => one.id === this._active);
    if (isGone || (hasMoved && this._selected[0] === null)) {
      this._active =
        here ?? (listed.filter(one => one.row.own).pop() ?? listed[listed.length - 1])?.id ?? null;
    }
    this._redraw();
    this._place();
  }

  /** Write ages anew. */
  tick(now: number): void {
    this._now = now;
    this._rows.refill();
  }

  /** Write all rows anew. */
  refill(): void {
    this._rows.refill();
  }

  /** Width or height have changed. */
  resized(width: number): void {
    if (width === this._width) {
      this._rows.draw();
      return;
    }
    const isMiddling = width < MIDDLING_PX && !this.isNarrowAt(width);
    this.node.classList.toggle('nbckpt-is-middling', isMiddling);
    this.head.classList.toggle('nbckpt-is-middling', isMiddling);
    this._width = width;
    this._redraw();
    this._place();
  }

  /** Select without a click: nothing is told to the listener. */
  select(first: string | null, second: string | null = null): void {
    this._selected = [first, second];
    this._active = second ?? first ?? this._active;
    this._activate();
  }

  /** Whether a list of this width is too narrow for columns. */
  isNarrowAt(width: number): boolean {
    return width < NARROW_PX;
  }

  private _redraw(): void {
    const listed = this._listed;
    const count = listed.length;
    const text = parseFloat(getComputedStyle(this.node).fontSize) || 13;
    this._line = Math.round(text * 2.15);
    const height = this.isNarrowAt(this._width) ? Math.round(text * 3.4) : this._line;
    this._height = height;
    this._rows.pinned = this._active;
    this._rows.show(
      {
        count,
        // Bound to this list: the next `show` asks the last one where it stood.
        key: index => listed[count - 1 - index]?.id ?? '',
        fill: (element, index) => {
          this._fill(element, index, height);
        }
      },
      height
    );
    this._tellDay();
    // Beside a scrollbar the columns begin further left.
    this.head.style.paddingRight = `${8 + this.node.offsetWidth - this.node.clientWidth}px`;
    this._point();
  }

  /** Scroll to where the user stands, once, as soon as there is room. */
  private _place(): void {
    const row = this._active === null ? undefined : this._rowOf(this._active);
    if (!this._isPlaced && this._width > 0 && row !== undefined) {
      this._isPlaced = true;
      this._rows.reveal(row);
    }
  }

  /** Above a list of more than one day stands of which its first rows are. */
  private _tellDay(): void {
    const isOne = this._dayOf(0) === this._dayOf(this._listed.length - 1);
    const at = Math.floor(this.node.scrollTop / this._height);
    this._day.textContent = isOne ? '' : this._dayOf(at);
  }

  private _dayOf(index: number): string {
    const row = this._at(index)?.row;
    return row === undefined ? '' : day(row.created_at, this._now, this._words);
  }

  private _create(): HTMLElement {
    return make('div', 'row', { role: 'option' });
  }

  private _fill(element: HTMLElement, index: number, height: number): void {
    const listed = this._at(index);
    if (!listed) {
      return;
    }
    const scale = scaled(this._layout.width, Math.max(60, this._width * 0.22));
    element.id = this._prefix + listed.id;
    fillRow(element, {
      row: listed.row,
      skips: listed.skips,
      group: listed.group,
      more: listed.more,
      isNewDay: index > 0 && this._dayOf(index) !== this._dayOf(index - 1),
      edges: this._layout.edges(index, scale.limit),
      lane: this._layout.lanes[index] ?? 0,
      scale,
      height,
      middle: this.isNarrowAt(this._width) ? Math.round(this._line / 2) : height / 2,
      now: this._now,
      branch: this._status?.branch ?? '',
      isPosition: listed.id === this._status?.position,
      isActive: listed.id === this._active,
      selected: this._selected.indexOf(listed.id) + 1,
      index,
      count: this._listed.length,
      words: this._words,
      glance: this._glances.of(listed.row)
    });
  }

  /** By the pointer of the row under it, by a key of the active one. */
  private _menu(event: MouseEvent): void {
    const id = idAt(event) ?? this._active;
    if (id === null || event.shiftKey) {
      return; // the browser's own
    }
    event.preventDefault();
    event.stopPropagation(); // JupyterLab has one, too
    if (this._selected[0] !== id || this._selected[1] !== null) {
      this._choose(id, false);
    }
    const row = document.getElementById(this._prefix + id)?.getBoundingClientRect();
    const isByKey = event.button !== 2;
    const place =
      isByKey && row ? { x: row.left + 24, y: row.bottom } : { x: event.clientX, y: event.clientY };
    this._events.menu(place);
  }

  private _key(event: KeyboardEvent): void {
    const move = moveOf(event, this._rows.pageSize);
    const verb = verbOf(event);
    if (move) {
      const here = this._active === null ? -1 : (this._rowOf(this._active) ?? -1);
      const to = Math.min(this._listed.length - 1, Math.max(0, move(here, this._listed.length)));
      const id = this._at(to)?.id;
      if (id !== undefined && event.shiftKey) {
        this._active = id;
        this._activate();
      } else if (id !== undefined) {
        this._choose(id, false);
      }
    } else if (this._foldKey(event)) {
      // It is done.
    } else if (event.key === ' ' && this._active !== null) {
      this._choose(this._active, true);
    } else if (verb) {
      if (verb !== 'escape' && this._selected[0] === null && this._active !== null) {
        this._choose(this._active, false);
      }
      this._events.verb(verb);
    } else {
      return;
    }
    // The notebook around would scroll, or run a command of its own.
    event.preventDefault();
    event.stopPropagation();
  }

  /** As in a tree: to the right opens, to the left closes. */
  private _foldKey({ key, ctrlKey, altKey, metaKey }: KeyboardEvent): boolean {
    const one = this._listed.find(each => each.id === this._active);
    const isOpening = key === 'ArrowRight';
    if (ctrlKey || altKey || metaKey || (!isOpening && key !== 'ArrowLeft')) {
      return false;
    }
    if (one && one.group !== null && one.more > 0 === isOpening) {
      this._events.fold(one.group);
    }
    return true;
  }

  /** Select `id`, or add it to (take it from) the two that are compared. */
  private _choose(id: string, add: boolean): void {
    const [first, second] = this._selected;
    if (!add || first === null) {
      this._selected = [id, null];
    } else if (id === first) {
      this._selected = [second, null];
    } else {
      this._selected = [first, id === second ? null : id];
    }
    this._active = id;
    this._activate();
    this._events.selected(...this._selected);
  }

  private _activate(): void {
    this._rows.pinned = this._active;
    const row = this._active === null ? undefined : this._rowOf(this._active);
    if (row !== undefined) {
      this._rows.reveal(row);
    }
    this._rows.refill();
    this._point();
  }

  private _point(): void {
    if (this._active !== null && this._rowOf(this._active) !== undefined) {
      this.node.setAttribute('aria-activedescendant', this._prefix + this._active);
    } else {
      this.node.removeAttribute('aria-activedescendant');
    }
  }

  private _at(index: number): IGrouped | undefined {
    return this._listed[this._listed.length - 1 - index];
  }

  private _rowOf(id: string): number | undefined {
    return this._rows.indexOf(id);
  }

  private readonly _prefix: string;
  private readonly _rows: VirtualRows;
  private readonly _day: HTMLElement;
  private _height = 28;
  private _listed: readonly IGrouped[] = [];
  private _layout: ILayout = layout([], null);
  private _status: IStatus | null = null;
  private _now = 0;
  private _width = 0;
  private _isPlaced = false;
  /** Where the user stood, as far as it is listed. */
  private _here: string | null = null;
  private _line = 28;
  private _active: string | null = null;
  private _selected: [string | null, string | null] = [null, null];
}
