/** What happened in the list, read off its events. */

import type { IStatus } from '../records';

/** Further than this from where it was pressed, a mouse has dragged something. */
const DRAGGED_PX = 4;

/** Whether the mouse has stayed where it was, so that nothing was dragged. */
export function isNear(one: MouseEvent, other: MouseEvent): boolean {
  return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) <= DRAGGED_PX;
}

/** Whether a click adds to what is selected. */
export function isForMore(event: MouseEvent): boolean {
  return event.shiftKey || event.ctrlKey || event.metaKey;
}

/** The checkpoint whose row is under the pointer. */
export function idAt(event: MouseEvent): string | undefined {
  return (event.target as Element).closest<HTMLElement>('.nbckpt-Timeline-row')?.dataset.id;
}

/** The listed checkpoint whose line is the trunk. */
export function standing(listed: readonly { id: string }[], status: IStatus): string | null {
  const at = status.position ?? status.head;
  return listed.some(one => one.id === at) ? at : null;
}
