/** What a resume would bring back and what it would leave to run; as it is told. Pure. */

import { asRefused } from '../checks';
import type { IRefused } from '../records';
import { flag, list, number, optional, or, refuse, shaped, text, type Check } from '../shapes';
import { ago, bytes, duration, money } from '../timeline/format';
import type { IWords } from '../timeline/words';

export type Fate = 'restored' | 'skipped' | 'runs';

/** What becomes of a cell. */
export interface ICellPlan {
  cell_id: string;
  does: Fate;
  why: string;
  /** It comes back as it was before its text was changed. */
  edited: boolean;
  /** Whether it can set up again what does not come back. */
  sets_up: boolean;
  /** Variables that it makes for that. */
  makes: string[];
  /** What it may do outside of the notebook where it makes them again. */
  acts: string;
  /** Whether it is proposed to run it again for them. */
  again: boolean;
}

/** What a resume brings back. */
export interface IOffer {
  /** Null where there is nothing to resume from. */
  checkpoint: { id: string; name: string; created_at: number } | null;
  /** How many come back. */
  variables: number;
  size_bytes: number | null;
  /** How long the cells had run that need not run again, and what their model calls cost. */
  saves_s: number | null;
  saves_usd: number | null;
  /** What does not come back. */
  refused: IRefused[];
}

/** The same, for the cells of a notebook. */
export interface IPlan extends IOffer {
  /** Code cells, in the order of the notebook. */
  cells: ICellPlan[];
}

const fate: Check<Fate> = value =>
  value === 'restored' || value === 'skipped' || value === 'runs'
    ? value
    : refuse('plan of a cell');

const offer = {
  checkpoint: optional(
    shaped<NonNullable<IOffer['checkpoint']>>({ id: text, name: text, created_at: number })
  ),
  variables: or(number, 0),
  size_bytes: optional(number),
  saves_s: optional(number),
  saves_usd: optional(number),
  refused: list(asRefused)
};

export const asOffer: Check<IOffer> = shaped<IOffer>(offer);

export const asPlan: Check<IPlan> = shaped<IPlan>({
  ...offer,
  cells: list(
    shaped<ICellPlan>({
      cell_id: text,
      does: fate,
      why: or(text, ''),
      edited: or(flag, false),
      sets_up: or(flag, false),
      makes: list(text),
      acts: or(text, ''),
      again: or(flag, false)
    })
  )
});

/** What takes less is not worth a word. */
const WORTH_S = 1;

/** "Resume from 'train' (3 h ago, 12 variables, 1.4 GB, saves 2 h 10 min and $4.20)". */
export function offered(plan: IOffer, now: number, words: IWords): string {
  const { checkpoint } = plan;
  if (checkpoint === null) {
    return words.__('Nothing to resume from');
  }
  const facts = [
    ago(checkpoint.created_at, now, words),
    words._n('%1 variable', '%1 variables', plan.variables)
  ];
  if (plan.size_bytes !== null) {
    facts.push(bytes(plan.size_bytes));
  }
  const saved = saves(plan, words);
  if (saved !== '') {
    facts.push(saved);
  }
  return words.__("Resume from '%1' (%2)", shortened(checkpoint.name), facts.join(', '));
}

function saves(plan: IOffer, words: IWords): string {
  const time = plan.saves_s !== null && plan.saves_s >= WORTH_S ? duration(plan.saves_s) : '';
  const paid = plan.saves_usd !== null && plan.saves_usd > 0 ? money(plan.saves_usd) : '';
  if (time !== '' && paid !== '') {
    return words.__('saves %1 and %2', time, paid);
  }
  return time === '' && paid === '' ? '' : words.__('saves %1', time || paid);
}

/** A name that leaves room for what else is to be said. */
export function shortened(name: string, length = 32): string {
  return name.length <= length ? name : `${name.slice(0, length - 1)}…`;
}

/** The cells that can make again what does not come back. */
export function makersIn(plan: IPlan): ICellPlan[] {
  return plan.cells.filter(({ sets_up, does }) => sets_up && does !== 'runs');
}

/** The cells that run after a resume: those that are left, and others that the user chose. */
export function rest(plan: IPlan, also: ReadonlySet<string> = new Set()): string[] {
  return plan.cells
    .filter(({ does, cell_id }) => does === 'runs' || also.has(cell_id))
    .map(({ cell_id }) => cell_id);
}
