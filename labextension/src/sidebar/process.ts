/** Notices that a kernel is another process than before. */

import type { KernelMessage } from '@jupyterlab/services';

/** A server tells these in a kernel's name. */
const OF_SERVER: readonly string[] = ['restarting', 'autorestarting', 'dead', 'terminating'];

/** Every process signs what it says with a session of its own. */
export class ProcessWatch {
  /**
   * @param _changed - called once, when another than the known process speaks
   */
  constructor(private readonly _changed: () => void) {}

  /** A message that is of the process itself. */
  know(message: KernelMessage.IMessage): void {
    this._session = message.header.session;
  }

  /** Whatever process comes next, it is no surprise. */
  forget(): void {
    this._session = null;
  }

  /** Something that was published in the kernel's name. */
  hear(message: KernelMessage.IMessage): void {
    const { content, header } = message;
    if (this._session === null || header.msg_type !== 'status') {
      return;
    }
    const state = (content as { execution_state?: string }).execution_state ?? '';
    if (header.session !== this._session && !OF_SERVER.includes(state)) {
      this._session = null;
      this._changed();
    }
  }

  private _session: string | null = null;
}
