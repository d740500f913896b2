/** One row of the list. */

import type { IGlance, IRow } from '../records';
import { make } from './dom';
import { age, bytes, duration, moment, money } from './format';
import { glanceOf } from './glances';
import { graph, type IDrawing } from './graph';
import type { IWords } from './words';

/** All that a row shows beside its checkpoint. */
export interface IRowLook extends IDrawing {
  now: number;
  branch: string;
  isActive: boolean;
  /** 1 or 2 where it is the first or second that is selected, else 0. */
  selected: number;
  index: number;
  count: number;
  words: IWords;
  /** What its cell showed. */
  glance: IGlance | null;
  /** Id of the oldest of the runs of one cell that it is one of, null where there are few. */
  group: string | null;
  /** How many older ones it stands for. */
  more: number;
  /** Whether the row above is of another day. */
  isNewDay: boolean;
}

const MOST_HEADS = 3;

/** Writes a checkpoint into `element`. */
export function fillRow(element: HTMLElement, look: IRowLook): void {
  const { row, words } = look;
  element.dataset.id = row.id;
  element.dataset.name = row.name;
  element.dataset.state = row.state;
  element.setAttribute('aria-selected', String(look.selected > 0));
  element.setAttribute('aria-setsize', String(look.count));
  element.setAttribute('aria-posinset', String(look.index + 1));
  element.setAttribute('aria-label', spoken(look));
  element.classList.toggle('nbckpt-is-selected', look.selected > 0);
  element.classList.toggle('nbckpt-is-active', look.isActive);
  element.classList.toggle('nbckpt-is-position', look.isPosition);
  element.classList.toggle('nbckpt-is-automatic', row.automatic);
  element.classList.toggle('nbckpt-is-strange', !row.trusted);
  element.classList.toggle('nbckpt-is-other', !row.own);
  element.classList.toggle('nbckpt-is-newDay', look.isNewDay);
  element.replaceChildren(
    graph(look),
    make('span', 'what', {}, [
      make('span', 'name', { title: row.name }, [row.name]),
      ...fold(look),
      ...labels(look),
      ...(row.note ? [make('span', 'remark', { title: row.note }, [row.note])] : [])
    ]),
    ...(look.glance ? [glanceOf(look.glance)] : []),
    make('span', 'figures', {}, [
      make('span', 'age', { title: moment(row.created_at) }, [age(row.created_at, look.now)]),
      make('span', 'duration', { title: words.__('How long the cell ran') }, [
        row.duration_s ? duration(row.duration_s) : ''
      ]),
      make('span', 'size', { title: words.__('What it added to the store') }, [
        row.size_bytes ? bytes(row.size_bytes) : ''
      ]),
      make('span', 'cost', { title: words.__('Price of its model calls') }, [
        row.cost_usd ? money(row.cost_usd) : ''
      ])
    ])
  );
}

/** What the state is called; empty for a cell that ended well. */
export function stateText(row: IRow, words: IWords): string {
  if (row.state === 'failed') {
    return words.__('failed');
  }
  if (row.state === 'partial') {
    const [done, total] = row.progress ?? [0, 0];
    return total > 0 ? words.__('%1 of %2', done, total) : words.__('not finished');
  }
  if (row.made_by === 'fork') {
    return words.__('forked');
  }
  if (row.made_by === 'update') {
    return words.__('updated');
  }
  return row.automatic ? words.__('auto') : '';
}

/** How often its cell ran here: a click opens or closes the group. */
function fold({ group, more, words }: IRowLook): HTMLElement[] {
  if (group === null) {
    return [];
  }
  const [text, title] =
    more > 0
      ? [`×${more + 1}`, words.__('%1 runs one after the other: show them (→)', more + 1)]
      : ['▾', words.__('Fold the runs of this cell (←)')];
  return [make('span', 'label is-fold', { title, 'data-group': group }, [text])];
}

function labels({ row, isPosition, branch, words }: IRowLook): HTMLElement[] {
  const state = stateText(row, words);
  const heads = row.heads.slice(0, MOST_HEADS);
  const more = row.heads.length - heads.length;
  return [
    ...(isPosition
      ? [
          make(
            'span',
            'label is-here',
            { title: words.__('The variables are those of this checkpoint') },
            [words.__('here')]
          )
        ]
      : []),
    ...(row.own
      ? []
      : [
          make('span', 'label is-other', { title: words.__('Made by another notebook') }, [
            row.notebook
          ])
        ]),
    ...(row.trusted
      ? []
      : [
          make(
            'span',
            'label is-untrusted',
            { title: words.__('Not made by you: what is code in it does not come back') },
            [words.__('not trusted')]
          )
        ]),
    ...(state
      ? [
          make('span', `label is-state is-${row.state}`, row.error ? { title: row.error } : {}, [
            state
          ])
        ]
      : []),
    ...heads.map(head =>
      make(
        'span',
        head === branch ? 'label is-head is-current' : 'label is-head',
        {
          title: words.__('Head of branch %1', head)
        },
        [head]
      )
    ),
    ...(more > 0
      ? [make('span', 'label is-head', { title: row.heads.join('\n') }, [`+${more}`])]
      : []),
    ...row.tags.map(tag => make('span', 'label is-tag', { title: words.__('Tag') }, [`#${tag}`]))
  ];
}

function spoken({ row, isPosition, now, words, more }: IRowLook): string {
  const parts = [
    row.name,
    more > 0 ? words.__('%1 runs, folded', more + 1) : '',
    stateText(row, words) || words.__('done'),
    isPosition ? words.__('you are here') : '',
    row.own ? '' : words.__('of the notebook %1', row.notebook),
    row.trusted ? '' : words.__('not trusted'),
    row.heads.length > 0
      ? words.__('head of %1', row.heads.join(', '))
      : words.__('on %1', row.branch),
    ...row.tags.map(tag => words.__('tag %1', tag)),
    row.note,
    words.__('age %1', age(row.created_at, now)),
    row.duration_s === null ? '' : words.__('took %1', duration(row.duration_s)),
    row.size_bytes === null ? '' : bytes(row.size_bytes),
    row.cost_usd ? money(row.cost_usd) : ''
  ];
  return parts.filter(part => part !== '').join(', ');
}
