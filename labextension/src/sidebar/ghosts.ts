/** A notebook's cells as they were, over those of now; the notebook itself is not touched. */

import type { NotebookPanel } from '@jupyterlab/notebook';
import { make } from '../timeline/dom';
import type { IWords } from '../timeline/words';
import { OutputNodes } from '../outputnode';
import { visible } from '../outputcontent';
import { contents } from './page';
import { planOf, type IPage, type IThen } from './pageplan';

const GHOST = 'nbckpt-has-ghost';
const LATER = 'nbckpt-is-later';

/** Shows one moment at a time. */
export class Ghosts {
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _words: IWords
  ) {
    this._outputs = new OutputNodes(_panel.content.rendermime, _words);
  }

  /** Show the cells as they were then; those that had not run yet are pale. */
  show(then: IPage): void {
    this.clear();
    const plan = planOf(contents(this._panel), then);
    const later = new Set(then.later);
    const changes = new Map(plan.changes.map(cell => [cell.cell_id, cell]));
    for (const cell of this._panel.content.widgets) {
      const { id, type } = cell.model;
      const was = changes.get(id);
      if (type !== 'code') {
        continue;
      }
      if (later.has(id)) {
        cell.node.classList.add(LATER);
        this._shown.push(cell.node);
      } else if (was) {
        cell.node.classList.add(GHOST);
        cell.node.append(this._ghost(was));
        this._shown.push(cell.node);
      }
    }
  }

  /** Show the notebook as it is. */
  clear(): void {
    for (const node of this._shown.splice(0)) {
      node.classList.remove(GHOST, LATER);
      node.querySelector(':scope > .nbckpt-Timeline-ghost')?.remove();
    }
    this._outputs.dispose();
  }

  private _ghost({ source, outputs }: IThen): HTMLElement {
    const shown = visible(outputs ?? []).map(output =>
      make('div', 'ghostOutput', {}, [this._outputs.of(output)])
    );
    return make('div', 'ghost', { 'aria-label': this._words.__('as it was then') }, [
      make('pre', 'ghostCode', {}, [source]),
      ...shown
    ]);
  }

  private readonly _outputs: OutputNodes;
  private readonly _shown: HTMLElement[] = [];
}
