/** What a value is in numbers, drawn small: a line or bars, and the first rows of a table. */

import type { IFacts } from '../records';
import { folded } from './details';
import { make } from './dom';
import { bytes } from './format';
import { barsOf, lineOf } from './plot';
import type { IWords } from './words';

const SMALL = { width: 96, height: 20 };

/** A number as people read it: of `measure`. */
export function reading(value: number, measure: string): string {
  return measure === 'bytes' ? bytes(value) : String(Number(value.toPrecision(4)));
}

/** The value itself as a small drawing: its numbers, else how often each is there. */
export function drawnFacts(facts: IFacts, words: IWords): Node | null {
  return drawnSeries(facts, words) ?? drawnCounts(facts, words);
}

function drawnSeries({ series, low, high }: IFacts, words: IWords): Node | null {
  const label = words.__('its numbers, %1', rangeOf(low, high, words));
  const isLine = series.filter(each => each !== null).length > 1;
  return isLine ? lineOf(series, { ...SMALL, label }, false) : null;
}

function drawnCounts({ histogram, low, high }: IFacts, words: IWords): Node | null {
  const label = words.__('how often each number is there, %1', rangeOf(low, high, words));
  return histogram.length > 0 ? barsOf(histogram, { ...SMALL, label }) : null;
}

function rangeOf(low: number | null, high: number | null, words: IWords): string {
  return words.__('from %1 to %2', reading(low ?? 0, ''), reading(high ?? 0, ''));
}

/** The first rows of a table, folded. */
export function headOf({ head }: IFacts, words: IWords): HTMLElement | null {
  const table = tableOf(head);
  return table && folded(words.__('first rows'), [table]);
}

/** Two values beside each other: in a drawing and a few numbers, or in their first rows. */
export function comparedFacts(both: readonly IFacts[], words: IWords): HTMLElement[] {
  const heads = both.map(({ head }) => tableOf(head));
  const numbers = both.map(facts => inNumbers(facts, words));
  return [
    ...(numbers.some(each => each !== null) ? [beside(numbers, words)] : []),
    ...(heads.some(each => each !== null)
      ? [folded(words.__('first rows'), [beside(heads, words)])]
      : [])
  ];
}

/** Something of the value before and of the one after, each with a caption. */
export function beside(both: readonly (Node | null)[], words: IWords): HTMLElement {
  const captions = [words.__('before'), words.__('after')];
  const sides = both.map((content, at) =>
    make('figure', 'besideSide', {}, [
      make('figcaption', 'hint', {}, [captions[at] ?? '']),
      content ?? make('p', 'hint', {}, [words.__('nothing to show')])
    ])
  );
  return make('div', 'beside', {}, sides);
}

/** A small drawing with the mean and the range of what it shows. */
function inNumbers(facts: IFacts, words: IWords): HTMLElement | null {
  const drawing = drawnCounts(facts, words) ?? drawnSeries(facts, words);
  if (drawing === null) {
    return null;
  }
  const { measure, number, low, high } = facts;
  const mean =
    measure === 'mean' && number !== null ? words.__('mean %1', reading(number, measure)) : '';
  const told = [mean, rangeOf(low, high, words)].filter(text => text !== '').join(' · ');
  return make('div', 'inNumbers', {}, [drawing, make('span', 'hint', {}, [told])]);
}

function tableOf([titles, ...body]: readonly (readonly string[])[]): HTMLElement | null {
  if (!titles || titles.length === 0) {
    return null;
  }
  const top = titles.map(text => make('th', '', { scope: 'col' }, [text]));
  const cells = (row: readonly string[]): HTMLElement[] =>
    row.map(text => make('td', '', {}, [text]));
  const rows = body.map(row => make('tr', '', {}, cells(row)));
  return make('table', 'headTable', {}, [
    make('thead', '', {}, [make('tr', '', {}, top)]),
    make('tbody', '', {}, rows)
  ]);
}
