/** The mark of one cell as an element: an icon, words, and a click that leads to its checkpoint. */

import type { ILook } from './looks';
import type { MarkState } from './kernelnews';

const SVG = 'http://www.w3.org/2000/svg';

/** In a square of 16: each state has a shape of its own, so that none is told by colour alone. */
const SHAPES: Readonly<Record<MarkState, string>> = {
  checkpointed: 'M3.5 8.5 6.5 11.5 12.5 4.5',
  restored: 'M3.5 4v3.5H7M3.8 7.3A4.6 4.6 0 1 1 4.6 11',
  stale: 'M8 2.5 14 13H2ZM8 6.5v3M8 11v.6',
  failed: 'M4 4 12 12M12 4 4 12',
  running: 'M8 2.5a5.5 5.5 0 1 1-5.5 5.5M8 5v3l2 1.5'
};

/** A button where there is a checkpoint to show, else a text. */
export function cellMark(look: ILook, onOpen: (checkpoint: string) => void): HTMLElement {
  const { checkpoint } = look;
  const node = document.createElement(checkpoint === null ? 'span' : 'button');
  node.className = 'nbckpt-CellMark';
  node.dataset.state = look.state;
  node.title = look.title;
  const text = document.createElement('span');
  text.className = 'nbckpt-CellMark-text';
  text.textContent = look.text;
  node.append(icon(look.state), text);
  if (checkpoint !== null) {
    node.setAttribute('type', 'button');
    node.setAttribute('aria-label', look.label);
    // The notebook would take Enter for its own.
    node.setAttribute('data-lm-suppress-shortcuts', 'true');
    node.tabIndex = -1; // of the notebook's cells, only the active one is on the way of the Tab key
    node.addEventListener('click', () => {
      onOpen(checkpoint);
    });
  }
  return node;
}

function icon(state: MarkState): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', 'nbckpt-CellMark-icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', SHAPES[state]);
  svg.append(path);
  return svg;
}
