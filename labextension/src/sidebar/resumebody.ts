/** What a resume brings back and what then runs, cell by cell, in the dialog that asks for it. */

import { Widget } from '@lumino/widgets';
import { make } from '../timeline/dom';
import type { IWords } from '../timeline/words';
import { firstLine } from './rerunplan';
import { rest, type Fate, type ICellPlan, type IPlan } from './resumeplan';

const SIGNS: Readonly<Record<Fate, string>> = { runs: '▸', restored: '↺', skipped: '–' };

/**
 * Lists the cells of a notebook with what becomes of each, and what cannot be restored.
 *
 * What was edited comes back as it was, and can be run again beside what is left.
 */
export class ResumeBody extends Widget {
  /** Ids of the cells that the user wants to run, although they come back. */
  readonly also = new Set<string>();

  /**
   * @param sources - texts of the cells by their ids
   */
  constructor(
    private readonly _plan: IPlan,
    sources: ReadonlyMap<string, string>,
    private readonly _words: IWords
  ) {
    super();
    this.addClass('nbckpt-Timeline-resume');
    this.node.append(
      this._head,
      make('ol', 'resumeCells', {}, [
        ..._plan.cells.map(cell => this._line(cell, sources.get(cell.cell_id) ?? ''))
      ])
    );
    this._head.textContent = this._told();
    if (_plan.refused.length > 0) {
      this.node.append(this._refused(_plan));
    }
  }

  private _told(): string {
    const words = this._words;
    const back = words._n(
      '%1 variable comes back, and its cells keep their outputs.',
      '%1 variables come back, and their cells keep their outputs.',
      this._plan.variables
    );
    const runs = rest(this._plan, this.also).length;
    const then =
      runs === 0
        ? words.__('No cell is left to run.')
        : words._n('Then %1 cell runs.', 'Then %1 cells run, in order.', runs);
    return `${back} ${then}`;
  }

  private _line(cell: ICellPlan, source: string): HTMLElement {
    const words = this._words;
    const states: Readonly<Record<Fate, string>> = {
      runs: words.__('runs'),
      restored: words.__('restored'),
      skipped: words.__('skipped')
    };
    const line = make('li', 'resumeCell', { 'data-does': cell.does }, [
      make('span', 'resumeSign', { 'aria-hidden': 'true' }, [SIGNS[cell.does]]),
      make('span', 'resumeState', {}, [states[cell.does]]),
      make('code', 'resumeCode', { title: source }, [firstLine(source)]),
      make('span', 'resumeWhy', { title: cell.why }, [cell.why])
    ]);
    if (cell.edited && cell.does !== 'runs') {
      line.append(this._choice(cell));
    }
    return line;
  }

  private _choice({ cell_id }: ICellPlan): HTMLElement {
    const box = make('input', '', { type: 'checkbox' });
    box.addEventListener('change', () => {
      if (box.checked) {
        this.also.add(cell_id);
      } else {
        this.also.delete(cell_id);
      }
      this._head.textContent = this._told();
    });
    return make('label', 'resumeChoice', {}, [box, this._words.__('Run it as it is now')]);
  }

  private _refused({ refused }: IPlan): HTMLElement {
    const words = this._words;
    return make('div', 'resumeRefused', { role: 'note' }, [
      make('p', '', {}, [words.__('Cannot be restored:')]),
      make('ul', '', {}, [
        ...refused.map(({ variable, type_name, reason }) =>
          make('li', '', {}, [make('code', '', {}, [variable]), ` (${type_name}): ${reason}`])
        )
      ])
    ]);
  }

  private readonly _head = make('p', 'resumeHead', { role: 'status' });
}
