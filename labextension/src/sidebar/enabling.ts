/** Loads nbckpt into the kernels of all notebooks, where the user's settings say so. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { KernelLink, LinkState } from './kernellink';
import type { ILinked, Links } from './kernellinks';
import type { Settings } from './settings';

/** From these, a kernel without nbckpt is a new one; who unloads nbckpt wants it gone. */
const NEW: ReadonlySet<LinkState> = new Set(['starting', 'no-kernel', 'lost']);

/** Watches all notebooks. */
export class Enabling implements IDisposable {
  constructor(
    links: Links,
    private readonly _settings: Settings
  ) {
    links.forEach(linked => {
      this._follow(linked);
    });
    links.added.connect((_, linked) => {
      this._follow(linked);
    }, this);
    _settings.changed.connect(() => {
      links.forEach(({ link }) => void this._consider(link));
    }, this);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    Signal.clearData(this);
  }

  private _follow({ link }: ILinked): void {
    let before: LinkState = 'starting';
    const look = (): void => {
      const { state } = link;
      if (NEW.has(state)) {
        this._new.add(link);
      } else if (state !== 'not-loaded' || !NEW.has(before)) {
        this._new.delete(link);
      }
      before = state;
      void this._consider(link);
    };
    this._new.add(link);
    link.changed.connect((_, what) => {
      if (what === 'state') {
        look();
      }
    }, this);
    look();
  }

  private async _consider(link: KernelLink): Promise<void> {
    await this._settings.ready;
    if (this._settings.enable !== 'always' || !this._isMeant(link)) {
      return;
    }
    const info = await link.context.session?.kernel?.info;
    if (info?.language_info.name !== 'python' || !this._isMeant(link)) {
      return;
    }
    this._new.delete(link);
    try {
      await link.load();
    } catch (error) {
      // A kernel without the package: the panel's button says so to whom it concerns.
      console.warn('nbckpt was not enabled', error);
    }
  }

  private _isMeant(link: KernelLink): boolean {
    return link.state === 'not-loaded' && this._new.has(link) && !this._isDisposed;
  }

  private readonly _new = new Set<KernelLink>();
  private _isDisposed = false;
}
