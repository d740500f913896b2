/** What a resume brings back and what then runs, cell by cell, in the dialog that asks for it. */

import { Widget } from '@lumino/widgets';
import { make } from '../timeline/dom';
import type { IWords } from '../timeline/words';
import { firstLine } from './rerunplan';
import { counted, type Fate, type ICellPlan, type IPlan } from './resumeplan';

const SIGNS: Readonly<Record<Fate, string>> = { runs: '▸', restored: '↺', skipped: '–' };

/** Lists the cells of a notebook with what becomes of each, and what cannot be restored. */
export class ResumeBody extends Widget {
  /**
   * @param sources - texts of the cells by their ids
   */
  constructor(
    plan: IPlan,
    sources: ReadonlyMap<string, string>,
    private readonly _words: IWords
  ) {
    super();
    this.addClass('nbckpt-Timeline-resume');
    this.node.append(
      make('p', 'resumeHead', {}, [this._told(plan)]),
      make('ol', 'resumeCells', {}, [
        ...plan.cells.map(cell => this._line(cell, sources.get(cell.cell_id) ?? ''))
      ])
    );
    if (plan.refused.length > 0) {
      this.node.append(this._refused(plan));
    }
  }

  private _told(plan: IPlan): string {
    const words = this._words;
    const back = words._n(
      '%1 variable comes back, and its cells keep their outputs.',
      '%1 variables come back, and their cells keep their outputs.',
      plan.variables
    );
    const runs = counted(plan, 'runs');
    const rest =
      runs === 0
        ? words.__('No cell is left to run.')
        : words._n('Then %1 cell runs.', 'Then %1 cells run, in order.', runs);
    return `${back} ${rest}`;
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
    return line;
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
}
