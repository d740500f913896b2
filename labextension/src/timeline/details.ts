/** What is known of one checkpoint, as a page of sections. */

import type { ICall, IDetails, IOutput, IVariable } from '../records';
import { button, make } from './dom';
import { bytes, count, duration, money, plain } from './format';
import type { IWords } from './words';

/** Variables that are shown at once; more are a click away. */
const MANY = 100;

/**
 * The sections of `details`; those with nothing to say are left out.
 *
 * @param onVariable - a variable's name was clicked
 */
export function detailsOf(
  details: IDetails,
  words: IWords,
  onVariable: (name: string) => void
): HTMLElement {
  return make('div', 'details', { 'data-id': details.row.id }, [
    problem(details, words),
    variables(details, words, onVariable),
    notKept(details, words),
    code(words.__('Code'), details.source),
    outputs(details.outputs, words),
    calls(details.calls, words),
    joined(details, words),
    follows(details, words)
  ]);
}

/** A titled part of the page. */
export function section(
  title: string,
  classes: string,
  children: readonly (Node | string | null)[]
): HTMLElement {
  return make('section', `section ${classes}`, {}, [
    make('h4', 'heading', {}, [title]),
    ...children
  ]);
}

/** What is `hidden` until it is asked for. */
export function folded(summary: string, children: readonly Node[]): HTMLElement {
  return make('details', 'folded', {}, [make('summary', 'summary', {}, [summary]), ...children]);
}

function problem(details: IDetails, words: IWords): HTMLElement | null {
  const { row } = details;
  return row.error ? section(words.__('Error'), 'problem', [pre(row.error)]) : null;
}

function variables(
  details: IDetails,
  words: IWords,
  onVariable: (name: string) => void
): HTMLElement | null {
  const changed = details.variables.filter(variable => variable.changed);
  const same = details.variables.filter(variable => !variable.changed);
  if (details.variables.length === 0 && details.removed.length === 0) {
    return null;
  }
  const title = words._n('Variables: %1 changed', 'Variables: %1 changed', changed.length);
  return section(title, 'variables', [
    changed.length > 0 ? rows(changed, words, onVariable) : null,
    details.removed.length > 0
      ? make('p', 'removed', {}, [words.__('− deleted: %1', details.removed.join(', '))])
      : null,
    same.length > 0
      ? folded(words._n('%1 more, not changed', '%1 more, not changed', same.length), [
          rows(same, words, onVariable)
        ])
      : null
  ]);
}

function rows(
  variables: readonly IVariable[],
  words: IWords,
  onVariable: (name: string) => void
): HTMLElement {
  const list = make('div', 'table of-variables', { role: 'table' });
  list.append(...variables.slice(0, MANY).map(variable => row(variable, words, onVariable)));
  const rest = variables.slice(MANY);
  if (rest.length === 0) {
    return list;
  }
  const more = folded(words._n('%1 more', '%1 more', rest.length), []);
  // A thousand rows are made when somebody wants to see them.
  more.addEventListener('toggle', () => {
    if (more.childElementCount === 1) {
      const tail = make('div', 'table of-variables', { role: 'table' });
      tail.append(...rest.map(variable => row(variable, words, onVariable)));
      more.append(tail);
    }
  });
  return make('div', '', {}, [list, more]);
}

function row(variable: IVariable, words: IWords, onVariable: (name: string) => void): HTMLElement {
  const kind = [variable.type_name, variable.shape].filter(text => text !== '').join(' ');
  const recipe = make('span', 'label', { title: words.__('Made again by its own statement') }, [
    words.__('recipe')
  ]);
  const where = words.__('Made by another user, or elsewhere: it comes back when it is trusted');
  const untrusted = make('span', 'label is-untrusted', { title: where }, [words.__('needs trust')]);
  return make('div', `line is-${variable.changed ? 'changed' : 'same'}`, { role: 'row' }, [
    make('span', 'sign', { role: 'cell', title: variable.changed ? words.__('changed') : '' }, [
      variable.changed ? '●' : '',
      make('span', 'spoken', {}, [variable.changed ? words.__('changed') : ''])
    ]),
    make('span', 'variable', { role: 'cell', title: variable.name }, [
      button(
        'ofVariable',
        variable.name,
        () => {
          onVariable(variable.name);
        },
        { title: words.__('The history of %1', variable.name) }
      )
    ]),
    make('span', 'kind', { role: 'cell', title: kind }, [
      kind,
      variable.recipe ? recipe : null,
      variable.trusted ? null : untrusted
    ]),
    make('span', 'amount', { role: 'cell' }, [
      variable.size_bytes === null ? '' : bytes(variable.size_bytes)
    ]),
    make('span', 'preview', { role: 'cell', title: variable.preview }, [variable.preview])
  ]);
}

function notKept(details: IDetails, words: IWords): HTMLElement | null {
  const refused = details.refused.map(one => {
    const what =
      one.path === '' || one.path === one.variable ? one.variable : `${one.variable}: ${one.path}`;
    return make('li', '', {}, [
      make('code', '', {}, [what]),
      ` (${one.type_name}) — ${one.reason}`
    ]);
  });
  const omitted = details.omitted.map(name => {
    return make('li', '', {}, [make('code', '', {}, [name]), ` — ${words.__('not asked for')}`]);
  });
  const items = [...refused, ...omitted];
  return items.length > 0
    ? section(words.__('Not kept'), 'notKept', [make('ul', 'plainList', {}, items)])
    : null;
}

function code(title: string, source: string): HTMLElement | null {
  return source.trim() === '' ? null : section(title, 'code', [pre(source)]);
}

function outputs(list: readonly IOutput[], words: IWords): HTMLElement | null {
  if (list.length === 0) {
    return null;
  }
  return section(
    words.__('Output'),
    'outputs',
    list.map(output => shown(output, words))
  );
}

function shown(output: IOutput, words: IWords): HTMLElement {
  if (output.image !== null) {
    const image = picture(output.image);
    if (image) {
      image.alt = output.text || words.__('an image that the cell showed');
      return image;
    }
  }
  const text = output.text || words.__('(%1, not shown here)', output.mime || output.kind);
  return pre(text, output.kind === 'error' ? 'is-error' : '');
}

/** An image, if `base64` is a PNG and nothing else: only then may it become an address. */
export function picture(base64: string): HTMLImageElement | null {
  const packed = base64.replace(/\s+/g, '');
  return isPng(packed) ? make('img', 'image', { src: `data:image/png;base64,${packed}` }) : null;
}

/** Whether `base64` is one and begins as PNG files do. */
export function isPng(base64: string): boolean {
  return (
    base64.length % 4 === 0 &&
    base64.startsWith('iVBORw0KGgo') &&
    /^[A-Za-z0-9+/]+={0,2}$/.test(base64)
  );
}

function calls(list: readonly ICall[], words: IWords): HTMLElement | null {
  if (list.length === 0) {
    return null;
  }
  const cost = list.reduce((sum, call) => sum + (call.cost_usd ?? 0), 0);
  const title = words._n('%1 model call', '%1 model calls', list.length);
  const lines = list.slice(0, MANY).map(call => {
    const tokens = `${count(call.input_tokens ?? 0)} → ${count(call.output_tokens ?? 0)}`;
    return make('div', 'line', { role: 'row' }, [
      make('span', 'variable', { role: 'cell' }, [
        call.replayed ? words.__('%1 (replayed)', call.model) : call.model
      ]),
      make('span', 'kind', { role: 'cell', title: words.__('tokens in → out') }, [tokens]),
      make('span', 'amount', { role: 'cell' }, [
        call.duration_s === null ? '' : duration(call.duration_s)
      ]),
      make('span', 'amount', { role: 'cell' }, [call.cost_usd === null ? '' : money(call.cost_usd)])
    ]);
  });
  const left = list.length - lines.length;
  return section(cost > 0 ? `${title} · ${money(cost)}` : title, 'calls', [
    make('div', 'table of-calls', { role: 'table' }, lines),
    left > 0 ? make('p', 'hint', {}, [words._n('and %1 more', 'and %1 more', left)]) : null
  ]);
}

function joined(details: IDetails, words: IWords): HTMLElement | null {
  const { joined: sources } = details;
  if (sources.length === 0) {
    return null;
  }
  const title = words._n(
    '%1 cell before it is part of this',
    '%1 cells before it are part of this',
    sources.length
  );
  return section(
    title,
    'joined',
    sources.map(source => pre(source))
  );
}

function follows(details: IDetails, words: IWords): HTMLElement | null {
  return details.next.length > 0
    ? section(words.__('Followed by'), 'next', [make('p', 'hint', {}, [details.next.join(', ')])])
    : null;
}

/** Text as it stands, without the colours of a terminal. */
export function pre(text: string, classes = ''): HTMLElement {
  return make('pre', `text ${classes}`, { tabindex: '0' }, [plain(text)]);
}
