/** What keys do in the list, and what the filter understands. */

import { button, make } from './dom';
import type { IWords } from './words';

/** A button, and what it opens. */
export interface IHelp {
  button: HTMLButtonElement;
  page: HTMLElement;
}

/** Made closed; the button opens and closes it, Escape closes it. */
export function helpOf(words: IWords): IHelp {
  const keys: readonly [string, string][] = [
    ['↑ ↓', words.__('go through the checkpoints')],
    [words.__('Enter'), words.__('rewind to it')],
    ['F', words.__('fork from it')],
    ['R', words.__('rerun the cells below it')],
    ['C', words.__('compare it with another')],
    ['T, N', words.__('tag it, note something on it')],
    ['→ ←', words.__('show or fold the runs of one cell')],
    [words.__('Shift+F10'), words.__('all that can be done with it')],
    ['/', words.__('filter')],
    [words.__('Esc'), words.__('close what is open')]
  ];
  const filters: readonly [string, string][] = [
    ['train', words.__('a part of the name or the note')],
    ['var:df', words.__('that changed the variable')],
    ['#best', words.__('with the tag')],
    ['branch:main', words.__('on the branch')],
    ['is:failed', words.__('that failed; also partial, automatic, fork')]
  ];
  const page = make('div', 'help', { hidden: '', role: 'note' }, [
    make('h3', 'heading', {}, [words.__('Keys')]),
    listOf(keys),
    make('h3', 'heading', {}, [words.__('Filter')]),
    listOf(filters)
  ]);
  const name = words.__('Keys and filter words');
  const opener = button(
    'helpButton',
    '?',
    () => {
      page.hidden = !page.hidden;
      opener.setAttribute('aria-expanded', String(!page.hidden));
    },
    { 'aria-label': name, title: name, 'aria-expanded': 'false' }
  );
  opener.addEventListener('keydown', event => {
    if (event.key === 'Escape' && !page.hidden) {
      event.stopPropagation();
      opener.click();
    }
  });
  return { button: opener, page };
}

function listOf(pairs: readonly [string, string][]): HTMLElement {
  const items = pairs.flatMap(([key, does]) => [
    make('dt', '', {}, [make('kbd', 'key', {}, [key])]),
    make('dd', '', {}, [does])
  ]);
  return make('dl', 'helpList', {}, items);
}
