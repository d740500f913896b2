/** The status bar's item: the current notebook's branch and head, and what it paid and saved. */

import { Widget } from '@lumino/widgets';
import { type ISignal, Signal } from '@lumino/signaling';
import type { IWords } from '../timeline/words';
import type { ILinked, Links } from './kernellinks';
import { brief, inFull } from './statuswords';

/** A button with a few words; hidden where the current notebook has no nbckpt. */
export class StatusItem extends Widget {
  constructor(
    private readonly _links: Links,
    private readonly _words: IWords,
    onClick: () => void
  ) {
    const node = document.createElement('button');
    super({ node });
    node.type = 'button';
    this.addClass('nbckpt-StatusItem');
    node.addEventListener('click', onClick);
    const follow = (linked: ILinked): void => {
      linked.link.changed.connect((link, what) => {
        if (link === _links.current?.link && (what === 'state' || what === 'status')) {
          this._draw();
        }
      }, this);
    };
    _links.forEach(follow);
    _links.added.connect((_, linked) => {
      follow(linked);
    }, this);
    _links.currentChanged.connect(() => {
      this._draw();
    }, this);
    this._draw();
  }

  /** Whether there is something to tell. */
  get isActive(): boolean {
    return this.node.textContent !== '';
  }

  get activeChanged(): ISignal<this, void> {
    return this._activeChanged;
  }

  override dispose(): void {
    Signal.clearData(this);
    super.dispose();
  }

  private _draw(): void {
    const link = this._links.current?.link;
    const status = link?.state === 'ready' ? link.status : null;
    const was = this.isActive;
    const name = link?.rows.find(row => row.id === status?.head)?.name ?? null;
    this.node.textContent = status ? brief(status, name, this._words) : '';
    this.node.title = status ? inFull(status, name, this._words) : '';
    if (was !== this.isActive) {
      this._activeChanged.emit();
    }
  }

  private readonly _activeChanged = new Signal<this, void>(this);
}
