/** Which of the notebook's own cells a rerun executes, and what is said of it. Pure. */

import type { ICellRun } from '../records';
import { flag, list, or, refuse, shaped, text, type Check } from '../shapes';
import type { IWords } from '../timeline/words';

/**
 * What a rerun does with a cell; `fresh` ones stand as they would after it, those that are `left`
 * would only take back what was given by hand.
 */
export type Does = 'runs' | 'restored' | 'fresh' | 'left';

export interface IPlanned {
  cell_id: string;
  does: Does;
  why: string;
  /** Variables given by hand that it takes back: the user decides whether it runs. */
  given: string[];
}

/** What the kernel says of the cells below a step, in the order of the document. */
export interface IRerunPlan {
  cells: IPlanned[];
  /** Whether the namespace has to go back to the step first. */
  rewinds: boolean;
}

const does: Check<Does> = value =>
  value === 'runs' || value === 'restored' || value === 'fresh' || value === 'left'
    ? value
    : refuse('plan of a cell');

export const asRerunPlan: Check<IRerunPlan> = shaped<IRerunPlan>({
  cells: list(shaped<IPlanned>({ cell_id: text, does, why: or(text, ''), given: list(text) })),
  rewinds: or(flag, true)
});

/** What the user has chosen. */
export interface IChoice {
  /** Also those that stand as they would after it. */
  everything: boolean;
  /** Ids of the cells that take given values back, and run all the same. */
  ticked: ReadonlySet<string>;
}

/** Ids of the cells that are ticked to begin with: those that do more than take values back. */
export function tickedAtFirst(plan: IRerunPlan): Set<string> {
  const asked = plan.cells.filter(cell => cell.given.length > 0 && cell.does !== 'left');
  return new Set(asked.map(cell => cell.cell_id));
}

/** What becomes of a cell. */
export function fateOf(cell: IPlanned, { everything, ticked }: IChoice): Does {
  if (cell.given.length > 0) {
    const runs: Does = cell.does === 'left' ? 'runs' : cell.does;
    return ticked.has(cell.cell_id) ? runs : 'left';
  }
  return cell.does === 'fresh' && everything ? 'runs' : cell.does;
}

/** The cells that are executed. */
export function chosen(plan: IRerunPlan, choice: IChoice): IPlanned[] {
  return plan.cells.filter(cell => !['fresh', 'left'].includes(fateOf(cell, choice)));
}

/** "3 cells run, 2 are restored, 1 stays as it is". */
export function counted(plan: IRerunPlan, choice: IChoice, words: IWords): string {
  const of = (what: Does): number =>
    plan.cells.filter(cell => fateOf(cell, choice) === what).length;
  return [
    words._n('%1 cell runs', '%1 cells run', of('runs')),
    of('restored') > 0 ? words._n('%1 is restored', '%1 are restored', of('restored')) : '',
    of('fresh') > 0 ? words._n('%1 stays as it is', '%1 stay as they are', of('fresh')) : '',
    of('left') > 0 ? words._n('%1 is left out', '%1 are left out', of('left')) : ''
  ]
    .filter(part => part !== '')
    .join(', ');
}

/** The first line of a cell that says something, without the `%%checkpoint` above it. */
export function firstLine(source: string, most = 60): string {
  const lines = source.split('\n').map(line => line.trim());
  const named = /^(?:#[ \t]*)?%%checkpoint\s+([^\s-]\S*)/.exec(
    lines.find(line => line !== '') ?? ''
  );
  const line = named?.[1] ?? lines.find(each => each !== '' && !/^(#[ \t]*)?%%/.test(each)) ?? '';
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

/** "rerun from 'load': 2 run, 1 restored". */
export function summary(name: string, cells: readonly ICellRun[], words: IWords): string {
  const of = (state: string): number => cells.filter(cell => cell.state === state).length;
  const told = (
    [
      [of('run'), count => words._n('%1 run', '%1 run', count)],
      [of('restored'), count => words._n('%1 restored', '%1 restored', count)],
      [of('failed'), count => words._n('%1 failed', '%1 failed', count)],
      [of('not reached'), count => words._n('%1 not reached', '%1 not reached', count)]
    ] satisfies [number, (count: number) => string][]
  )
    .filter(([count]) => count > 0)
    .map(([count, text]) => text(count));
  return words.__('rerun from %1: %2', name, told.join(', '));
}

/** "total failed: ValueError: no rows; 2 cells were not reached"; null where none failed. */
export function failure(cells: readonly ICellRun[], words: IWords): string | null {
  const failed = cells.find(cell => cell.state === 'failed');
  if (!failed) {
    return null;
  }
  const left = cells.filter(cell => cell.state === 'not reached').length;
  const told = words.__('%1 failed: %2', failed.name, failed.why);
  const rest = words._n('%1 cell was not reached', '%1 cells were not reached', left);
  return left === 0 ? told : words.__('%1; %2', told, rest);
}
