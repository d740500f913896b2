/** What JupyterLab and Notebook 7 load. */

import { plugin } from './plugin';

export default [plugin];
