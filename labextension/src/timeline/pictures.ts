/** Pictures of two checkpoints against each other. */

import type { IOutput } from '../records';
import { picture, section } from './details';
import { button, make } from './dom';
import type { IWords } from './words';

type Mode = 'side' | 'swipe' | 'overlay' | 'difference';

/** Pairs that are drawn; nobody looks through more. */
const MOST = 8;

/** The pictures among outputs, in base64. */
export function picturesIn(outputs: readonly IOutput[]): string[] {
  return outputs.map(output => output.image).filter(image => image !== null);
}

/** A section with the pictures that differ, in their order; null where none does. */
export function comparedPictures(
  before: readonly string[],
  after: readonly string[],
  words: IWords
): HTMLElement | null {
  const count = Math.max(before.length, after.length);
  const pairs = Array.from({ length: count }, (_, at) => [before[at], after[at]] as const);
  const differing = pairs.filter(([a, b]) => a !== b);
  if (differing.length === 0) {
    return null;
  }
  const same = pairs.filter(([a, b]) => a === b).length;
  const title = words._n('%1 picture differs', '%1 pictures differ', differing.length);
  return section(title, 'pictures', [
    ...differing.slice(0, MOST).map(([a, b]) => pair(a, b, words)),
    same > 0
      ? make('p', 'hint', {}, [
          words._n('%1 picture is the same', '%1 pictures are the same', same)
        ])
      : null
  ]);
}

function pair(a: string | undefined, b: string | undefined, words: IWords): HTMLElement {
  const captions = [words.__('before'), words.__('after')];
  const sides = [a, b].map((packed, at) => {
    const image = packed === undefined ? null : picture(packed);
    if (image) {
      image.alt = words.__('picture %1', captions[at] ?? '');
    }
    const what = image ? (captions[at] ?? '') : words.__('%1: no picture', captions[at] ?? '');
    return make('figure', `pictureSide ${at === 0 ? 'is-before' : 'is-after'}`, {}, [
      make('figcaption', 'hint', {}, [what]),
      image
    ]);
  });
  const frame = make('div', 'picturePair is-side', {}, sides);
  return a === undefined || b === undefined
    ? frame
    : make('div', 'pictureModes', {}, [...controls(frame, words), frame]);
}

/** Buttons that choose how a pair is laid against each other, and how far. */
function controls(frame: HTMLElement, words: IWords): HTMLElement[] {
  const far = make('input', 'far', {
    type: 'range',
    min: '0',
    max: '100',
    value: '50',
    'aria-label': words.__('How much is seen of the later one'),
    hidden: ''
  });
  const apply = (): void => {
    frame.style.setProperty('--nbckpt-far', far.value);
  };
  far.addEventListener('input', apply);
  apply();
  const modes: readonly (readonly [Mode, string])[] = [
    ['side', words.__('Side by side')],
    ['swipe', words.__('Swipe')],
    ['overlay', words.__('Overlay')],
    ['difference', words.__('Difference')]
  ];
  const buttons = modes.map(([mode, text]) =>
    button(
      'action mode',
      text,
      () => {
        choose(mode);
      },
      { 'aria-pressed': String(mode === 'side'), 'data-mode': mode }
    )
  );
  const choose = (chosen: Mode): void => {
    modes.forEach(([mode], at) => {
      frame.classList.toggle(`nbckpt-is-${mode}`, mode === chosen);
      buttons[at]?.setAttribute('aria-pressed', String(mode === chosen));
    });
    far.hidden = chosen !== 'swipe' && chosen !== 'overlay';
  };
  const group = make('div', 'modeButtons', { role: 'group' }, [...buttons, far]);
  group.setAttribute('aria-label', words.__('How the pictures are compared'));
  return [group];
}
