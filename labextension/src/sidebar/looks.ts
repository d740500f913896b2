/** What a cell says of itself, in words. Pure. */

import { duration, moment, plain } from '../timeline/format';
import type { IWords } from '../timeline/words';
import type { IMark, MarkState } from './kernelnews';

/** How many characters of an error or a reason stand beside a cell; the tooltip has the rest. */
const MOST = 90;
/** Nothing takes no time. */
const LEAST_S = 0.001;

/** How the mark of a cell looks. */
export interface ILook {
  state: MarkState;
  /** What is read beside the cell. */
  text: string;
  /** What the tooltip says, line by line. */
  title: string;
  /** What a screen reader says. */
  label: string;
  /** The checkpoint that a click shows. */
  checkpoint: string | null;
}

/**
 * The look of a cell's mark.
 *
 * @param wasEdited - whether its text is another than that which ran; only the page knows
 */
export function lookOf(mark: IMark, wasEdited: boolean, words: IWords): ILook {
  const isEdited = wasEdited && mark.state !== 'running';
  const state = isEdited ? 'stale' : mark.state;
  const told = plain(isEdited ? edited(mark, words) : sentence(mark, words)).trim();
  const lines = [told, ...about(mark, words)];
  const text = shortened(told);
  return {
    state,
    text,
    title: lines.join('\n'),
    label: mark.checkpoint === null ? text : words.__('%1. Show checkpoint %2', text, mark.name),
    checkpoint: mark.checkpoint
  };
}

function edited(mark: IMark, words: IWords): string {
  return mark.state === 'failed'
    ? words.__('stale: edited since it failed')
    : words.__('stale: edited since');
}

function sentence(mark: IMark, words: IWords): string {
  const [error = ''] = mark.error.split('\n');
  switch (mark.state) {
    case 'checkpointed':
      return words.__('checkpointed');
    case 'restored':
      return mark.took_s === null
        ? words.__('restored')
        : words.__('restored in %1', duration(Math.max(LEAST_S, mark.took_s)));
    case 'stale':
      return mark.why === '' ? words.__('stale') : words.__('stale: %1', mark.why);
    case 'failed':
      return error === '' ? words.__('failed') : words.__('failed: %1', error);
    case 'running':
      return words.__('running');
  }
}

function about(mark: IMark, words: IWords): string[] {
  if (mark.checkpoint === null) {
    return [];
  }
  const name =
    mark.created_at === null
      ? words.__('Checkpoint %1', mark.name)
      : words.__('Checkpoint %1, made %2', mark.name, moment(mark.created_at));
  return [name, words.__('A click shows it among the others.')];
}

function shortened(text: string): string {
  return text.length <= MOST ? text : `${text.slice(0, MOST - 1)}…`;
}
