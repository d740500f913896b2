/** The kernel's clock, as far as it can be told from what the kernel says now and then. */

export class KernelClock {
  /** Seconds since the epoch, where the kernel is. */
  get now(): number {
    return Date.now() / 1000 - this._ahead;
  }

  /**
   * The kernel said what time it was.
   *
   * Its first word may be hours old, for the page was reloaded since: a kernel that seems to be
   * behind is then taken to be as late as its word. Later words arrive as they are said.
   */
  hear(kernelNow: number): void {
    const ahead = Date.now() / 1000 - kernelNow;
    if (this._heard === null) {
      this._ahead = Math.min(0, ahead);
    } else if (this._heard !== kernelNow) {
      this._ahead = ahead;
    }
    this._heard = kernelNow;
  }

  private _ahead = 0;
  private _heard: number | null = null;
}
