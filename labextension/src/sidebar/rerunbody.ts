/** What a rerun would do, cell by cell, in the dialog that asks for it. */

import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { duration } from '../timeline/format';
import type { IWords } from '../timeline/words';
import type { KernelLink } from './kernellink';
import {
  counted,
  fateOf,
  firstLine,
  tickedAtFirst,
  type IChoice,
  type IPlanned,
  type IRerunPlan
} from './rerunplan';

/** What the dialog speaks of. */
export interface IRerunSubject {
  /** Of the step. */
  name: string;
  /** Texts of the cells by their ids. */
  sources: ReadonlyMap<string, string>;
  /** Whether all cells are to run, to begin with. */
  everything: boolean;
}

const SIGNS = { runs: '▸', restored: '↺', fresh: '–', left: '–' } as const;

/** Lists the cells, lets the user choose all of them, and offers to interrupt what runs. */
export class RerunBody extends Widget {
  constructor(
    private readonly _plan: IRerunPlan,
    private readonly _link: KernelLink,
    private readonly _subject: IRerunSubject,
    private readonly _words: IWords
  ) {
    super();
    this.addClass('nbckpt-RerunBody');
    this._ticked = tickedAtFirst(_plan);
    this._all.type = 'checkbox';
    this._all.checked = _subject.everything;
    this._all.addEventListener('change', () => {
      this._draw();
    });
    this._busy.setAttribute('role', 'status');
    // Made once: what is told anew while the mouse is down would take the click along.
    const stop = element('button', 'jp-mod-styled', _words.__('Interrupt It'));
    stop.setAttribute('type', 'button');
    stop.addEventListener('click', () => {
      _link.interrupt().catch(() => undefined); // there is nothing left to interrupt
    });
    this._busy.append(this._waits, stop);
    this.node.append(this._head, this._list);
    if (_plan.cells.some(cell => cell.does === 'fresh')) {
      const label = element('label', 'nbckpt-RerunBody-all');
      label.append(this._all, _words.__('Run all cells below, also those that need not'));
      this.node.append(label);
    }
    this.node.append(this._busy);
    this._draw();
    this._wait();
    _link.changed.connect(() => {
      this._wait();
    }, this);
  }

  /** What the user has chosen so far. */
  get choice(): IChoice {
    return { everything: this._all.checked, ticked: this._ticked };
  }

  override dispose(): void {
    Signal.clearData(this);
    super.dispose();
  }

  private _draw(): void {
    const words = this._words;
    const told = counted(this._plan, this.choice, words);
    this._head.textContent = this._plan.rewinds
      ? words.__(
          'The variables go back to %1; what is there now is checkpointed first. Below it %2:',
          this._subject.name,
          told
        )
      : words.__('Below %1, with the variables as they are, %2:', this._subject.name, told);
    this._list.replaceChildren(...this._plan.cells.map(cell => this._line(cell)));
  }

  private _line(cell: IPlanned): HTMLElement {
    const words = this._words;
    const does = fateOf(cell, this.choice);
    const states = {
      runs: words.__('runs'),
      restored: words.__('restored'),
      fresh: words.__('stays'),
      left: words.__('left out')
    };
    const sign = element('span', 'nbckpt-RerunBody-sign', SIGNS[does]);
    sign.setAttribute('aria-hidden', 'true');
    const source = this._subject.sources.get(cell.cell_id) ?? '';
    const line = element('li', `nbckpt-RerunBody-cell`);
    line.dataset.does = does;
    line.dataset.cell = cell.cell_id;
    line.append(
      sign,
      element('span', 'nbckpt-RerunBody-state', states[does]),
      element('code', 'nbckpt-RerunBody-code', firstLine(source)),
      element('span', 'nbckpt-RerunBody-why', cell.why)
    );
    if (cell.given.length > 0) {
      line.append(this._tick(cell));
    }
    return line;
  }

  /** Whether a cell runs that takes back what was given by hand. */
  private _tick({ cell_id }: IPlanned): HTMLElement {
    const box = element('input', '');
    box.type = 'checkbox';
    box.checked = this._ticked.has(cell_id);
    box.addEventListener('change', () => {
      if (box.checked) {
        this._ticked.add(cell_id);
      } else {
        this._ticked.delete(cell_id);
      }
      this._draw();
      this._list.querySelector<HTMLElement>(`[data-cell="${cell_id}"] input`)?.focus();
    });
    const label = element('label', 'nbckpt-RerunBody-tick');
    label.append(box, this._words.__('Run it all the same'));
    return label;
  }

  /** What runs now comes first, or is interrupted. */
  private _wait(): void {
    const words = this._words;
    const { status } = this._link;
    const busy = status?.busy ?? null;
    this._busy.hidden = busy === null;
    if (!status || !busy) {
      return;
    }
    const time = duration(Math.max(0, status.now - busy.began_at));
    this._waits.textContent =
      busy.name === ''
        ? words.__('A cell runs (%1): the rerun waits for it.', time)
        : words.__('%1 runs (%2): the rerun waits for it.', busy.name, time);
  }

  private readonly _ticked: Set<string>;
  private readonly _head = element('p', 'nbckpt-RerunBody-head');
  private readonly _list = element('ol', 'nbckpt-RerunBody-cells');
  private readonly _all = element('input', '');
  private readonly _busy = element('div', 'nbckpt-RerunBody-busy');
  private readonly _waits = element('span', '');
}

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  classes: string,
  text = ''
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = classes;
  made.textContent = text;
  return made;
}
