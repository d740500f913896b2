/** The links of all notebooks that are open, and the one that the user looks at. */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { IDisposable } from '@lumino/disposable';
import { type ISignal, Signal } from '@lumino/signaling';
import { KernelLink } from './kernellink';

/** A notebook and its link; two views of one document have the same link. */
export interface ILinked {
  panel: NotebookPanel;
  link: KernelLink;
}

/** One link for each session: it stays when the notebook is renamed or gets another kernel. */
export class Links implements IDisposable {
  /**
   * @param _policy - what `%nbckpt auto` is to be where the page loads nbckpt; empty: as it is
   */
  constructor(
    private readonly _tracker: INotebookTracker,
    private readonly _policy: () => string = () => ''
  ) {
    _tracker.forEach(panel => {
      this._add(panel);
    });
    _tracker.widgetAdded.connect((_, panel) => {
      this._add(panel);
    }, this);
    _tracker.currentChanged.connect(() => {
      this._currentChanged.emit(this.current);
    }, this);
  }

  /** The notebook that the user works in, null where none is open. */
  get current(): ILinked | null {
    const panel = this._tracker.currentWidget;
    return panel === null || panel.isDisposed ? null : this.of(panel);
  }

  get currentChanged(): ISignal<this, ILinked | null> {
    return this._currentChanged;
  }

  /** A notebook was opened. */
  get added(): ISignal<this, ILinked> {
    return this._added;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** The notebook with its link. */
  of(panel: NotebookPanel): ILinked {
    const context = panel.sessionContext;
    let link = this._links.get(context);
    if (!link) {
      link = new KernelLink(context, this._policy);
      this._links.set(context, link);
      context.disposed.connect(() => this._links.delete(context));
    }
    return { panel, link };
  }

  /** Call `each` for every open notebook. */
  forEach(each: (linked: ILinked) => void): void {
    this._tracker.forEach(panel => {
      each(this.of(panel));
    });
  }

  dispose(): void {
    this._isDisposed = true;
    Signal.clearData(this);
    for (const link of this._links.values()) {
      link.dispose();
    }
    this._links.clear();
  }

  private _add(panel: NotebookPanel): void {
    this._added.emit(this.of(panel));
  }

  private readonly _links = new Map<ISessionContext, KernelLink>();
  private readonly _added = new Signal<this, ILinked>(this);
  private readonly _currentChanged = new Signal<this, ILinked | null>(this);
  private _isDisposed = false;
}
