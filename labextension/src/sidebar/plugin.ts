/** The one place that wires the pieces of the sidebar to the application. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

/** Also the name of its settings: `schema/plugin.json` of the package `nbckpt`. */
export const PLUGIN_ID = 'nbckpt:plugin';

export const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'The checkpoints of a notebook beside it.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator],
  activate: (
    _app: JupyterFrontEnd,
    _notebooks: INotebookTracker,
    translator: ITranslator | null
  ): void => {
    (translator ?? nullTranslator).load('nbckpt');
  }
};
