/** The two comms of one target: the kernel's, which tells, and the page's, which asks. */

import type { Kernel, KernelMessage } from '@jupyterlab/services';
import { UUID } from '@lumino/coreutils';

/** JupyterLab keeps one subshell for each target name, so both comms have the same. */
export const TARGET = 'nbckpt';
export const PROTOCOL = 1;

/** How the ids of the two kinds begin: a list of a kernel's comms has nothing else to tell by. */
const EVENTS = 'nbckpt-events-';
const ASKS = 'nbckpt-asks-';

/** How long a subshell may take; a kernel without subshells never says that it has none. */
const SUBSHELL_MS = 1000;

/**
 * Id of the comm over which the kernel tells, which it opened before this page was there; or null.
 *
 * Asked on the main shell, so the answer waits for the cell that runs.
 */
export async function eventsOf(kernel: Kernel.IKernelConnection): Promise<string | null> {
  const reply = await kernel.requestCommInfo({ target_name: TARGET });
  if (reply.content.status !== 'ok') {
    return null;
  }
  const id = Object.keys(reply.content.comms).find(each => each.startsWith(EVENTS));
  return id === undefined || kernel.hasComm(id) ? null : id;
}

/**
 * A comm to ask over, open.
 *
 * Only for a kernel that has announced itself: another one would open a subshell for nothing and
 * complain about it in the user's cell.
 */
export async function openAsks(
  kernel: Kernel.IKernelConnection,
  onMessage: (message: KernelMessage.ICommMsgMsg) => void
): Promise<Kernel.IComm> {
  const comm = kernel.createComm(TARGET, ASKS + UUID.uuid4());
  comm.onMsg = onMessage;
  // Without its subshell the first message waits behind the running cell, and the rest with it.
  const { subshellStarted } = comm as { subshellStarted?: Promise<void> };
  if (subshellStarted) {
    const late = new Promise<void>(done => setTimeout(done, SUBSHELL_MS));
    await Promise.race([subshellStarted.catch(() => undefined), late]);
  }
  if (!comm.isDisposed) {
    comm.open();
  }
  return comm;
}

/** Have the kernel forget a comm of ours. */
export function closeAsks(comm: Kernel.IComm): void {
  // A second `dispose` would take away the subshell that the next comm uses.
  if (comm.isDisposed) {
    return;
  }
  try {
    comm.close();
  } catch {
    comm.dispose(); // the connection is gone, and with it the kernel's end
  }
}

/** The two comms to the process that is spoken with, as far as they are there. */
export class Comms {
  events: Kernel.IComm | null = null;
  asks: Kernel.IComm | null = null;

  /** Ask; false where there is nobody to ask. */
  send(message: object): boolean {
    if (this.asks === null || this.asks.isDisposed) {
      return false;
    }
    this.asks.send(message as Record<string, never>);
    return true;
  }

  /** Speak no longer with a process that lives. */
  leave(): void {
    if (this.asks !== null) {
      closeAsks(this.asks);
    }
    if (this.events !== null) {
      deafen(this.events);
    }
    this.forget();
  }

  /** Their process is gone, and with it the subshell that they were on. */
  forsake(): void {
    for (const comm of [this.asks, this.events]) {
      if (comm !== null && !comm.isDisposed) {
        deafen(comm);
        comm.dispose();
      }
    }
    this.forget();
  }

  /** Somebody else disposes of them. */
  forget(): void {
    this.events = this.asks = null;
  }
}

/** Listen no longer: JupyterLab disposes of the kernel's comm when the kernel closes it. */
function deafen(comm: Kernel.IComm): void {
  comm.onMsg = () => undefined;
  comm.onClose = () => undefined;
}
