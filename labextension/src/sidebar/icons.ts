/** The icons, drawn in the colours of the theme. */

import { LabIcon } from '@jupyterlab/ui-components';
import branches from '../../style/icons/branches.svg';
import keep from '../../style/icons/keep.svg';

/** The panel's: a branch that leaves a line of checkpoints. */
export const branchesIcon = new LabIcon({ name: 'nbckpt:branches', svgstr: branches });

/** A new checkpoint. */
export const keepIcon = new LabIcon({ name: 'nbckpt:keep', svgstr: keep });
