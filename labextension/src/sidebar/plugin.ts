/** The one place that wires the pieces of the sidebar to the application. */

import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, ISessionContextDialogs } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStateDB } from '@jupyterlab/statedb';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Approvals } from './approvals';
import { MessageLoop } from '@lumino/messaging';
import { Cache } from './cache';
import { addCommands, CommandIDs } from './commands';
import { Enabling } from './enabling';
import { branchesIcon } from './icons';
import { Links } from './kernellinks';
import { Marks } from './marks';
import { Memory } from './memory';
import { Offers } from './offers';
import { Pages } from './page';
import { CheckpointsPanel } from './panel';
import { Reruns } from './rerun';
import { Resumes } from './resume';
import { Settings } from './settings';
import { StatusItem } from './statusbar';
import type { IPageVerbs } from './verbs';

/** Also the name of its settings: `schema/plugin.json` of the package `nbckpt`. */
export const PLUGIN_ID = 'nbckpt:plugin';
const PANEL_ID = 'nbckpt-checkpoints';
/** What `%nbckpt auto` calls the choices; empty where it stays as it is. */
const POLICIES = { marked: '', cost: 'cost', every: 'on' } as const;
/** Below JupyterLab's own panels. */
const RANK = 600;

export const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'The checkpoints of a notebook beside it.',
  autoStart: true,
  requires: [INotebookTracker],
  // Notebook 7 has no status bar; other applications may lack any of them.
  optional: [
    ITranslator,
    ISettingRegistry,
    IStateDB,
    ICommandPalette,
    ILayoutRestorer,
    IStatusBar,
    ISessionContextDialogs
  ],
  activate
};

function activate(
  app: JupyterFrontEnd,
  notebooks: INotebookTracker,
  givenTranslator: ITranslator | null,
  registry: ISettingRegistry | null,
  state: IStateDB | null,
  palette: ICommandPalette | null,
  restorer: ILayoutRestorer | null,
  statusBar: IStatusBar | null,
  dialogs: ISessionContextDialogs | null
): void {
  const translator = givenTranslator ?? nullTranslator;
  const trans = translator.load('nbckpt');
  const lab = translator.load('jupyterlab');
  const { commands, shell } = app;
  const settings = new Settings(registry, PLUGIN_ID);
  const links = new Links(notebooks, () => POLICIES[settings.auto]);
  const pages = new Pages(trans, {
    how: () => settings.rewindPage,
    remember: how => void settings.choose('rewindPage', how)
  });
  const reruns = new Reruns(trans);
  const page: IPageVerbs = {
    rewind: (...args) => pages.rewind(...args),
    rerun: (...args) => reruns.rerun(...args)
  };
  const cache = new Cache(state);
  const memory = new Memory(links, state);
  const resumes = new Resumes(trans, translator, dialogs);
  const offers = new Offers({ links, memory, resumes, settings, trans, lab });
  const panel = new CheckpointsPanel({
    links,
    words: trans,
    cache,
    commands,
    page,
    recall: path => memory.recall(path),
    resumes: offers,
    settings
  });
  panel.id = PANEL_ID;
  const enabling = new Enabling(links, settings);
  panel.disposed.connect(() => {
    enabling.dispose();
  });
  const approvals = new Approvals(panel.attention, links, trans);
  panel.disposed.connect(() => {
    approvals.dispose();
  });
  panel.title.icon = branchesIcon;
  panel.title.caption = trans.__('Checkpoints');
  const show = (): void => {
    shell.activateById(PANEL_ID);
    // It takes the focus now, and not after the form that a command opens in it.
    MessageLoop.flush();
  };
  const marks = new Marks(links, trans, {
    reveal: (_, checkpoint) => {
      show();
      panel.reveal(checkpoint);
    }
  });
  // The restorer waits for what is added before the application has started, so at once.
  shell.add(panel, settings.side, { rank: RANK, type: 'Checkpoints' });
  restorer?.add(panel, PANEL_ID);
  addCommands({ commands, links, panel, marks, offers, page, shell, show, trans });
  for (const command of Object.values(CommandIDs)) {
    palette?.addItem({ command, category: trans.__('Checkpoints'), args: { isPalette: true } });
  }
  if (statusBar) {
    const item = new StatusItem(links, trans, show);
    statusBar.registerStatusItem(PLUGIN_ID, {
      item,
      align: 'left',
      rank: 60,
      isActive: () => item.isActive,
      activeStateChanged: item.activeChanged
    });
  }
  let side = settings.side;
  settings.changed.connect(() => {
    marks.shown = settings.cellMarks;
    if (settings.side !== side) {
      side = settings.side;
      shell.add(panel, side, { rank: RANK, type: 'Checkpoints' });
    }
  });
}
