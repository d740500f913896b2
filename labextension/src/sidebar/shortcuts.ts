/** Keys that the panel leaves to the application. */

import type { CommandRegistry } from '@lumino/commands';

const SUPPRESSES = 'data-lm-suppress-shortcuts';

/**
 * Have keys with a modifier do what they do elsewhere, also where `node` has the focus.
 *
 * The list's plain keys are its own, for which its elements keep all keys from the application.
 * Heard at the document: bindings are looked for from the target up to who hears.
 *
 * @returns what ends it
 */
export function leaveShortcuts(node: HTMLElement, commands: CommandRegistry): () => void {
  const hear = (event: KeyboardEvent): void => {
    const isForUs = event.target instanceof Element && node.contains(event.target);
    if (isForUs && (event.ctrlKey || event.metaKey || event.altKey)) {
      unsuppressed(event.target, () => {
        commands.processKeydownEvent(event);
      });
    }
  };
  const { ownerDocument } = node;
  ownerDocument.addEventListener('keydown', hear);
  return () => {
    ownerDocument.removeEventListener('keydown', hear);
  };
}

/** Do something while `target` keeps no keys from the application, nor does what is around it. */
function unsuppressed(target: Element, act: () => void): void {
  const marked: Element[] = [];
  for (
    let at = target.closest(`[${SUPPRESSES}]`);
    at;
    at = at.parentElement?.closest(`[${SUPPRESSES}]`) ?? null
  ) {
    marked.push(at);
  }
  marked.forEach(each => {
    each.removeAttribute(SUPPRESSES);
  });
  try {
    act();
  } finally {
    marked.forEach(each => {
      each.setAttribute(SUPPRESSES, 'true');
    });
  }
}
