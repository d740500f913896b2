/** What a rerun did, cell by cell. */

import type { IWritten } from '../records';
import { section } from './details';
import { button, make } from './dom';
import { duration } from './format';
import type { IWords } from './words';

const SIGNS: Readonly<Record<string, string>> = {
  restored: '↺',
  run: '▸',
  skipped: '–',
  failed: '✕',
  'not reached': '…'
};

/** A table of the cells of a rerun; a click on a name leads to its checkpoint. */
export function cellsOf(
  written: IWritten,
  words: IWords,
  onOpen: (id: string) => void
): HTMLElement {
  const title = written.branch ? words.__('Rerun on branch %1', written.branch) : words.__('Rerun');
  const lines = written.cells.map(cell => {
    const id = cell.checkpoint_id;
    const name =
      id === null
        ? make('span', 'variable', {}, [cell.name])
        : button('link', cell.name, () => {
            onOpen(id);
          });
    return make('div', `line is-${cell.state.replace(' ', '-')}`, { role: 'row' }, [
      make('span', 'sign', { role: 'cell', 'aria-hidden': 'true' }, [SIGNS[cell.state] ?? '·']),
      make('span', 'state', { role: 'cell' }, [cell.state]),
      make('span', 'cellName', { role: 'cell' }, [name]),
      make('span', 'amount', { role: 'cell' }, [
        cell.took_s === null || cell.state === 'skipped' || cell.state === 'not reached'
          ? ''
          : duration(cell.took_s)
      ]),
      make('span', 'why', { role: 'cell', title: cell.why }, [cell.why])
    ]);
  });
  return make('div', 'cells', {}, [
    section(title, '', [
      written.error ? make('p', 'error', {}, [written.error]) : null,
      lines.length > 0
        ? make('div', 'table of-cells', { role: 'table' }, lines)
        : make('p', 'hint', {}, [words.__('No cell follows.')])
    ])
  ]);
}
