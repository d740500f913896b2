/** What the panel says where there is no list to show, and what the user can do about it. */

import { make } from '../timeline/dom';
import type { IWords } from '../timeline/words';

/** What a page without a list is about. */
export interface IPlight {
  kind: 'no-notebook' | 'no-kernel' | 'starting' | 'not-loaded' | 'loading' | 'lost';
  /** What is wrong, of `lost`. */
  problem?: string;
  /** Whether what the button does is being done. */
  isDoing?: boolean;
  /** Why that failed. */
  refused?: string;
  /** Whether nbckpt is to be in all notebooks, of `not-loaded`. */
  everywhere?: 'ask' | 'always' | 'never';
}

/** What a button does. */
export type Remedy =
  'choose-kernel' | 'enable' | 'enable-everywhere' | 'settings' | 'interrupt' | 'restart' | 'open';

interface IPage {
  title: string;
  text: string;
  remedy: { verb: Remedy; label: string; doing: string } | null;
  waits: boolean;
}

/** Title, explanation, and the next action of `plight`. */
export function pageOf({ kind, problem }: IPlight, words: IWords): IPage {
  switch (kind) {
    case 'no-notebook':
      return {
        title: words.__('No notebook is open'),
        text: words.__('Open one, or begin a new one, to see the checkpoints of its variables.'),
        remedy: { verb: 'open', label: words.__('New notebook'), doing: '' },
        waits: false
      };
    case 'no-kernel':
      return {
        title: words.__('This notebook has no kernel'),
        text: words.__('Checkpoints are kept, and read, by the kernel.'),
        remedy: { verb: 'choose-kernel', label: words.__('Choose a kernel…'), doing: '' },
        waits: false
      };
    case 'starting':
      return {
        title: words.__('Waiting for the kernel'),
        text: words.__(
          'It is starting, or runs a cell that was begun before this page was loaded.'
        ),
        remedy: {
          verb: 'interrupt',
          label: words.__('Interrupt the kernel'),
          doing: words.__('Interrupting …')
        },
        waits: true
      };
    case 'not-loaded':
      return {
        title: words.__('nbckpt is not enabled in this notebook'),
        text: words.__(
          'Once it is, cells that begin with %1 are kept, and can be gone back to.',
          '%%checkpoint'
        ),
        remedy: {
          verb: 'enable',
          label: words.__('Enable nbckpt in this notebook'),
          doing: words.__('Enabling …')
        },
        waits: false
      };
    case 'loading':
      return {
        title: words.__('Reading the checkpoints'),
        text: '',
        remedy: null,
        waits: true
      };
    case 'lost':
      return {
        title: words.__('The checkpoints cannot be shown'),
        text: problem ?? '',
        remedy: { verb: 'restart', label: words.__('Restart the kernel…'), doing: '' },
        waits: false
      };
  }
}

/** Draw `plight`; `act` is called by the button. */
export function stateNode(
  plight: IPlight,
  words: IWords,
  act: (remedy: Remedy) => void
): HTMLElement {
  const { title, text, remedy, waits } = pageOf(plight, words);
  const children: (HTMLElement | null)[] = [
    waits ? make('span', 'spinner', { 'aria-hidden': 'true' }) : null,
    make('h3', 'plightTitle', {}, [title]),
    text === '' ? null : make('p', 'plightText', {}, [text])
  ];
  if (remedy) {
    const isDoing = plight.isDoing === true && remedy.doing !== '';
    const button = make('button', 'remedy', { type: 'button', 'data-remedy': remedy.verb }, [
      isDoing ? remedy.doing : remedy.label
    ]);
    button.className += ' jp-mod-styled jp-mod-accept';
    button.disabled = isDoing;
    button.addEventListener('click', () => {
      act(remedy.verb);
    });
    children.push(button);
  }
  if (plight.kind === 'not-loaded') {
    children.push(...everywhere(plight, words, act), example(words));
  }
  if (plight.refused) {
    children.push(make('p', 'error', { role: 'alert' }, [plight.refused]));
  }
  return make('div', `plight of-${plight.kind}`, { role: 'status' }, children);
}

/** Further down: what holds for all notebooks. */
function everywhere(
  { everywhere: how = 'ask', isDoing = false }: IPlight,
  words: IWords,
  act: (remedy: Remedy) => void
): HTMLElement[] {
  const button = (remedy: Remedy, label: string): HTMLElement => {
    const made = make('button', 'remedy is-quiet', { type: 'button', 'data-remedy': remedy }, [
      label
    ]);
    made.disabled = isDoing;
    made.addEventListener('click', () => {
      act(remedy);
    });
    return made;
  };
  const settings = button('settings', words.__('Settings…'));
  if (how === 'ask') {
    return [
      make('div', 'everywhere', {}, [
        button('enable-everywhere', words.__('Enable in all notebooks')),
        settings
      ])
    ];
  }
  const told =
    how === 'never'
      ? words.__('The settings say that it is enabled nowhere by itself.')
      : words.__('The settings say that it is enabled in all notebooks; not in this kernel.');
  return [make('p', 'plightText', {}, [told]), make('div', 'everywhere', {}, [settings])];
}

/** How a cell is marked. */
function example(words: IWords): HTMLElement {
  const source = '%%checkpoint train\nmodel = fit(df)';
  return make('figure', 'example', {}, [
    make('figcaption', 'plightText', {}, [words.__('A cell that is kept:')]),
    make('pre', 'exampleCode', { tabindex: '0' }, [source])
  ]);
}
