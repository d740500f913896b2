/** How a variable came to be what it is, as a page: a line over its steps, and each of them. */

import type { IVariableHistory, IVariablePoint } from '../records';
import { section } from './details';
import { button, make } from './dom';
import { ago } from './format';
import { drawnFacts, headOf, reading } from './valuefacts';
import { lineOf } from './plot';
import type { IWords } from './words';

/** What the user wants done with a step of the history. */
export interface IPointEvents {
  /** Bring the value of then back. */
  restore(point: IVariablePoint): void;
  /** Compare with the value of another step, which is chosen next or was before. */
  compare(point: IVariablePoint): void;
  /** Select the checkpoint. */
  reveal(point: IVariablePoint): void;
  /** Back to the checkpoint. */
  close(): void;
}

const WIDTH = 300;
const HEIGHT = 56;

/**
 * The page.
 *
 * @param chosen - id of the checkpoint that is to be compared with another
 * @param comparison - how two of them differ
 */
export function variablePage(
  history: IVariableHistory,
  { chosen, comparison }: { chosen: string | null; comparison: Node | null },
  events: IPointEvents,
  now: number,
  words: IWords
): HTMLElement {
  const steps = history.points.length + history.older;
  const back = button('back', words.__('← Back'), () => {
    events.close();
  });
  const told = words._n('%1 step changed it', '%1 steps changed it', steps);
  const points = history.points.map(point =>
    item(point, point.checkpoint === chosen, events, now, words)
  );
  const older = words._n('and %1 older step', 'and %1 older steps', history.older);
  return make('div', 'variablePage', { 'data-name': history.variable }, [
    make('div', 'variableHead', {}, [
      back,
      make('h4', 'heading of-code', {}, [history.variable]),
      make('span', 'hint', {}, [told])
    ]),
    overview(history, words),
    comparison === null ? null : section(words.__('Compared'), 'compared', [comparison]),
    make('ol', 'points', {}, points),
    history.older > 0 ? make('p', 'hint', {}, [older]) : null
  ]);
}

function overview({ numbers, measure }: IVariableHistory, words: IWords): HTMLElement | null {
  const known = numbers.filter(each => each !== null);
  if (known.length < 2) {
    return null;
  }
  const names: Readonly<Record<string, string>> = {
    bytes: words.__('size'),
    mean: words.__('mean'),
    rows: words.__('rows'),
    length: words.__('length'),
    value: words.__('value')
  };
  const told = (of: number): string => reading(of, measure);
  const label = words.__(
    '%1, from %2 to %3',
    names[measure] ?? measure,
    told(known[0] ?? 0),
    told(known[known.length - 1] ?? 0)
  );
  return make('figure', 'overview', {}, [
    lineOf(numbers, { width: WIDTH, height: HEIGHT, label }, true),
    make('figcaption', 'hint', {}, [label])
  ]);
}

function item(
  point: IVariablePoint,
  isChosen: boolean,
  events: IPointEvents,
  now: number,
  words: IWords
): HTMLElement {
  const name = button(
    'ofStep',
    point.step,
    () => {
      events.reveal(point);
    },
    { title: words.__('Show the checkpoint %1', point.step) }
  );
  const kind = [point.type_name, point.shape].filter(text => text !== '').join(' ');
  const facts = [ago(point.created_at, now, words), kind || point.change];
  const changed = [point.difference, ...point.why].filter(text => text !== '');
  return make('li', `point is-${point.change.replace(' ', '-')}`, { 'data-id': point.checkpoint }, [
    make('div', 'pointHead', {}, [name, make('span', 'hint', {}, [facts.join(' · ')])]),
    make('div', 'pointValue', {}, [
      make('span', 'told', { title: point.told }, [point.told]),
      drawnFacts(point.facts, words)
    ]),
    make('p', 'why', {}, [changed.join(' · ')]),
    point.code.length > 0 ? make('pre', 'text', {}, [point.code.join('\n')]) : null,
    headOf(point.facts, words),
    kind === '' ? null : verbs(point, isChosen, events, words)
  ]);
}

function verbs(
  point: IVariablePoint,
  isChosen: boolean,
  events: IPointEvents,
  words: IWords
): HTMLElement {
  const restore = button('action restore', words.__('Bring this value back'), () => {
    events.restore(point);
  });
  const compare = button(
    'action compare',
    words.__('Compare…'),
    () => {
      events.compare(point);
    },
    { 'aria-pressed': String(isChosen) }
  );
  return make('div', 'pointVerbs', {}, [restore, compare]);
}
