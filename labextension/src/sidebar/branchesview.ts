/** Two branches side by side, in a tab of its own: the same cells, what differs unfolded. */

import { Widget } from '@lumino/widgets';
import { make } from '../timeline/dom';
import type { IWords } from '../timeline/words';
import { pairsOf, type IPair } from './branchrows';
import { OutputNodes, type Registry } from '../outputnode';
import { visible } from '../outputcontent';
import type { IPage, IThen } from './pageplan';
import { firstLine } from './rerunplan';

/** A branch, and the cells that had run on it. */
export interface IBranch {
  name: string;
  page: IPage;
}

/** Draws them once: it is a look at two moments, which do not change. */
export class BranchesView extends Widget {
  /**
   * @param rendermime - of the notebook: outputs look as they do there, and no script of them runs
   * @param order - ids of the notebook's cells
   */
  constructor(
    before: IBranch,
    after: IBranch,
    rendermime: Registry,
    order: readonly string[],
    private readonly _words: IWords
  ) {
    super();
    this._outputs = new OutputNodes(rendermime, _words);
    const words = _words;
    this.addClass('nbckpt-Branches');
    const pairs = pairsOf(before.page, after.page, order);
    const differing = pairs.filter(pair => !pair.isSame).length;
    const told =
      differing === 0
        ? words.__('Nothing differs.')
        : words._n('%1 cell differs', '%1 cells differ', differing);
    this.node.append(
      make('div', 'branchesHead', { role: 'row' }, [
        make('h2', 'branchesName', {}, [before.name]),
        make('h2', 'branchesName', {}, [after.name]),
        make('p', 'branchesTold', { role: 'status' }, [told])
      ]),
      ...pairs.map(pair => this._pair(pair))
    );
  }

  private _pair(pair: IPair): HTMLElement {
    const words = this._words;
    const source = (pair.after ?? pair.before)?.source ?? '';
    const state = pair.isSame ? words.__('the same') : words.__('differs');
    const node = make('details', `branchesCell is-${pair.isSame ? 'same' : 'other'}`, {}, [
      make('summary', 'branchesSummary', {}, [
        make('code', '', {}, [firstLine(source)]),
        make('span', 'branchesState', {}, [state])
      ])
    ]);
    node.dataset.cell = pair.cell_id;
    node.open = !pair.isSame;
    // What is folded is drawn when somebody looks.
    const draw = (): void => {
      if (node.open && node.childElementCount === 1) {
        const isSameText = pair.before?.source === pair.after?.source;
        node.append(
          make('div', 'branchesSides', {}, [
            this._side(pair.before, isSameText),
            this._side(pair.after, isSameText)
          ])
        );
      }
    };
    node.addEventListener('toggle', draw);
    draw();
    return node;
  }

  private _side(cell: IThen | null, isSameText: boolean): HTMLElement {
    const words = this._words;
    if (cell === null) {
      return make('div', 'branchesSide', {}, [
        make('p', 'branchesTold', {}, [words.__('did not run on this branch')])
      ]);
    }
    const code = make('pre', `branchesCode${isSameText ? ' is-same' : ''}`, { tabindex: '0' }, [
      cell.source
    ]);
    const shown =
      cell.outputs === null
        ? [make('p', 'branchesTold', {}, [words.__('what it showed is not known')])]
        : visible(cell.outputs).map(output => this._outputs.of(output));
    return make('div', 'branchesSide', {}, [code, ...shown]);
  }

  override dispose(): void {
    this._outputs.dispose();
    super.dispose();
  }

  private readonly _outputs: OutputNodes;
}
