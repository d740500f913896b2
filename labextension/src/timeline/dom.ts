/** Makes elements. All text becomes text nodes: a repr with a tag in it stays text. */

const SVG = 'http://www.w3.org/2000/svg';

/** What can have the focus. */
const FOCUSABLE: ReadonlySet<string> = new Set(['button', 'input', 'summary']);

/**
 * An element with classes, attributes and children; what is null is left out.
 *
 * JupyterLab and Notebook read keys before the page does, except where the element that has the
 * focus says otherwise itself.
 */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  classes: string,
  attributes: Readonly<Record<string, string>> = {},
  children: readonly (Node | string | null)[] = []
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.className = styled(classes);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  if (FOCUSABLE.has(tag) || 'tabindex' in attributes) {
    element.setAttribute('data-lm-suppress-shortcuts', 'true');
  }
  element.append(...children.filter(child => child !== null));
  return element;
}

/** An SVG element. */
export function drawn(
  tag: string,
  classes: string,
  attributes: Readonly<Record<string, string | number>> = {}
): SVGElement {
  const element = document.createElementNS(SVG, tag);
  if (classes) {
    element.setAttribute('class', styled(classes));
  }
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  return element;
}

/** A button with a text. */
export function button(
  classes: string,
  text: string,
  onClick: () => void,
  attributes: Readonly<Record<string, string>> = {}
): HTMLButtonElement {
  const made = make('button', classes, { type: 'button', ...attributes }, [text]);
  made.addEventListener('click', onClick);
  return made;
}

/** A cross that takes something away; `text` says what, and `key` what does the same. */
export function cross(
  classes: string,
  text: string,
  onClick: () => void,
  key = ''
): HTMLButtonElement {
  const title = key === '' ? text : `${text} (${key})`;
  return button(classes, '×', onClick, { 'aria-label': text, title });
}

/** `row is-done` → `nbckpt-Timeline-row nbckpt-is-done`: states begin with `is-` or `of-`. */
export function styled(classes: string): string {
  return classes
    .split(' ')
    .filter(name => name !== '')
    .map(name => (/^(is|of)-/.test(name) ? `nbckpt-${name}` : `nbckpt-Timeline-${name}`))
    .join(' ');
}
