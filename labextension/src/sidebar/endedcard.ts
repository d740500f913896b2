/** Above the list of a kernel that is gone: what became of it, and the ways to go on. */

import { button, cross, make } from '../timeline/dom';
import type { IRow } from '../records';
import type { IWords } from '../timeline/words';
import { endedText, halfDone, type IEnded } from './ended';
import { offered, type IOffer } from './resumeplan';

/** Ages are in minutes. */
const AGES_MS = 20_000;

/** The facts that the card tells. */
export interface IEndedFacts {
  /** Null where it went while no page looked. */
  ended: IEnded | null;
  rows: readonly IRow[];
  /** Where the session stood. */
  here: string | null;
  /** What a resume brings back. */
  offer: IOffer;
  /** Why there is nothing that could be resumed into now; empty where there is. */
  obstacle: string;
  /** Whether the notebook has a kernel. */
  hasKernel: boolean;
  /** Whether nbckpt is loaded in the new kernel. */
  isLoaded: boolean;
}

/** The ways on, each a button. */
export interface IWaysOn {
  resume(): Promise<void>;
  resumeAndRun(): Promise<void>;
  /** Load nbckpt, and bring nothing back. */
  enable(): Promise<void>;
  /** Say no more of it. */
  dismiss(): void;
  /** Have the notebook get a kernel that can be resumed into. */
  getKernel(): void;
}

/** Drawn anew where something of it has changed, and as time goes by. */
export class EndedCard {
  readonly node = make('section', 'ended', {});

  constructor(
    private readonly _ways: IWaysOn,
    private readonly _words: IWords
  ) {
    this.node.setAttribute('aria-label', _words.__('The kernel is new'));
    this._timer = window.setInterval(() => {
      this._age();
    }, AGES_MS);
  }

  /** Whether a button's task is being done. */
  get isDoing(): boolean {
    return this._isDoing;
  }

  show(facts: IEndedFacts): void {
    this._facts = facts;
    const mark = JSON.stringify({ ...facts, rows: facts.rows.length });
    if (mark === this._mark || this._isDoing) {
      return;
    }
    this._mark = mark;
    const words = this._words;
    const half = halfDone(facts.rows, facts.here, words);
    const now = Date.now() / 1000;
    const isNone = facts.obstacle !== '';
    this.node.replaceChildren(
      make('div', 'endedHead', {}, [
        this._title,
        cross('dismiss', words.__('Dismiss'), () => {
          this._ways.dismiss();
        })
      ]),
      ...half.map(text => make('p', 'endedHalf', {}, [text])),
      make('p', 'endedOffer', {}, [
        isNone ? facts.obstacle : `${offered(facts.offer, now, words)}.`
      ]),
      make('div', 'endedButtons', {}, isNone ? this._kernel(facts) : this._buttons(facts)),
      this._problem
    );
    this._age();
  }

  dispose(): void {
    window.clearInterval(this._timer);
    this.node.remove();
  }

  private _buttons({ isLoaded }: IEndedFacts): HTMLElement[] {
    const words = this._words;
    const resume = this._button('resume', words.__('Resume'), () => this._ways.resume());
    resume.className += ' jp-mod-styled jp-mod-accept';
    resume.title = words.__('Bring the variables back, and run nothing');
    const all = this._button('resumeAll', words.__('Resume and run the rest…'), () =>
      this._ways.resumeAndRun()
    );
    all.className += ' jp-mod-styled';
    all.title = words.__('Show what would run, then bring the variables back and run it');
    const anew = this._button('enable', words.__('Begin anew'), () => this._ways.enable());
    anew.title = words.__('Enable nbckpt in this kernel, and bring nothing back');
    return [resume, all, ...(isLoaded ? [] : [anew])];
  }

  private _kernel({ hasKernel }: IEndedFacts): HTMLElement[] {
    const words = this._words;
    const text = hasKernel ? words.__('Restart the kernel…') : words.__('Choose a kernel…');
    const get = button('getKernel', text, () => {
      this._ways.getKernel();
    });
    get.className += ' jp-mod-styled jp-mod-accept';
    return [get];
  }

  /** A button that does one thing at a time, and says why it could not. */
  private _button(kind: string, text: string, act: () => Promise<void>): HTMLButtonElement {
    return button(kind, text, () => {
      const disable = (isDoing: boolean): void => {
        this._isDoing = isDoing;
        this.node.querySelectorAll('button').forEach(each => {
          each.disabled = isDoing;
        });
      };
      disable(true);
      this._problem.textContent = '';
      act()
        .catch((error: unknown) => {
          this._problem.textContent = error instanceof Error ? error.message : String(error);
        })
        .finally(() => {
          disable(false);
          if (this._facts) {
            this.show(this._facts); // what came meanwhile
          }
        });
    });
  }

  private _age(): void {
    if (this._facts) {
      const text = endedText(this._facts.ended, Date.now() / 1000, this._words);
      if (this._title.textContent !== text) {
        this._title.textContent = text;
      }
    }
  }

  private readonly _title = make('h3', 'endedTitle', { role: 'status' });
  private readonly _problem = make('p', 'error', { role: 'alert' });
  private readonly _timer: number;
  private _facts: IEndedFacts | null = null;
  private _mark = '';
  private _isDoing = false;
}
