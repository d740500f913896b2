/** The commands: each finds what it is about, calls one method, and tells what came of it. */

import { InputDialog, Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { LabIcon } from '@jupyterlab/ui-components';
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { CommandRegistry } from '@lumino/commands';
import type { IRow } from '../records';
import { compareBranches } from './comparebranches';
import { branchesIcon, keepIcon } from './icons';
import type { ILinked, Links } from './kernellinks';
import type { Marks } from './marks';
import type { Offers } from './offers';
import type { CheckpointsPanel } from './panel';
import { Scrubber } from './scrubber';
import { tell, withdraw } from './told';
import type { IPageVerbs } from './verbs';

/** Their names; menus, shortcuts and toolbar (`schema/plugin.json`) speak of the same. */
export const CommandIDs = {
  show: 'nbckpt:show',
  checkpoint: 'nbckpt:checkpoint',
  resume: 'nbckpt:resume',
  undo: 'nbckpt:undo-rewind',
  switch: 'nbckpt:switch',
  branches: 'nbckpt:compare-branches',
  scrub: 'nbckpt:scrub',
  reveal: 'nbckpt:reveal-cell',
  rewind: 'nbckpt:rewind-to-cell',
  fork: 'nbckpt:fork-from-cell',
  rerun: 'nbckpt:rerun-from-cell',
  enable: 'nbckpt:enable'
} as const;

/** The strips that are open. */
const scrubbers = new WeakMap<NotebookPanel, Scrubber>();

/** What the commands call. */
export interface ICommandParts {
  commands: CommandRegistry;
  links: Links;
  panel: CheckpointsPanel;
  marks: Marks;
  offers: Offers;
  page: IPageVerbs;
  /** Where tabs are opened. */
  shell: JupyterFrontEnd.IShell;
  /** Bring the panel to the front. */
  show: () => void;
  trans: TranslationBundle;
}

interface ICommand {
  id: string;
  label: string;
  caption: string;
  icon?: LabIcon;
  isEnabled: () => boolean;
  execute: () => Promise<void>;
}

/** Make the commands known. */
export function addCommands(parts: ICommandParts): void {
  const { commands } = parts;
  for (const { id, label, caption, icon, isEnabled, execute } of [
    ...ofNotebook(parts),
    ...ofCell(parts)
  ]) {
    commands.addCommand(id, {
      // Jupyter has checkpoints of files. And the palette ranks what is typed by labels first.
      label: ({ isPalette, isApart }) =>
        (isPalette || isApart) && !/nbckpt/.test(label) ? `nbckpt: ${label}` : label,
      caption,
      isEnabled,
      ...(icon ? { icon } : {}),
      describedBy: {
        args: {
          type: 'object',
          properties: { isPalette: { type: 'boolean' }, isApart: { type: 'boolean' } }
        }
      },
      execute: async () => {
        withdraw();
        try {
          await execute();
        } catch (error) {
          Notification.error(error instanceof Error ? error.message : String(error), {
            autoClose: false
          });
        }
      }
    });
  }
  const changed = (): void => {
    commands.notifyCommandChanged();
  };
  const follow = ({ link }: ILinked): void => {
    link.changed.connect((_, what) => {
      if (what === 'state') {
        changed();
      }
    });
  };
  parts.links.forEach(follow);
  parts.links.added.connect((_, linked) => {
    follow(linked);
  });
  parts.links.currentChanged.connect(changed);
}

function ofNotebook(parts: ICommandParts): ICommand[] {
  const { links, offers, page, show, trans } = parts;
  const hasKernel = (): boolean =>
    links.current !== null && links.current.link.state !== 'no-kernel';
  const isReady = (): boolean => links.current?.link.state === 'ready';
  return [
    {
      id: CommandIDs.show,
      label: trans.__('Show Checkpoints'),
      caption: trans.__('Show the checkpoints of the current notebook'),
      icon: branchesIcon,
      isEnabled: () => true,
      execute: () => {
        show();
        return Promise.resolve();
      }
    },
    {
      id: CommandIDs.checkpoint,
      label: trans.__('Checkpoint…'),
      caption: trans.__('Keep the variables as they are now'),
      icon: keepIcon,
      isEnabled: hasKernel,
      execute: () => checkpoint(parts)
    },
    {
      id: CommandIDs.resume,
      label: trans.__('Resume…'),
      caption: trans.__('Bring back the newest checkpoint, and run what is left'),
      isEnabled: hasKernel,
      execute: () => offers.restoreAndRun(current(parts))
    },
    {
      id: CommandIDs.undo,
      label: trans.__('Undo the Last Rewind'),
      caption: trans.__('Go back to where the notebook stood before it was rewound or switched'),
      isEnabled: () => (links.current?.link.status?.before ?? null) !== null,
      execute: async () => {
        const { panel, link } = current(parts);
        tell(await page.rewind(panel, link, '-'));
      }
    },
    {
      id: CommandIDs.switch,
      label: trans.__('Switch Branch…'),
      caption: trans.__('Go to the newest checkpoint of another branch'),
      isEnabled: isReady,
      execute: () => switchBranch(parts)
    },
    {
      id: CommandIDs.branches,
      label: trans.__('Compare Branches…'),
      caption: trans.__('Show this branch and another side by side, cell by cell'),
      icon: branchesIcon,
      isEnabled: isReady,
      execute: () => compareBranches(current(parts), parts.shell, trans)
    },
    {
      id: CommandIDs.scrub,
      label: trans.__('Scrub Through Time'),
      caption: trans.__('See the cells as they were, along a strip; nothing is changed by it'),
      icon: branchesIcon,
      isEnabled: isReady,
      execute: () => {
        scrub(parts);
        return Promise.resolve();
      }
    },
    {
      id: CommandIDs.enable,
      label: trans.__('Enable nbckpt in This Notebook'),
      caption: trans.__('Load nbckpt in the kernel: %1', '%load_ext nbckpt'),
      isEnabled: () => links.current?.link.state === 'not-loaded',
      execute: () => current(parts).link.load()
    }
  ];
}

/** What begins at the checkpoint of the active cell. */
function ofCell(parts: ICommandParts): ICommand[] {
  const { marks, page, panel, show, trans, links } = parts;
  const ref = (): string | null => links.current && marks.checkpointOfActive(links.current.panel);
  const isEnabled = (): boolean => ref() !== null;
  const reveal = (): void => {
    show();
    panel.reveal(required(ref(), trans));
  };
  return [
    {
      id: CommandIDs.reveal,
      label: trans.__("Show This Cell's Checkpoint"),
      caption: trans.__('Select it among the others'),
      icon: branchesIcon,
      isEnabled,
      execute: () => {
        reveal();
        return Promise.resolve();
      }
    },
    {
      id: CommandIDs.rewind,
      label: trans.__('Rewind to This Cell'),
      caption: trans.__('The variables become those of right after this cell'),
      isEnabled,
      execute: async () => {
        const linked = current(parts);
        tell(await page.rewind(linked.panel, linked.link, required(ref(), trans)));
      }
    },
    {
      id: CommandIDs.fork,
      label: trans.__('Fork from This Cell…'),
      caption: trans.__('Begin a branch there, with other values if you like'),
      isEnabled,
      execute: () => {
        reveal();
        panel.do('fork');
        return Promise.resolve();
      }
    },
    {
      id: CommandIDs.rerun,
      label: trans.__('Rerun from This Cell…'),
      caption: trans.__('Rewind to it, and run the cells below that need it'),
      isEnabled,
      execute: async () => {
        const linked = current(parts);
        const options = { everything: false, other: false };
        tell(await page.rerun(linked.panel, linked.link, required(ref(), trans), options));
      }
    }
  ];
}

async function checkpoint(parts: ICommandParts): Promise<void> {
  const { trans } = parts;
  const { link } = current(parts);
  const { button, value } = await InputDialog.getText({
    title: trans.__('Checkpoint'),
    label: trans.__('Name of the step:'),
    placeholder: trans.__('trained'),
    okLabel: trans.__('Checkpoint'),
    cancelLabel: trans.__('Cancel')
  });
  const name = value?.trim().replace(/\s+/g, '-') ?? '';
  if (!button.accept || name === '') {
    return;
  }
  await link.load();
  tell(await link.write('checkpoint', { name }));
}

async function switchBranch(parts: ICommandParts): Promise<void> {
  const { trans } = parts;
  const { link } = current(parts);
  const branches = branchesIn(link.rows, trans);
  const names = [...branches.keys()];
  const { button, value } = await InputDialog.getItem({
    title: trans.__('Switch to a branch'),
    label: trans.__('Branch:'),
    items: names,
    current: Math.max(0, names.indexOf(link.status?.branch ?? '')),
    okLabel: trans.__('Switch'),
    cancelLabel: trans.__('Cancel')
  });
  const chosen = branches.get(value ?? '');
  if (button.accept && chosen !== undefined) {
    const { branch, own } = chosen;
    tell(await link.write('switch', { branch, other_notebook: !own }));
  }
}

/** Open the strip under the notebook, or close it. */
function scrub(parts: ICommandParts): void {
  const { page, panel: sidebar, show, trans } = parts;
  const { panel, link } = current(parts);
  const open = scrubbers.get(panel);
  if (open && !open.isDisposed) {
    open.dispose();
    return;
  }
  const scrubber = new Scrubber(
    panel,
    link,
    {
      rewind: async ref => {
        tell(await page.rewind(panel, link, ref));
      },
      fork: ref => {
        show();
        sidebar.reveal(ref);
        sidebar.do('fork');
      }
    },
    trans
  );
  scrubbers.set(panel, scrubber);
  scrubber.open();
}

/** Branches as the user chooses them: his own first; of another's the notebook is named. */
function branchesIn(
  rows: readonly IRow[],
  trans: TranslationBundle
): Map<string, { branch: string; own: boolean }> {
  const heads = rows
    .flatMap(row => row.heads.map(branch => ({ branch, own: row.own, notebook: row.notebook })))
    .sort((a, b) => Number(b.own) - Number(a.own) || a.branch.localeCompare(b.branch));
  return new Map(
    heads.map(({ branch, own, notebook }) => [
      own ? branch : trans.__('%1, of the notebook %2', branch, notebook),
      { branch, own }
    ])
  );
}

function current({ links, trans }: ICommandParts): ILinked {
  return required(links.current, trans);
}

function required<T>(value: T | null, trans: TranslationBundle): T {
  if (value === null) {
    throw new Error(trans.__('open a notebook, and select a cell that has a checkpoint'));
  }
  return value;
}
