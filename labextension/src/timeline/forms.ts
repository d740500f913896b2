/** The forms under the buttons. Each gives what was typed; what is wrong with it is said in place. */

import { button, make } from './dom';
import type { IWords } from './words';

/** A form that is open. */
export interface IForm {
  node: HTMLFormElement;
  /** Show why it was not done. */
  refuse(text: string): void;
  /** Go to the field that was typed in last, at first to the one to begin with. */
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

/** A form of `kind` out of its parts. */
export function form(kind: string, parts: IParts): IForm {
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
  let last: HTMLElement | null = null;
  node.addEventListener('input', ({ target }) => {
    last = target instanceof HTMLInputElement ? target : last;
  });
  return {
    node,
    refuse,
    focus: () => {
      (last?.isConnected ? last : (parts.first() ?? submit)).focus();
    }
  };
}

/** A question that is answered by its button. */
function question(
  kind: string,
  told: { title: string; submit: string; hint: string },
  words: IWords,
  onSubmit: () => void,
  onCancel: () => void
): IForm {
  return form(kind, {
    title: told.title,
    submit: told.submit,
    fields: [make('p', 'hint', {}, [told.hint])],
    first: () => null,
    words,
    onSubmit: () => {
      onSubmit();
      return '';
    },
    onCancel
  });
}

/** Ask once more before a key changes the namespace. */
export function rewindForm(
  name: string,
  words: IWords,
  onSubmit: () => void,
  onCancel: () => void
): IForm {
  const told = {
    title: words.__('Rewind to %1?', name),
    submit: words.__('Rewind'),
    hint: words.__('What is there now is checkpointed first, nothing is lost.')
  };
  return question('rewind', told, words, onSubmit, onCancel);
}

/** Ask before a move to another notebook's checkpoint. */
export function otherForm(
  what: string,
  row: { name: string; notebook: string },
  words: IWords,
  onSubmit: () => void,
  onCancel: () => void
): IForm {
  const told = {
    title: words.__('%1?', what),
    submit: words.__('Go there'),
    hint: words.__(
      '%1 is a checkpoint of the notebook %2: its variables take the place of those of this one. What is there now is checkpointed first.',
      row.name,
      row.notebook
    )
  };
  return question('other', told, words, onSubmit, onCancel);
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
