/** What a resume brings back and what then runs, cell by cell, in the dialog that asks for it. */

import { Widget } from '@lumino/widgets';
import type { IRefused } from '../records';
import { make } from '../timeline/dom';
import type { IWords } from '../timeline/words';
import { firstLine } from './rerunplan';
import { makersIn, rest, type Fate, type ICellPlan, type IPlan } from './resumeplan';

const SIGNS: Readonly<Record<Fate, string>> = { runs: '▸', restored: '↺', skipped: '–' };

/**
 * Lists the cells of a notebook with what becomes of each, and what cannot be restored.
 *
 * What was edited comes back as it was, and can be run again beside what is left.
 */
export class ResumeBody extends Widget {
  /** Ids of the cells that the user wants to run, although they come back. */
  readonly also = new Set<string>();
  /** Those of them that run to make again what does not come back. */
  get again(): string[] {
    return this._makers.map(({ cell_id }) => cell_id).filter(id => this.also.has(id));
  }

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
    this._makers = makersIn(_plan);
    for (const { cell_id, again } of this._makers) {
      if (again) {
        this.also.add(cell_id);
      }
    }
    this.node.append(
      this._head,
      ...(this._makers.length > 0 ? [this._made(sources)] : []),
      make('ol', 'resumeCells', {}, [
        ..._plan.cells.map(cell => this._line(cell, sources.get(cell.cell_id) ?? ''))
      ])
    );
    this._head.textContent = this._told();
    const madeAgain = new Set(this._makers.flatMap(({ makes }) => makes));
    const refused = _plan.refused.filter(({ variable }) => !madeAgain.has(variable));
    if (refused.length > 0) {
      this.node.append(this._refused(refused));
    }
  }

  /** Say what a cell does: what the user has chosen, else what the plan says. */
  private _state(cell: ICellPlan): void {
    const words = this._words;
    const states: Readonly<Record<Fate, string>> = {
      runs: words.__('runs'),
      restored: words.__('restored'),
      skipped: words.__('skipped')
    };
    const does = this.also.has(cell.cell_id) ? 'runs' : cell.does;
    const line = this._lines.get(cell);
    line?.setAttribute('data-does', does);
    line?.querySelector('.nbckpt-Timeline-resumeSign')?.replaceChildren(SIGNS[does]);
    line?.querySelector('.nbckpt-Timeline-resumeState')?.replaceChildren(states[does]);
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
    const line = make('li', 'resumeCell', {}, [
      make('span', 'resumeSign', { 'aria-hidden': 'true' }),
      make('span', 'resumeState'),
      make('code', 'resumeCode', { title: source }, [firstLine(source)]),
      make('span', 'resumeWhy', { title: cell.why }, [cell.why])
    ]);
    if (cell.edited && cell.does !== 'runs' && !cell.sets_up) {
      line.append(this._choice(cell, this._words.__('Run it as it is now')));
    }
    this._lines.set(cell, line);
    this._state(cell);
    return line;
  }

  /** First of all: what is not kept, and the cells that make it again. */
  private _made(sources: ReadonlyMap<string, string>): HTMLElement {
    const words = this._words;
    const reasons = new Map(this._plan.refused.map(one => [one.variable, one]));
    const lines = this._makers.map(cell => {
      const source = sources.get(cell.cell_id) ?? '';
      const what = cell.makes.map(name => {
        const refused = reasons.get(name);
        return refused ? `${name} (${refused.type_name}: ${refused.reason})` : name;
      });
      const hint = cell.acts
        ? words.__('It may act outside of the notebook: %1', cell.acts)
        : cell.again
          ? ''
          : words.__('Else it runs when something needs it');
      return make('li', 'resumeMaker', {}, [
        this._choice(cell, lineThatBinds(source, cell.makes)),
        make('span', 'resumeWhy', { title: what.join('\n') }, [what.join(', ')]),
        ...(hint ? [make('span', 'resumeHint', {}, [hint])] : [])
      ]);
    });
    return make('div', 'resumeMakers', { role: 'group' }, [
      make('p', 'resumeMakersTitle', {}, [
        words.__('Not kept; these cells set it up again before the rest runs:')
      ]),
      make('ul', '', {}, lines)
    ]);
  }

  private _choice(cell: ICellPlan, text: string): HTMLElement {
    const { cell_id } = cell;
    const box = make('input', '', { type: 'checkbox' });
    box.checked = this.also.has(cell_id);
    box.addEventListener('change', () => {
      if (box.checked) {
        this.also.add(cell_id);
      } else {
        this.also.delete(cell_id);
      }
      this._head.textContent = this._told();
      this._state(cell);
    });
    return make('label', 'resumeChoice', {}, [box, make('span', '', {}, [text])]);
  }

  private _refused(refused: readonly IRefused[]): HTMLElement {
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

  private readonly _lines = new Map<ICellPlan, HTMLElement>();
  private readonly _makers: ICellPlan[];
  private readonly _head = make('p', 'resumeHead', { role: 'status' });
}

/** The line of a cell that says what it makes; the first one where none does. */
function lineThatBinds(source: string, names: readonly string[]): string {
  const lines = source.split('\n').map(line => line.trim());
  const binds = (line: string): boolean =>
    names.some(name => line.startsWith(name) && /^\s*(=[^=]|:|,)/.test(line.slice(name.length)));
  return lines.find(binds) ?? firstLine(source);
}
