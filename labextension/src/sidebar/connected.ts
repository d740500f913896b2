/** What a connection to a kernel comes to, and whom it tells. */

import type { End } from './ended';

/**
 * `starting` until the kernel can be asked whether it has nbckpt, `loading` while it introduces
 * itself, `lost` where it died, or speaks otherwise than this page.
 */
export type LinkState = 'no-kernel' | 'starting' | 'not-loaded' | 'loading' | 'ready' | 'lost';

/** Whom a connection tells. */
export interface IConnected {
  became(state: LinkState, problem: string): void;
  /** The process that was spoken with is gone; null where nbckpt was unloaded from it. */
  ended(how: End | null): void;
  /** An event, as it came. */
  heard(data: unknown): void;
  /** The comms are open: ask for what there is. */
  greet(): Promise<void>;
  isBusy(): boolean;
}
