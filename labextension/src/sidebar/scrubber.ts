/** A strip under a notebook: along it, the cells show as they were. */

import type { NotebookPanel } from '@jupyterlab/notebook';
import { BoxLayout, Widget } from '@lumino/widgets';
import type { IRow } from '../records';
import { button, cross, make } from '../timeline/dom';
import { duration, moment, money } from '../timeline/format';
import type { IWords } from '../timeline/words';
import { Ghosts } from './ghosts';
import type { KernelLink } from './kernellink';
import { asPage, type IPage } from './pageplan';
import { lineTo, segmentAt, segmentsOf, type ISegment } from './timestrip';

/** What its buttons do. */
export interface IScrubVerbs {
  rewind(ref: string): Promise<void>;
  fork(ref: string): void;
}

/** While the handle moves, the kernel is asked for the place where it rests. */
const REST_MS = 60;
/** Moments that are remembered. */
const REMEMBERED = 100;

/** One strip for one notebook; closed, nothing of it is left. */
export class Scrubber extends Widget {
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _link: KernelLink,
    private readonly _verbs: IScrubVerbs,
    private readonly _words: IWords
  ) {
    super();
    const words = _words;
    this.addClass('nbckpt-Scrubber');
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', words.__('The time of this notebook'));
    this._ghosts = new Ghosts(_panel, words);
    this._range = make('input', 'scrubRange', {
      type: 'range',
      min: '0',
      step: '1',
      'aria-label': words.__('Checkpoint')
    });
    this._range.addEventListener('input', () => {
      this._go(Number(this._range.value));
    });
    this._strip = make('div', 'scrubStrip', { 'aria-hidden': 'true' });
    this._strip.addEventListener('pointerdown', event => {
      this._drag(event);
    });
    this._told = make('span', 'scrubTold', { role: 'status' });
    this._buttons = [
      button('scrubRewind', words.__('Rewind here'), () => {
        this._do(row => this._verbs.rewind(row.id));
      }),
      button('scrubFork', words.__('Fork here…'), () => {
        this._do(row => {
          this._verbs.fork(row.id);
          return Promise.resolve();
        });
      })
    ];
    const close = cross('scrubClose', words.__('Close'), () => {
      this.dispose();
    });
    this.node.append(
      make('div', 'scrubHead', {}, [this._told, ...this._buttons, close]),
      this._strip,
      this._range
    );
    this.node.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        event.stopPropagation();
        this.dispose();
      }
    });
    _link.changed.connect((_, what) => {
      if (what === 'rows' || what === 'status') {
        this._draw();
      }
    }, this);
    _panel.disposed.connect(() => {
      this.dispose();
    }, this);
    this._draw();
  }

  /** Put it under the notebook's cells, and give it the keys. */
  open(): void {
    const layout = this._panel.layout as BoxLayout;
    layout.addWidget(this);
    BoxLayout.setStretch(this, 0);
    this._range.focus();
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    window.clearTimeout(this._timer);
    this._turn++;
    this._ghosts.clear();
    super.dispose();
    if (!this._panel.isDisposed) {
      this._panel.activate();
    }
  }

  private _draw(): void {
    const { status, rows } = this._link;
    const shown = this._segments[this._at]?.row.id;
    const line = lineTo(rows, status?.head ?? status?.position ?? null);
    this._segments = segmentsOf(line);
    const at = this._segments.findIndex(each => each.row.id === shown);
    this._range.max = String(Math.max(0, line.length - 1));
    this._strip.replaceChildren(
      ...this._segments.map(segment => {
        const node = make('span', 'scrubSegment', { title: this._about(segment) });
        node.style.width = `${segment.width * 100}%`;
        node.style.setProperty('--nbckpt-cost', String(Math.round(segment.cost * 100)));
        return node;
      })
    );
    if (at === -1) {
      this._go(this._segments.length - 1);
    } else {
      this._at = at;
      this._mark();
    }
  }

  private _mark(): void {
    const { position } = this._link.status ?? { position: null };
    this._segments.forEach(({ row }, at) => {
      const { classList } = this._strip.children[at] as HTMLElement;
      classList.toggle('nbckpt-is-shown', at === this._at);
      classList.toggle('nbckpt-is-here', row.id === position);
    });
    const segment = this._segments[this._at];
    this._range.value = String(this._at);
    const told = segment ? this._about(segment) : this._words.__('Nothing is checkpointed yet.');
    this._told.textContent = told;
    this._range.setAttribute('aria-valuetext', told);
    this._buttons.forEach(each => {
      each.disabled = segment === undefined;
    });
  }

  private _about({ row }: ISegment): string {
    const facts = [
      row.name,
      moment(row.created_at),
      row.duration_s ? duration(row.duration_s) : '',
      row.cost_usd ? money(row.cost_usd) : ''
    ];
    return facts.filter(fact => fact !== '').join(' · ');
  }

  private _drag(event: PointerEvent): void {
    const follow = ({ clientX }: PointerEvent): void => {
      const { left, width } = this._strip.getBoundingClientRect();
      this._go(segmentAt(this._segments, (clientX - left) / Math.max(1, width)));
    };
    this._strip.setPointerCapture(event.pointerId);
    this._strip.addEventListener('pointermove', follow);
    this._strip.addEventListener(
      'pointerup',
      () => {
        this._strip.removeEventListener('pointermove', follow);
        this._range.focus();
      },
      { once: true }
    );
    follow(event);
  }

  /** Show the moment of a segment, as soon as the kernel has told it. */
  private _go(at: number): void {
    this._at = Math.max(0, Math.min(at, this._segments.length - 1));
    this._mark();
    const row = this._segments[this._at]?.row;
    window.clearTimeout(this._timer);
    const turn = ++this._turn;
    const known = row && this._pages.get(row.id);
    if (known) {
      this._ghosts.show(known);
    } else if (row) {
      this._timer = window.setTimeout(() => void this._ask(row, turn), REST_MS);
    }
  }

  private async _ask(row: IRow, turn: number): Promise<void> {
    try {
      const page = await this._link.ask('page', { ref: row.id }, asPage);
      this._pages.set(row.id, page);
      const [oldest] = this._pages.keys();
      if (this._pages.size > REMEMBERED && oldest !== undefined) {
        this._pages.delete(oldest);
      }
      if (turn === this._turn) {
        this._ghosts.show(page);
      }
    } catch (error) {
      if (turn === this._turn) {
        this._told.textContent = error instanceof Error ? error.message : String(error);
      }
    }
  }

  private _do(act: (row: IRow) => Promise<void>): void {
    const row = this._segments[this._at]?.row;
    if (row) {
      this.dispose();
      void act(row);
    }
  }

  private readonly _ghosts: Ghosts;
  private readonly _range: HTMLInputElement;
  private readonly _strip: HTMLElement;
  private readonly _told: HTMLElement;
  private readonly _buttons: HTMLButtonElement[];
  private readonly _pages = new Map<string, IPage>();
  private _segments: ISegment[] = [];
  private _at = 0;
  private _turn = 0;
  private _timer = 0;
}
