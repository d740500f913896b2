/** What is known of the selected checkpoint, and what can be done with it. */

import type { IRow } from '../records';
import { button, cross, make } from './dom';
import { bytes, duration, moment, money } from './format';
import type { IForm } from './forms';
import { stateText } from './row';
import { type IAction, SHOWN, actionsOf } from './actions';
import type { IPlace } from './menu';
import type { TaskVerb } from './tasks';
import type { IWords } from './words';

/** What the user wants done with what is selected. */
export interface IPaneEvents {
  verb(verb: TaskVerb | 'compare'): void;
  untag(tag: string): void;
  switchTo(branch: string): void;
  /** Open a menu of what else can be done. */
  more(actions: readonly IAction[], place: IPlace): void;
  close(): void;
}

/** What the header has to know. */
export interface ISubject {
  /** Oldest first where there are two. */
  rows: readonly IRow[];
  branch: string;
  /** Where the session stands. */
  here: string | null;
  /** Whether the next click in the list chooses what to compare with. */
  choosing: boolean;
}

/** Header, buttons, form, and the body that somebody else fills. */
export class Pane {
  readonly node: HTMLElement;

  constructor(
    private readonly _events: IPaneEvents,
    private readonly _words: IWords
  ) {
    this._head = make('div', 'paneHead');
    this._buttons = make('fieldset', 'buttons', { 'aria-label': _words.__('Actions') });
    this._formSlot = make('fieldset', 'formSlot', {
      'aria-label': _words.__('Form')
    });
    this._body = make('div', 'body');
    this.node = make('section', 'pane', { hidden: '', 'aria-label': _words.__('Checkpoint') }, [
      this._head,
      this._buttons,
      this._formSlot,
      this._body
    ]);
  }

  /** Write header and buttons; form and body stay. */
  show(subject: ISubject): void {
    this.node.hidden = subject.rows.length === 0;
    const mark = JSON.stringify(subject);
    if (mark === this._mark) {
      return;
    }
    this._mark = mark;
    const focused = this._focusedClass();
    const [row] = subject.rows;
    if (row && subject.rows.length === 1) {
      this._head.replaceChildren(...this._one(row));
      this._buttons.replaceChildren(...this._verbs(row, subject));
    } else if (subject.rows.length > 1) {
      const names = subject.rows.map(each => each.name).join(' → ');
      this._head.replaceChildren(make('h3', 'title', { title: names }, [names]), this._close());
      this._buttons.replaceChildren(this._button('compare', this._words.__('Compare'), 'C'));
    }
    if (focused) {
      this._buttons.querySelector<HTMLElement>(`.${focused}`)?.focus();
    }
  }

  /** Put `content` under the buttons. */
  fill(content: HTMLElement | null): void {
    const top = this._body.scrollTop;
    const stays = content?.dataset.id !== undefined && content.dataset.id === this._shownId;
    this._shownId = content?.dataset.id;
    const open = stays ? this._openFolds() : [];
    this._body.replaceChildren(...(content ? [content] : []));
    if (stays) {
      this._body.querySelectorAll('details').forEach((fold, index) => {
        fold.open = open[index] ?? fold.open;
      });
      this._body.scrollTop = top;
    } else {
      this._body.scrollTop = 0;
    }
  }

  /** Open `form` in place of another. */
  open(form: IForm): void {
    this._form = form;
    this._formSlot.replaceChildren(form.node);
    form.focus();
  }

  closeForm(): void {
    this._form = null;
    this._formSlot.replaceChildren();
  }

  get form(): IForm | null {
    return this._form;
  }

  /** While something is being done, nothing else can be asked for. */
  set disabled(disabled: boolean) {
    this._buttons.disabled = disabled;
    this._formSlot.disabled = disabled;
    this._head.querySelectorAll('button').forEach(each => {
      each.disabled = disabled;
    });
    this.node.setAttribute('aria-busy', String(disabled));
  }

  private _one(row: IRow): Node[] {
    const words = this._words;
    const facts = [
      words.__('on %1', row.branch),
      moment(row.created_at),
      !row.duration_s ? '' : words.__('took %1', duration(row.duration_s)),
      !row.size_bytes ? '' : words.__('%1 added', bytes(row.size_bytes)),
      row.calls > 0 ? words._n('%1 model call', '%1 model calls', row.calls) : '',
      row.cost_usd ? money(row.cost_usd) : '',
      stateText(row, words),
      row.id.slice(0, 8)
    ];
    const tags = row.tags.map(tag =>
      make('span', 'label is-tag', {}, [
        `#${tag}`,
        button(
          'untag',
          '×',
          () => {
            this._events.untag(tag);
          },
          {
            'aria-label': words.__('Take the tag %1 away', tag),
            title: words.__('Take the tag %1 away', tag)
          }
        )
      ])
    );
    return [
      make('h3', 'title', { title: row.name }, [row.name]),
      this._close(),
      make('p', 'facts', { title: row.id }, [facts.filter(fact => fact !== '').join(' · ')]),
      ...(tags.length > 0 ? [make('p', 'tags', {}, tags)] : []),
      ...(row.note ? [make('p', 'noteText', {}, [row.note])] : [])
    ];
  }

  private _verbs(row: IRow, subject: ISubject): HTMLElement[] {
    const actions = actionsOf(row, subject, this._words);
    const shown = actions.slice(0, SHOWN).map(({ verb, text, key }, place) => {
      const made = this._button(verb as TaskVerb | 'compare', text, key);
      made.classList.toggle('nbckpt-is-primary', place === 0);
      if (verb === 'compare') {
        made.setAttribute('aria-pressed', String(subject.choosing));
      }
      return made;
    });
    const text = this._words.__('More actions');
    const more = button(
      'action more',
      '…',
      () => {
        const { left, bottom } = more.getBoundingClientRect();
        this._events.more(actions.slice(SHOWN), { x: left, y: bottom });
      },
      { 'aria-label': text, title: text, 'aria-haspopup': 'menu' }
    );
    return [...shown, more];
  }

  private _button(verb: TaskVerb | 'compare', text: string, key: string): HTMLButtonElement {
    return button(
      `action ${verb}`,
      text,
      () => {
        this._events.verb(verb);
      },
      { title: `${text} (${key})` }
    );
  }

  private _close(): HTMLButtonElement {
    return cross(
      'close',
      this._words.__('Close'),
      () => {
        this._events.close();
      },
      'Esc'
    );
  }

  private _openFolds(): boolean[] {
    return [...this._body.querySelectorAll('details')].map(fold => fold.open);
  }

  private _focusedClass(): string | undefined {
    const focused = this._buttons.querySelector(':focus');
    return focused ? [...focused.classList].pop() : undefined;
  }

  private readonly _head: HTMLElement;
  private readonly _buttons: HTMLFieldSetElement;
  private readonly _formSlot: HTMLFieldSetElement;
  private readonly _body: HTMLElement;
  private _form: IForm | null = null;
  private _mark = '';
  private _shownId: string | undefined;
}
