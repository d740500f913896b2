/** A menu that opens at a button or at the pointer. */

import { make } from './dom';

/** One line of a menu. */
export interface IMenuItem {
  /** Class of the element; also what a test looks for. */
  kind: string;
  text: string;
  /** The key that does the same in the list; empty where none does. */
  key: string;
  act: () => void;
}

/** Where a menu opens, in pixels of the window. */
export interface IPlace {
  x: number;
  y: number;
}

/** Opens one menu at a time within `_host`; it closes when something is chosen, or elsewhere is. */
export class Menu {
  constructor(
    private readonly _host: HTMLElement,
    private readonly _label: string
  ) {}

  /** Open at `place`; the focus goes back to where it was. */
  open(items: readonly IMenuItem[], place: IPlace): void {
    this.close();
    const page = this._host.getRootNode() as Document | ShadowRoot;
    this._before = page.activeElement as HTMLElement | null;
    const node = make('div', 'menu', { role: 'menu', 'aria-label': this._label });
    node.append(...items.map(item => this._line(item)));
    node.addEventListener('keydown', event => {
      this._key(event);
    });
    node.addEventListener('contextmenu', event => {
      event.preventDefault();
    });
    this._host.append(node);
    this._node = node;
    const host = this._host.getBoundingClientRect();
    const left = Math.min(place.x - host.left, host.width - node.offsetWidth - 4);
    const top = Math.min(place.y - host.top, host.height - node.offsetHeight - 4);
    node.style.left = `${Math.max(0, left)}px`;
    node.style.top = `${Math.max(0, top)}px`;
    this._items[0]?.focus();
    document.addEventListener('pointerdown', this._elsewhere, true);
  }

  close(): void {
    if (this._node) {
      document.removeEventListener('pointerdown', this._elsewhere, true);
      this._node.remove();
      this._node = null;
      this._before?.focus();
    }
  }

  private _line({ kind, text, key, act }: IMenuItem): HTMLElement {
    const line = make('button', `menuItem ${kind}`, { type: 'button', role: 'menuitem' }, [
      make('span', 'menuText', {}, [text]),
      make('span', 'menuKey', { 'aria-hidden': 'true' }, [key])
    ]);
    line.addEventListener('click', () => {
      this.close();
      act();
    });
    return line;
  }

  private _key(event: KeyboardEvent): void {
    const items = this._items;
    const at = items.indexOf(event.target as HTMLElement);
    const to: Readonly<Record<string, number>> = {
      ArrowDown: (at + 1) % items.length,
      ArrowUp: (at + items.length - 1) % items.length,
      Home: 0,
      End: items.length - 1
    };
    const next = to[event.key];
    if (next !== undefined) {
      items[next]?.focus();
    } else if (event.key === 'Escape' || event.key === 'Tab') {
      this.close();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private readonly _elsewhere = (event: Event): void => {
    if (!this._node?.contains(event.composedPath()[0] as Node)) {
      this.close();
    }
  };

  private get _items(): HTMLElement[] {
    return [...(this._node?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
  }

  private _node: HTMLElement | null = null;
  private _before: HTMLElement | null = null;
}
