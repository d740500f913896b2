/** The menu of what can be done with a checkpoint. */

import type { IRow } from '../records';
import { actionsOf, type IAction } from './actions';
import { type IPlace, Menu } from './menu';
import type { Tasks } from './tasks';
import type { IWords } from './words';

/** Opens it at a button, or at a row of the list. */
export class RowMenu {
  /**
   * @param _compare - compares the selected checkpoint with another
   */
  constructor(
    host: HTMLElement,
    private readonly _tasks: Tasks,
    private readonly _compare: () => void,
    private readonly _words: IWords
  ) {
    this._menu = new Menu(host, _words.__('Actions'));
  }

  /**
   * @param where - where the session stands
   * @param actions - those to show; all where there are none given
   */
  open(
    row: IRow,
    where: { here: string | null; branch: string },
    actions: readonly IAction[] | null,
    place: IPlace
  ): void {
    const all = actions ?? actionsOf(row, where, this._words);
    this._menu.open(
      all.map(action => ({
        kind: action.verb,
        text: action.text,
        key: action.key,
        act: () => {
          this._do(action);
        }
      })),
      place
    );
  }

  /** What it is about is no longer selected. */
  close(): void {
    this._menu.close();
  }

  private _do({ verb, branch }: IAction): void {
    if (verb === 'switch') {
      this._tasks.switchTo(branch ?? '');
    } else if (verb === 'compare') {
      this._compare();
    } else {
      this._tasks.do(verb);
    }
  }

  private readonly _menu: Menu;
}
