/** What the status bar says of a notebook. Pure. */

import type { IStatus } from '../records';
import { duration, money } from '../timeline/format';
import type { IWords } from '../timeline/words';
import { shortened } from './resumeplan';

/** What took less is not worth a word. */
const WORTH_S = 1;

/** "main · train · $1.20 paid, $4.20 saved". */
export function brief(status: IStatus, head: string | null, words: IWords): string {
  const parts = [shortened(status.branch, 20)];
  if (head !== null) {
    parts.push(shortened(head, 24));
  }
  const sums = [];
  if (status.paid_usd) {
    sums.push(words.__('%1 paid', money(status.paid_usd)));
  }
  if (status.saved_usd) {
    sums.push(words.__('%1 saved', money(status.saved_usd)));
  } else if ((status.saved_s ?? 0) >= WORTH_S) {
    sums.push(words.__('%1 saved', duration(status.saved_s ?? 0)));
  }
  if (sums.length > 0) {
    parts.push(sums.join(', '));
  }
  return parts.filter(part => part !== '').join(' · ');
}

/** The same in sentences, for the tooltip. */
export function inFull(status: IStatus, head: string | null, words: IWords): string {
  const lines = [words.__('nbckpt: branch %1', status.branch)];
  if (head !== null) {
    lines.push(words.__('Newest checkpoint: %1', head));
  }
  if (status.paid_usd !== null) {
    lines.push(words.__('Paid for model calls: %1', money(status.paid_usd)));
  }
  const saved = [
    status.saved_usd ? money(status.saved_usd) : '',
    (status.saved_s ?? 0) >= WORTH_S ? duration(status.saved_s ?? 0) : ''
  ].filter(part => part !== '');
  if (saved.length > 0) {
    lines.push(words.__('Not paid and not run again: %1', saved.join(', ')));
  }
  lines.push(words.__('Click to see the checkpoints'));
  return lines.join('\n');
}
