/** The forms under the buttons. Each gives what was typed; what is wrong with it is said in place. */

import { button, make } from './dom';
import type { IWords } from './words';

/** A form that is open. */
export interface IForm {
  node: HTMLFormElement;
  /** Show why it was not done. */
  refuse(text: string): void;
  focus(): void;
}

interface IParts {
  title: string;
  submit: string;
  fields: readonly Node[];
  first: () => HTMLElement | null;
  words: IWords;
  /** What is wrong, or the empty text after it was handed on. */
  onSubmit: () => string;
  onCancel: () => void;
}

function form(kind: string, parts: IParts): IForm {
  const error = make('p', 'error', { role: 'alert' });
  const submit = make('button', 'submit', { type: 'submit' }, [parts.submit]);
  const cancel = button('cancel', parts.words.__('Cancel'), parts.onCancel);
  const node = make('form', `form of-${kind}`, { 'aria-label': parts.title }, [
    make('div', 'formTitle', {}, [parts.title]),
    ...parts.fields,
    error,
    make('div', 'formButtons', {}, [submit, cancel])
  ]);
  node.noValidate = true;
  const refuse = (text: string): void => {
    error.textContent = text;
  };
  node.addEventListener('submit', event => {
    event.preventDefault();
    refuse(parts.onSubmit());
  });
  node.addEventListener('keydown', event => {
    if (event.key === 'Escape') {
      event.stopPropagation();
      parts.onCancel();
    }
  });
  return {
    node,
    refuse,
    focus: () => {
      (parts.first() ?? submit).focus();
    }
  };
}

/** Ask once more before a key changes the namespace. */
export function rewindForm(
  name: string,
  words: IWords,
  onSubmit: () => void,
  onCancel: () => void
): IForm {
  return form('rewind', {
    title: words.__('Rewind to %1?', name),
    submit: words.__('Rewind'),
    fields: [
      make('p', 'hint', {}, [words.__('What is there now is checkpointed first, nothing is lost.')])
    ],
    first: () => null,
    words,
    onSubmit: () => {
      onSubmit();
      return '';
    },
    onCancel
  });
}

/** Options of a rerun. */
export function rerunForm(
  name: string,
  words: IWords,
  onSubmit: (options: { everything: boolean; fresh: boolean }) => void,
  onCancel: () => void
): IForm {
  const everything = make('input', '', { type: 'checkbox', name: 'everything' });
  const fresh = make('input', '', { type: 'checkbox', name: 'fresh' });
  return form('rerun', {
    title: words.__('Run the recorded cells after %1 again', name),
    submit: words.__('Rerun'),
    fields: [
      make('label', 'choice', {}, [
        everything,
        words.__('Run all of them, also those that the change cannot have reached')
      ]),
      make('label', 'choice', {}, [
        fresh,
        words.__('Ask the models anew instead of replaying their answers')
      ])
    ],
    first: () => null,
    words,
    onSubmit: () => {
      onSubmit({ everything: everything.checked, fresh: fresh.checked });
      return '';
    },
    onCancel
  });
}

/** One line of text: a tag, a note. */
export function textForm(
  kind: 'tag' | 'note',
  title: string,
  value: string,
  words: IWords,
  onSubmit: (text: string) => void,
  onCancel: () => void
): IForm {
  const input = make('input', 'input', {
    name: kind,
    'aria-label': title,
    autocomplete: 'off',
    spellcheck: 'false'
  });
  input.value = value;
  return form(kind, {
    title,
    submit: kind === 'tag' ? words.__('Tag') : words.__('Keep note'),
    fields: [input],
    first: () => input,
    words,
    onSubmit: () => {
      const text = input.value.trim();
      if (kind === 'tag' && !/^\S+$/.test(text)) {
        return words.__('A tag is one word.');
      }
      onSubmit(text);
      return '';
    },
    onCancel
  });
}

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
