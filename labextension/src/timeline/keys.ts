/** What keys mean in the list. Pure. */

/** What a key asks for, of the checkpoint that is selected. */
export type Verb = 'rewind' | 'fork' | 'rerun' | 'compare' | 'tag' | 'note' | 'filter' | 'escape';

/** The part of a keyboard event that decides. */
export interface IPress {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

const VERBS: Readonly<Record<string, Verb | undefined>> = {
  Enter: 'rewind',
  f: 'fork',
  r: 'rerun',
  c: 'compare',
  t: 'tag',
  n: 'note',
  '/': 'filter',
  Escape: 'escape'
};

/** The verb of a key, undefined for a key that is the host's. */
export function verbOf(press: IPress): Verb | undefined {
  if (press.ctrlKey || press.metaKey || press.altKey) {
    return undefined;
  }
  return VERBS[press.key.length === 1 ? press.key.toLowerCase() : press.key];
}

/** Where a key leads from row `here` of `count`; undefined if it leads nowhere. */
export function moveOf(
  press: IPress,
  page: number
): ((here: number, count: number) => number) | undefined {
  if (press.ctrlKey || press.metaKey || press.altKey) {
    return undefined;
  }
  const moves: Readonly<Record<string, ((here: number, count: number) => number) | undefined>> = {
    ArrowDown: here => here + 1,
    ArrowUp: here => here - 1,
    PageDown: here => here + page,
    PageUp: here => here - page,
    Home: () => 0,
    End: (_, count) => count - 1
  };
  return moves[press.key];
}
