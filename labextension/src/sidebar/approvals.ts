/** The questions that the current notebook waits on, above its timeline. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { Card, type IVerdict } from '../approvals/card';
import style from '../approvals/style.css';
import { checked, flag, number, or, shaped, text, type Check } from '../shapes';
import type { IWords } from '../timeline/words';
import type { KernelLink } from './kernellink';
import type { Links } from './kernellinks';
import type { Approval } from './kernelnews';

interface IAsked {
  id: string;
  question: string;
  preview: string;
  step: string;
  asked_at: number;
  is_waited_for: boolean;
}

const asAsked: Check<IAsked> = shaped<IAsked>({
  id: text,
  question: text,
  preview: or(text, ''),
  step: or(text, ''),
  asked_at: number,
  is_waited_for: or(flag, false)
});

interface IDone {
  text: string;
}

const asDone: Check<IDone> = shaped<IDone>({ text: or(text, '') });

/** Draws into the host the cards of the notebook that is current; each keeps what is typed. */
export class Approvals implements IDisposable {
  constructor(
    host: HTMLElement,
    private readonly _links: Links,
    private readonly _words: IWords
  ) {
    const shared = document.createElement('style');
    shared.textContent = style;
    this._list = document.createElement('div');
    this._list.className = 'nbckpt-Approval-list';
    // A question that comes is read out, wherever the focus is.
    this._list.setAttribute('aria-live', 'polite');
    host.append(shared, this._list);
    const follow = (link: KernelLink): void => {
      link.changed.connect((_, change) => {
        if (change === 'approvals' || change === 'state') {
          this._draw();
        }
      }, this);
    };
    _links.forEach(linked => {
      follow(linked.link);
    });
    _links.added.connect((_, linked) => {
      follow(linked.link);
    }, this);
    _links.currentChanged.connect(() => {
      this._draw();
    }, this);
    this._draw();
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      Signal.clearData(this);
      this._list.remove();
    }
  }

  private _draw(): void {
    const link = this._links.current?.link ?? null;
    const wanted = link === null ? [] : this._cardsOf(link);
    const shown = [...this._list.children];
    // To put in again what is there would cost it the focus.
    if (wanted.length !== shown.length || wanted.some((card, at) => card !== shown[at])) {
      this._list.replaceChildren(...wanted);
    }
  }

  private _cardsOf(link: KernelLink): Node[] {
    const known = this._cards.get(link) ?? new Map<string, Card>();
    const now = new Map<string, Card>();
    for (const approval of link.approvals) {
      const asked = this._asked(approval);
      if (asked === null) {
        continue;
      }
      const card = known.get(asked.id) ?? this._card(link, asked);
      card.setWaitedFor(asked.is_waited_for);
      now.set(asked.id, card);
    }
    this._cards.set(link, now);
    return [...now.values()].map(card => card.node);
  }

  private _card(link: KernelLink, asked: IAsked): Card {
    const { id, question, preview, step } = asked;
    const time = new Date(asked.asked_at * 1000).toLocaleString([], {
      dateStyle: 'short',
      timeStyle: 'short'
    });
    const where = step === '' ? time : `${step} · ${time}`;
    const card: Card = new Card({ id, question, preview, where }, this._words, verdict => {
      void this._answer(link, card, verdict);
    });
    return card;
  }

  /** Hand on what was pressed; the card goes when the kernel says that nothing waits. */
  private async _answer(link: KernelLink, card: Card, verdict: IVerdict): Promise<void> {
    try {
      const done = await link.ask('answer', verdict, asDone);
      card.tell(done.text);
    } catch (error) {
      card.refuse(error instanceof Error ? error.message : String(error));
    }
  }

  /** What the kernel told of a question; null where it is of another version. */
  private _asked(approval: Approval): IAsked | null {
    try {
      return checked(asAsked, approval, 'approval');
    } catch {
      return null;
    }
  }

  private readonly _list: HTMLElement;
  private readonly _cards = new WeakMap<KernelLink, Map<string, Card>>();
  private _isDisposed = false;
}
