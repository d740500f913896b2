/** What one cell holds, exchanged as one edit that Ctrl+Z in the cell takes back. */

import type { ISharedCodeCell } from '@jupyter/ydoc';
import type { IOutput } from '@jupyterlab/nbformat';
import { areEqual, areInert, type IContents, type Output } from './pageplan';

/** A cell of the page, as much of it as an exchange needs. */
export interface ICell {
  readonly shared: ISharedCodeCell;
  /** Whether its outputs may act in the page. */
  isTrusted: boolean;
}

/** What a cell shows, and whether it may act. */
interface IShown {
  outputs: Output[];
  isTrusted: boolean;
}

/** Noted at a step of the undo stack: its text is undone by the stack, its outputs by us. */
interface INote {
  cell: ICell;
  back: IShown;
  forth: IShown;
}

interface IStep {
  meta: Map<string, INote>;
}

/** The undo stack of a cell or, where the user has set so, of the notebook. */
interface IUndoManager {
  undoStack: IStep[];
  redoStack: IStep[];
  stopCapturing(): void;
  on(event: string, heard: (popped: { stackItem: IStep; type: 'undo' | 'redo' }) => void): void;
}

/** What cells have beside their interface, in all versions of JupyterLab 4. */
interface IUndoable {
  undoManager?: IUndoManager | null;
  ymodel?: { set(name: string, value: unknown): void };
}

const NOTE = 'nbckpt';

/**
 * Give a cell other contents, as one step of its undo stack.
 *
 * The outputs are no part of that step, but noted at it: what the stack itself brings back of a
 * list stands beside what a later run has put there. They come back only where nothing has changed
 * them since.
 */
export function exchange(cell: ICell, to: IContents & { outputs: Output[] }): void {
  const { shared } = cell;
  const { undoManager, ymodel } = shared as unknown as IUndoable;
  const back = shownBy(cell);
  // What the kernel's store holds is not known to come from this user: it acts only where it did.
  const forth = {
    outputs: to.outputs,
    isTrusted: back.isTrusted && (areInert(to.outputs) || areEqual(to.outputs, back.outputs))
  };
  undoManager?.stopCapturing();
  shared.transact(() => {
    if (shared.getSource() !== to.source) {
      shared.setSource(to.source);
    }
    // Set even to what it is: without a change there would be no step.
    ymodel?.set('execution_count', to.execution_count);
  });
  show(cell, forth);
  const step = undoManager?.undoStack.at(-1);
  if (undoManager && step) {
    step.meta.set(NOTE, { cell, back, forth });
    undoManager.stopCapturing();
    follow(undoManager);
  }
}

function shownBy(cell: ICell): IShown {
  return { outputs: cell.shared.getOutputs(), isTrusted: cell.isTrusted };
}

function show(cell: ICell, shown: IShown): void {
  const { shared } = cell;
  if (!areEqual(shared.getOutputs(), shown.outputs)) {
    shared.setOutputs([]); // what goes is not drawn once more with another trust
    cell.isTrusted = shown.isTrusted;
    shared.setOutputs(shown.outputs as unknown as IOutput[]);
  }
}

const followed = new WeakSet<IUndoManager>();

/** Have outputs go with the steps that they are noted at. */
function follow(undoManager: IUndoManager): void {
  if (followed.has(undoManager)) {
    return;
  }
  followed.add(undoManager);
  undoManager.on('stack-item-popped', ({ stackItem, type }) => {
    const note = stackItem.meta.get(NOTE);
    if (!note || note.cell.shared.isDisposed) {
      return;
    }
    const { cell, back, forth } = note;
    const other = type === 'undo' ? undoManager.redoStack : undoManager.undoStack;
    other.at(-1)?.meta.set(NOTE, { cell, back: forth, forth: back });
    if (areEqual(cell.shared.getOutputs(), forth.outputs)) {
      show(cell, back);
    }
  });
}
