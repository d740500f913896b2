/** Asks for two branches of a notebook, and shows them beside each other. */

import { InputDialog, MainAreaWidget } from '@jupyterlab/apputils';
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { IWords } from '../timeline/words';
import { BranchesView, type IBranch } from './branchesview';
import { branchesIcon } from './icons';
import type { ILinked } from './kernellinks';
import { asPage } from './pageplan';

/** Ask which other branch, and open a tab with that and the one that the notebook is on. */
export async function compareBranches(
  { panel, link }: ILinked,
  shell: JupyterFrontEnd.IShell,
  words: IWords
): Promise<void> {
  const own = link.status?.branch ?? '';
  const heads = new Map(
    link.rows.filter(row => row.own).flatMap(row => row.heads.map(head => [head, row.id] as const))
  );
  const others = [...heads.keys()].filter(name => name !== own).sort();
  if (others.length === 0 || !heads.has(own)) {
    throw new Error(words.__('there is one branch only: a fork makes another'));
  }
  const { button, value } = await InputDialog.getItem({
    title: words.__('Compare branches'),
    label: words.__('%1, beside:', own),
    items: others,
    okLabel: words.__('Compare'),
    cancelLabel: words.__('Cancel')
  });
  if (!button.accept || value === null || !heads.has(value)) {
    return;
  }
  const page = async (name: string): Promise<IBranch> => {
    return { name, page: await link.ask('page', { ref: heads.get(name) }, asPage) };
  };
  const [before, after] = await Promise.all([page(own), page(value)]);
  const { rendermime, widgets } = panel.content;
  const order = widgets.map(cell => cell.model.id);
  const content = new BranchesView(before, after, rendermime, order, words);
  const tab = new MainAreaWidget({ content });
  tab.id = `nbckpt-branches-${Date.now()}`;
  tab.title.label = words.__('%1 | %2', own, value);
  tab.title.caption = words.__('Branches of %1', panel.title.label);
  tab.title.icon = branchesIcon;
  tab.title.closable = true;
  shell.add(tab, 'main', { ref: panel.id, mode: 'tab-after' });
  shell.activateById(tab.id);
}
