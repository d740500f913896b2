/** How two checkpoints differ, as a page of sections. */

import type {
  IDescription,
  IDetail,
  IDifference,
  ILine,
  ISide,
  IVariableDifference
} from '../records';
import { folded, section } from './details';
import { make } from './dom';
import { comparedPictures } from './pictures';
import { bytes, duration, moment, money } from './format';
import { comparedFacts } from './valuefacts';
import type { IWords } from './words';

const SIGNS: Readonly<Record<string, string>> = {
  added: '+',
  removed: '−',
  changed: '~',
  same: '='
};

/** What both cells showed. */
export interface IShown {
  /** In base64. */
  pictures: { before: readonly string[]; after: readonly string[] };
  /** Tables in HTML, interactive plots; null where none differs. */
  displays: HTMLElement | null;
}

/** The sections of `difference`, from `a` to `b`. */
export function comparisonOf(
  difference: IDifference,
  { pictures, displays }: IShown,
  words: IWords
): HTMLElement {
  const seen = comparedPictures(pictures.before, pictures.after, words);
  const differing = difference.variables.filter(one => one.status !== 'same');
  const same = difference.variables.filter(one => one.status === 'same');
  const nothing =
    differing.length === 0 &&
    seen === null &&
    displays === null &&
    isSame(difference.code) &&
    isSame(difference.outputs);
  return make('div', 'comparison', {}, [
    make('div', 'sides', {}, [
      side(difference.a, words.__('before'), '−', words),
      side(difference.b, words.__('after'), '+', words)
    ]),
    nothing ? make('p', 'hint', {}, [words.__('Nothing differs.')]) : null,
    seen,
    displays,
    differing.length > 0
      ? section(
          summed(differing, words),
          'variables',
          differing.map(one => variable(one, words))
        )
      : null,
    difference.same > 0
      ? sameOnes(
          words._n('%1 variable is the same', '%1 variables are the same', difference.same),
          same
        )
      : null,
    lined(words.__('Code'), difference.code),
    lined(words.__('Output'), difference.outputs),
    ...difference.remarks.map(remark => make('p', 'hint', {}, [remark]))
  ]);
}

function isSame(lines: readonly ILine[]): boolean {
  return lines.every(line => line.sign !== '+' && line.sign !== '-');
}

function side(one: ISide, what: string, sign: string, words: IWords): HTMLElement {
  const facts = [
    one.branch,
    one.created_at === null ? '' : moment(one.created_at),
    one.duration_s === null ? '' : words.__('took %1', duration(one.duration_s)),
    one.cost_usd ? money(one.cost_usd) : ''
  ];
  return make('div', 'side', {}, [
    make('span', 'sign', { title: what }, [sign]),
    make('span', 'name', {}, [one.name]),
    make('span', 'hint', {}, [facts.filter(fact => fact !== '').join(' · ')])
  ]);
}

function summed(differing: readonly IVariableDifference[], words: IWords): string {
  const number = (status: string): number => differing.filter(one => one.status === status).length;
  const parts = [
    [words.__('changed'), number('changed')],
    [words.__('added'), number('added')],
    [words.__('removed'), number('removed')]
  ] as const;
  const told = parts.filter(([, many]) => many > 0).map(([what, many]) => `${many} ${what}`);
  return words.__('Variables: %1', told.join(', '));
}

function sameOnes(title: string, same: readonly IVariableDifference[]): HTMLElement {
  const names = same.map(one => one.name).join(', ');
  return names === ''
    ? make('p', 'hint', {}, [title])
    : folded(title, [make('p', 'hint', {}, [names])]);
}

/** How one variable differs, unfolded. */
export function variable(one: IVariableDifference, words: IWords): HTMLElement {
  const head = [
    make('span', 'sign', { title: one.status }, [SIGNS[one.status] ?? '?']),
    make('span', 'variable', {}, [one.name]),
    make('span', 'spoken', {}, [one.status]),
    make('span', 'kind', {}, [kinds(one.a, one.b)]),
    make('span', 'hint', {}, [one.detail?.summary ?? ''])
  ];
  const inside = [
    ...(one.detail ? detail(one.detail, words) : []),
    ...(one.facts ? comparedFacts(one.facts, words) : [])
  ];
  if (inside.length === 0) {
    inside.push(...previews(one));
  }
  const classes = `difference is-${one.status}`;
  if (inside.length === 0) {
    return make('div', classes, { 'data-name': one.name }, [make('div', 'summary', {}, head)]);
  }
  return make('details', classes, { 'data-name': one.name, open: '' }, [
    make('summary', 'summary', {}, head),
    ...inside
  ]);
}

/** "int", or "list 3 → list 4". */
function kinds(a: IDescription | null, b: IDescription | null): string {
  const told = [a, b].map(one =>
    one ? [one.type_name, one.shape].filter(text => text !== '').join(' ') : ''
  );
  const [before = '', after = ''] = told;
  return before === after || before === '' || after === ''
    ? after || before
    : `${before} → ${after}`;
}

function previews({ a, b }: IVariableDifference): HTMLElement[] {
  const told = (one: IDescription): string =>
    one.preview || (one.size_bytes === null ? '' : bytes(one.size_bytes));
  return [
    ...(a && told(a) ? [lineOf({ sign: '-', text: told(a) })] : []),
    ...(b && told(b) ? [lineOf({ sign: '+', text: told(b) })] : [])
  ];
}

function detail(one: IDetail, words: IWords): HTMLElement[] {
  // A row without a path says what the summary says.
  const rows = one.rows.filter(([path]) => path !== '');
  const cells = rows.map(([path, before, after]) =>
    make('div', 'line', { role: 'row' }, [
      make('span', 'variable', { role: 'cell', title: path }, [path]),
      make('span', 'before', { role: 'cell', title: before }, [before]),
      make('span', 'arrow', { 'aria-hidden': 'true' }, ['→']),
      make('span', 'after', { role: 'cell', title: after }, [after])
    ])
  );
  return [
    ...(cells.length > 0 ? [make('div', 'table of-changes', { role: 'table' }, cells)] : []),
    ...(one.lines.length > 0 ? [block(one.lines)] : []),
    ...(one.more > 0
      ? [make('p', 'hint', {}, [words._n('and %1 more', 'and %1 more', one.more)])]
      : [])
  ];
}

function lined(title: string, lines: readonly ILine[]): HTMLElement | null {
  return isSame(lines) ? null : section(title, 'lines', [block(lines)]);
}

function block(lines: readonly ILine[]): HTMLElement {
  return make('div', 'text of-lines', { tabindex: '0' }, lines.map(lineOf));
}

function lineOf({ sign, text }: ILine): HTMLElement {
  const kind = { '+': 'is-added', '-': 'is-removed', '@': 'is-jump' }[sign] ?? 'is-both';
  const shown = { '-': '−', '@': '⋯' }[sign] ?? sign;
  return make('div', `diffLine ${kind}`, {}, [
    make('span', 'sign', {}, [shown]),
    make('span', 'lineText', {}, [text])
  ]);
}
