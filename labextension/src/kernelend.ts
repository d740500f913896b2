/** Tells a widget that the kernel it belongs to is gone, where the front end knows of it. */

/** A signal of Lumino, as far as it is used here. */
interface ISignal {
  connect(slot: () => void): void;
  disconnect(slot: () => void): void;
}

/** A kernel of JupyterLab's. Other front ends may have none of its members. */
interface IKernel {
  readonly status?: string;
  readonly isDisposed?: boolean;
  readonly statusChanged?: ISignal;
  readonly disposed?: ISignal;
}

/** What a widget's model tells of its kernel; the manager is that of Jupyter's widgets. */
export interface IOfKernel {
  readonly widget_manager?: { readonly kernel?: IKernel | null };
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
}

/** Jupyter's widgets put it on a view whose model no kernel hears. */
const DISCONNECTED = '.jupyter-widgets-disconnected';
const ENDED: ReadonlySet<string> = new Set(['restarting', 'autorestarting', 'terminating', 'dead']);

/**
 * Have `ended` called once, when the kernel of a widget ends; at once if it has ended already.
 *
 * @param el - where the widget is drawn
 * @returns what ends the watch
 */
export function watchEnd(model: IOfKernel, el: HTMLElement, ended: () => void): () => void {
  // The kernel of the moment: a notebook that is given another one keeps its manager.
  const kernel = model.widget_manager?.kernel ?? null;
  const look = (): void => {
    const isGone = kernel?.isDisposed === true || ENDED.has(kernel?.status ?? '');
    if (isGone || el.closest(DISCONNECTED) !== null) {
      tell();
    }
  };
  const tell = (): void => {
    stop();
    ended();
  };
  const stop = (): void => {
    model.off('comm_live_update', look);
    model.off('comm:close', tell);
    kernel?.statusChanged?.disconnect(look);
    kernel?.disposed?.disconnect(tell);
  };
  model.on('comm_live_update', look);
  model.on('comm:close', tell);
  kernel?.statusChanged?.connect(look);
  kernel?.disposed?.connect(tell);
  look();
  return stop;
}
