/** A recorded output as a notebook draws it; no script of it runs. */

import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Widget } from '@lumino/widgets';
import { isRecord } from '../shapes';
import { make } from '../timeline/dom';
import { plain } from '../timeline/format';
import type { Output } from './pageplan';

export type Registry = NotebookPanel['content']['rendermime'];

/** Draws outputs, and lets go of what draws them. */
export class OutputNodes {
  /**
   * @param _rendermime - of the notebook: outputs look as they do there
   */
  constructor(private readonly _rendermime: Registry) {}

  /** The element of one output. */
  of(output: Output): HTMLElement {
    const data = isRecord(output.data) ? output.data : bundleOf(output);
    const mime = this._rendermime.preferredMimeType(data as never, 'ensure');
    if (mime === undefined) {
      return make('p', 'hint', {}, [Object.keys(data).join(', ')]);
    }
    const renderer = this._rendermime.createRenderer(mime);
    const metadata = isRecord(output.metadata) ? output.metadata : {};
    const model = this._rendermime.createModel({
      data: data as never,
      metadata: metadata as never,
      trusted: false
    });
    renderer.renderModel(model).catch((error: unknown) => {
      renderer.node.textContent = error instanceof Error ? error.message : String(error);
    });
    this._renderers.push(renderer);
    return renderer.node;
  }

  dispose(): void {
    for (const renderer of this._renderers.splice(0)) {
      renderer.dispose();
    }
  }

  private readonly _renderers: Widget[] = [];
}

/** A stream or an error as what a renderer takes. */
function bundleOf({ text, traceback }: Output): Record<string, unknown> {
  const lines = Array.isArray(traceback) ? traceback.join('\n') : text;
  return { 'text/plain': plain(typeof lines === 'string' ? lines : '') };
}
