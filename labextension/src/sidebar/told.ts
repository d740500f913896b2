/** The word on what came of a command, one at a time. */

import { Notification } from '@jupyterlab/apputils';
import type { IWritten } from '../records';

/** How long a word on what was done is shown. */
const TOLD_MS = 5000;
/** The notification that says what came of the last command. */
let told: string | null = null;

/** Say what the kernel says; nothing where the user cancelled. */
export function tell({ text, error }: IWritten): void {
  if (error !== null) {
    Notification.error(error, { autoClose: false });
  } else if (text !== '') {
    told = Notification.success(text, { autoClose: TOLD_MS });
  }
}

/**
 * Take back what is still said of the command before: it lies over the strip's buttons, and stays
 * for as long as the mouse rests on it.
 */
export function withdraw(): void {
  if (told !== null) {
    Notification.dismiss(told);
    told = null;
  }
}
