/** The line above the list: where we are, what runs, what is listed. */

import type { IBusy, IStatus } from '../records';
import { make } from './dom';
import type { IFilter } from './filter';
import { duration, money } from './format';
import { helpOf } from './help';
import type { IWords } from './words';

/** Filter and state. */
export class Toolbar {
  readonly node: HTMLElement;

  constructor(
    onFilter: (filter: IFilter) => void,
    private readonly _words: IWords
  ) {
    this._where = make('span', 'where');
    this._query = make('input', 'input of-filter', {
      type: 'search',
      name: 'filter',
      placeholder: _words.__('Filter'),
      'aria-label': _words.__('Filter checkpoints'),
      title: _words.__('A part of the name, or var:df, #tag, branch:x, is:failed'),
      autocomplete: 'off',
      spellcheck: 'false'
    });
    this._automatic = make('input', '', { type: 'checkbox', name: 'automatic' });
    this._automatic.checked = true;
    this._others = make('input', '', { type: 'checkbox', name: 'others' });
    this._count = make('span', 'count');
    this._busy = make('div', 'busy', { hidden: '' });
    const tell = (): void => {
      onFilter({
        query: this._query.value,
        automatic: this._automatic.checked,
        others: this._others.checked
      });
    };
    this._query.addEventListener('input', tell);
    this._query.addEventListener('keydown', event => {
      if (event.key === 'Escape' && this._query.value !== '') {
        event.stopPropagation();
        this._query.value = '';
        tell();
      }
    });
    this._automatic.addEventListener('change', tell);
    this._others.addEventListener('change', tell);
    this._choice = make(
      'label',
      'choice',
      { title: _words.__('List checkpoints that were made automatically') },
      [this._automatic, _words.__('auto')]
    );
    this._ofOthers = make(
      'label',
      'choice',
      { title: _words.__('List the checkpoints of the other notebooks of this store, too') },
      [this._others, _words.__('all notebooks')]
    );
    const help = helpOf(_words);
    this.node = make('div', 'top', {}, [
      make('div', 'toolbar', {}, [this._where, this._count, this._query, help.button]),
      help.page,
      make('div', 'choices', {}, [this._choice, this._ofOthers]),
      this._busy
    ]);
  }

  show(
    status: IStatus,
    counts: { listed: number; all: number; older: number; automatic: number; others: number }
  ): void {
    const words = this._words;
    this._where.replaceChildren(
      make(
        'span',
        'branchName',
        { title: words.__('The branch that the next checkpoint goes to') },
        [status.branch]
      )
    );
    this._where.title = status.store;
    const all = words._n('%1 checkpoint', '%1 checkpoints', counts.all);
    const shown = counts.listed < counts.all ? words.__('%1 of %2', counts.listed, all) : all;
    this._count.textContent =
      counts.older > 0 ? `${shown} · ${words._n('%1 older', '%1 older', counts.older)}` : shown;
    this._choice.hidden = counts.automatic === 0;
    this._ofOthers.hidden = counts.others === 0;
  }

  /** List what other notebooks made, too. */
  listOthers(): void {
    this._others.checked = true;
    this._others.dispatchEvent(new Event('change'));
    this._others.focus();
  }

  /** The cell that runs, and since when. */
  tick(busy: IBusy | null, now: number): void {
    this._busy.hidden = busy === null;
    if (!busy) {
      return;
    }
    const time = duration(Math.max(0, Math.floor(now - busy.began_at)));
    const { done } = busy;
    // Of a generator nobody knows how long it is.
    const total = busy.total !== null && busy.total > 0 ? busy.total : null;
    const progress = total === null ? String(done) : `${done} / ${total}`;
    const bar = make('progress', 'progress', { 'aria-label': this._words.__('items done') });
    if (done !== null && total !== null) {
      bar.max = total;
      bar.value = done;
    }
    this._busy.replaceChildren(
      make('span', 'spinner', { 'aria-hidden': 'true' }),
      make('span', 'busyName', {}, [
        busy.name === ''
          ? this._words.__('running a cell')
          : this._words.__('running %1', busy.name)
      ]),
      make('span', 'busyTime', {}, [time]),
      ...(done === null
        ? []
        : [...(total === null ? [] : [bar]), make('span', 'busyCount', {}, [progress])]),
      ...(busy.calls > 0 ? [this._paid(busy)] : [])
    );
  }

  private _paid({ calls, cost_usd }: IBusy): HTMLElement {
    const count = this._words._n('%1 model call', '%1 model calls', calls);
    const text = cost_usd === null ? count : money(cost_usd);
    return make('span', 'busyCost', { title: this._words.__('%1 so far', count) }, [text]);
  }

  focusFilter(): void {
    this._query.focus();
    this._query.select();
  }

  private readonly _where: HTMLElement;
  private readonly _query: HTMLInputElement;
  private readonly _automatic: HTMLInputElement;
  private readonly _choice: HTMLElement;
  private readonly _others: HTMLInputElement;
  private readonly _ofOthers: HTMLElement;
  private readonly _count: HTMLElement;
  private readonly _busy: HTMLElement;
}
