/** The form for a fork: a branch, and other values. */

import { button, make } from './dom';
import { form, type IForm } from './forms';
import type { IWords } from './words';

/** What a fork is made with. */
export interface IForkRequest {
  branch: string | null;
  values: Record<string, string>;
}

/** A new branch, with other values. */
export function forkForm(
  name: string,
  known: { branches: readonly string[]; variables: readonly string[] },
  words: IWords,
  onSubmit: (request: IForkRequest) => void,
  onCancel: () => void
): IForm {
  const branch = make('input', 'input', {
    name: 'branch',
    placeholder: words.__('a name is chosen if you give none'),
    autocomplete: 'off',
    spellcheck: 'false'
  });
  const choices = make(
    'datalist',
    '',
    { id: `nbckpt-variables-${Math.random().toString(36).slice(2)}` },
    known.variables.map(variable => make('option', '', { value: variable }))
  );
  const values = make('div', 'values', {});
  const add = (): HTMLInputElement => {
    const pair = valueFields(choices.id, words);
    values.append(pair.node);
    return pair.name;
  };
  add();
  return form('fork', {
    title: words.__('New branch at %1', name),
    submit: words.__('Fork'),
    fields: [
      make('label', 'field', {}, [make('span', 'fieldName', {}, [words.__('Branch')]), branch]),
      make('div', 'fieldName', {}, [words.__('Other values (Python, evaluated there)')]),
      values,
      choices,
      button('addRow', words.__('+ value'), () => {
        add().focus();
      })
    ],
    first: () => branch,
    words,
    onSubmit: () => {
      const pairs = [...values.children].map(pair =>
        [...pair.querySelectorAll('input')].map(input => input.value)
      );
      const read = readFork(branch.value, pairs, known.branches, words);
      if (typeof read === 'string') {
        return read;
      }
      onSubmit(read);
      return '';
    },
    onCancel
  });
}

function valueFields(
  choices: string,
  words: IWords
): { node: HTMLElement; name: HTMLInputElement } {
  const shared = { autocomplete: 'off', spellcheck: 'false' };
  const name = make('input', 'input of-code', {
    ...shared,
    name: 'variable',
    list: choices,
    placeholder: 'name',
    'aria-label': words.__('Variable')
  });
  const expression = make('input', 'input of-code', {
    ...shared,
    name: 'expression',
    placeholder: words.__('expression'),
    'aria-label': words.__('Expression')
  });
  const node = make('div', 'value', {}, [
    name,
    make('span', 'equals', { 'aria-hidden': 'true' }, ['=']),
    expression,
    button(
      'removeRow',
      '×',
      () => {
        node.remove();
      },
      { 'aria-label': words.__('Remove this value'), title: words.__('Remove this value') }
    )
  ]);
  return { node, name };
}

/** What the fields ask for, or what is wrong with them. Pure. */
export function readFork(
  branch: string,
  pairs: readonly (readonly string[])[],
  branches: readonly string[],
  words: IWords
): IForkRequest | string {
  const wanted = branch.trim();
  if (/\s/.test(wanted)) {
    return words.__("'%1' has a blank in it; a branch is one word", wanted);
  }
  if (branches.includes(wanted)) {
    return words.__("There is a branch '%1' already; choose another name", wanted);
  }
  // A map, because `__proto__` is a name like any other in Python.
  const values = new Map<string, string>();
  for (const [first = '', second = ''] of pairs) {
    const name = first.trim();
    const expression = second.trim();
    if (name === '' && expression === '') {
      continue;
    }
    if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)) {
      return name === ''
        ? words.__("Which variable is to be '%1'?", expression)
        : words.__("'%1' is no name of a variable", name);
    }
    if (expression === '') {
      return words.__("What is '%1' to be? Write a Python expression", name);
    }
    if (values.has(name)) {
      return words.__("'%1' stands there twice", name);
    }
    values.set(name, expression);
  }
  return { branch: wanted === '' ? null : wanted, values: Object.fromEntries(values) };
}
