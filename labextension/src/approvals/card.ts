/** A question that a cell waits on, with its buttons. One card, two hosts: the cell, the sidebar. */

/** A question, as the kernel tells it. */
export interface IQuestion {
  id: string;
  question: string;
  /** What `data` looks like; empty if there is none. */
  preview: string;
  /** Where it is asked, and when; empty where that is plain. */
  where: string;
}

/** What a click says. */
export interface IVerdict {
  id: string;
  verdict: 'approve' | 'refuse' | 'withdraw';
  text: string;
}

/** The words on the card, in the host's language. */
export interface ICardWords {
  __(text: string, ...values: string[]): string;
}

/** Shows one question; texts are text, whatever is in them. */
export class Card {
  readonly node: HTMLElement;
  private readonly _told: HTMLElement;
  private readonly _reason: HTMLInputElement;
  private readonly _buttons: HTMLButtonElement[];
  private readonly _note: HTMLElement;
  private readonly _withdraw: HTMLButtonElement;

  constructor(
    readonly question: IQuestion,
    words: ICardWords,
    onVerdict: (verdict: IVerdict) => void
  ) {
    this.node = element('section', 'card');
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', question.question);
    const reason = element('input', 'reason');
    reason.type = 'text';
    reason.placeholder = words.__('Reason (optional)');
    reason.setAttribute('aria-label', reason.placeholder);
    reason.setAttribute('data-lm-suppress-shortcuts', 'true');
    const pressed = (verdict: IVerdict['verdict']) => (): void => {
      this.setBusy(true);
      this.tell('');
      onVerdict({ id: question.id, verdict, text: reason.value.trim() });
    };
    const approve = button('approve', words.__('Approve'), pressed('approve'));
    const refuse = button('refuse', words.__('Refuse'), pressed('refuse'));
    const told = element('p', 'told');
    told.setAttribute('role', 'status');
    const foot = element('div', 'buttons');
    foot.append(reason, approve, refuse);
    const withdraw = button('withdraw', words.__('Withdraw'), pressed('withdraw'));
    withdraw.title = words.__('Forget this question: it is asked anew when its cell runs again');
    this.node.append(text('p', 'question', question.question));
    if (question.where !== '') {
      this.node.append(text('p', 'where', question.where));
    }
    if (question.preview !== '') {
      this.node.append(text('pre', 'preview', question.preview));
    }
    this._note = text('p', 'note', '');
    this.node.append(foot, this._note, told);
    this._told = told;
    this._reason = reason;
    this._withdraw = withdraw;
    this._buttons = [approve, refuse, withdraw];
    this._nobodyWaits = words.__('No cell waits now: an answer counts when its cell runs again.');
  }

  /** Whether code waits for the answer; if none does, the question can be forgotten. */
  setWaitedFor(isWaitedFor: boolean): void {
    this._note.textContent = isWaitedFor ? '' : this._nobodyWaits;
    if (isWaitedFor) {
      this._withdraw.remove();
    } else if (this._withdraw.parentNode === null) {
      this._reason.parentNode?.append(this._withdraw);
    }
  }

  /** Whether an answer is on its way: then nothing can be pressed. */
  setBusy(isBusy: boolean): void {
    this._reason.disabled = isBusy;
    for (const one of this._buttons) {
      one.disabled = isBusy;
    }
  }

  /** Show a sentence below the buttons. */
  tell(sentence: string): void {
    this._told.textContent = sentence;
  }

  /** Show why an answer did not count, and let another be given. */
  refuse(sentence: string): void {
    this.setBusy(false);
    this.tell(sentence);
  }

  /** Nothing can be pressed any more, for the reason given. */
  end(sentence: string): void {
    this.setBusy(true);
    this.tell(sentence);
  }

  private readonly _nobodyWaits: string;
}

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  name: string
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = `nbckpt-Approval-${name}`;
  return made;
}

function text<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  name: string,
  content: string
): HTMLElementTagNameMap[K] {
  const made = element(tag, name);
  made.textContent = content;
  return made;
}

function button(name: string, label: string, onClick: () => void): HTMLButtonElement {
  const made = text('button', name, label);
  made.type = 'button';
  made.setAttribute('data-lm-suppress-shortcuts', 'true');
  made.addEventListener('click', onClick);
  return made;
}
