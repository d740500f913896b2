/** A question that a cell waits on, with its buttons. One card, two hosts: the cell, the sidebar. */

/** A question, as the kernel tells it. */
export interface IQuestion {
  id: string;
  question: string;
  /** What `data` looks like; empty if there is none. */
  preview: string;
  /** `waiting`, `approved`, `refused` or `withdrawn`. */
  state: string;
  /** Where it is asked: the step's name; empty outside of steps. */
  step: string;
  askedAt: number;
}

/** What a click says. */
export interface IVerdict {
  id: string;
  verdict: 'approve' | 'refuse';
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
  private readonly _buttons: readonly HTMLButtonElement[];

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
    this.node.append(text('p', 'question', question.question));
    if (question.preview !== '') {
      this.node.append(text('pre', 'preview', question.preview));
    }
    this.node.append(foot, told);
    this._told = told;
    this._reason = reason;
    this._buttons = [approve, refuse];
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
