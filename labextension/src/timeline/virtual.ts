/** Only what is seen of a long list is in the page. */

/** What is listed; index 0 is on top. */
export interface IListing {
  count: number;
  /** Stays with the same thing when the list changes. */
  key(index: number): string;
  /** Writes row `index` into `element`, whatever stood there. */
  fill(element: HTMLElement, index: number): void;
}

/** Rows beyond the edge that are drawn before they are seen. */
const AHEAD = 6;

/** Rows of one height, placed in a box that scrolls. */
export class VirtualRows {
  constructor(
    private readonly _scroller: HTMLElement,
    private readonly _create: () => HTMLElement
  ) {
    this._space = document.createElement('div');
    this._space.setAttribute('role', 'presentation');
    this._space.style.position = 'relative';
    _scroller.append(this._space);
    _scroller.addEventListener('scroll', () => {
      this.draw();
    });
  }

  /**
   * Show `listing`, keeping in view what is in view.
   *
   * Rows that come in above would push everything down under the pointer: unless the list stands at
   * its very top, where the newest is to be seen, the first row in view stays where it is.
   */
  show(listing: IListing, rowHeight: number): void {
    const before = this._scroller.scrollTop;
    const anchor = before > 0 ? this._keyAt(Math.floor(before / this._rowHeight)) : null;
    const offset = before % this._rowHeight;
    this._listing = listing;
    this._rowHeight = rowHeight;
    this._indexes = null;
    this._space.style.height = `${listing.count * rowHeight}px`;
    const index = anchor === null ? undefined : this.indexOf(anchor);
    if (index !== undefined) {
      this._scroller.scrollTop = index * rowHeight + offset;
    }
    this.refill();
  }

  /** Write every row in the page anew. */
  refill(): void {
    this._stale = true;
    this.draw();
  }

  /** Row of `key`, undefined if it is not listed. */
  indexOf(key: string): number | undefined {
    if (!this._indexes) {
      this._indexes = new Map();
      for (let index = 0; index < this._listing.count; index++) {
        this._indexes.set(this._listing.key(index), index);
      }
    }
    return this._indexes.get(key);
  }

  /** The element of `key`, if it is in the page. */
  element(key: string): HTMLElement | undefined {
    return this._elements.get(key);
  }

  /** Scroll as little as needed to see row `index`. */
  reveal(index: number): void {
    const top = index * this._rowHeight;
    const height = this._scroller.clientHeight;
    if (top < this._scroller.scrollTop) {
      this._scroller.scrollTop = top;
    } else if (top + this._rowHeight > this._scroller.scrollTop + height) {
      this._scroller.scrollTop = top + this._rowHeight - height;
    }
    this.draw();
  }

  /** Rows that fit, for Page Up and Page Down. */
  get pageSize(): number {
    return Math.max(1, Math.floor(this._scroller.clientHeight / this._rowHeight) - 1);
  }

  /** A row that stays in the page when scrolled away, so that what points at it finds it. */
  pinned: string | null = null;

  /** Put in what is seen, take out what is not. */
  draw(): void {
    const { count } = this._listing;
    const top = Math.floor(this._scroller.scrollTop / this._rowHeight);
    const first = Math.max(0, top - AHEAD);
    const last = Math.min(
      count - 1,
      top + Math.ceil(this._scroller.clientHeight / this._rowHeight) + AHEAD
    );
    const wanted = new Map<string, number>();
    for (let index = first; index <= last; index++) {
      wanted.set(this._listing.key(index), index);
    }
    const pinned = this.pinned === null ? undefined : this.indexOf(this.pinned);
    if (this.pinned !== null && pinned !== undefined) {
      wanted.set(this.pinned, pinned);
    }
    for (const [key, element] of this._elements) {
      if (!wanted.has(key)) {
        element.remove();
        this._elements.delete(key);
      }
    }
    let next = this._space.firstChild;
    for (const [key, index] of [...wanted].sort(([, one], [, other]) => one - other)) {
      const element = this._place(key, index);
      // In the page as on the screen: those who listen to the list hear it in this order.
      if (element === next) {
        next = element.nextSibling;
      } else {
        this._space.insertBefore(element, next);
      }
    }
    this._stale = false;
  }

  private _place(key: string, index: number): HTMLElement {
    let element = this._elements.get(key);
    const known = element !== undefined;
    if (!element) {
      element = this._create();
      element.style.position = 'absolute';
      element.style.left = '0';
      element.style.right = '0';
      this._elements.set(key, element);
    }
    if (!known || this._stale) {
      element.style.height = `${this._rowHeight}px`;
      element.style.top = `${index * this._rowHeight}px`;
      this._listing.fill(element, index);
    }
    return element;
  }

  private _keyAt(index: number): string | null {
    return index < this._listing.count ? this._listing.key(index) : null;
  }

  private readonly _space: HTMLElement;
  private readonly _elements = new Map<string, HTMLElement>();
  private _listing: IListing = { count: 0, key: () => '', fill: () => undefined };
  private _indexes: Map<string, number> | null = null;
  private _rowHeight = 28;
  private _stale = false;
}
