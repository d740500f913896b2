/** A recorded output as a notebook draws it; no script of it runs. */

import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Widget } from '@lumino/widgets';
import type { IDrawer, Output } from './records';
import { isRecord } from './shapes';
import { make } from './timeline/dom';
import { plain } from './timeline/format';

export type Registry = NotebookPanel['content']['rendermime'];

/** Draws outputs, and lets go of what draws them. */
export class OutputNodes implements IDrawer {
  /**
   * @param _rendermime - of the notebook: outputs look as they do there
   */
  constructor(private readonly _rendermime: Registry) {}

  /** The element of one output. */
  of(output: Output): HTMLElement {
    const data = isRecord(output.data) ? unscripted(output.data) : bundleOf(output);
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

/**
 * `data` without HTML that draws itself by a script, where there is something else to see: the
 * script does not run, and without it nothing would be there.
 */
function unscripted(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { 'text/html': html, ...others } = data;
  const isOnlyOne = Object.keys(others).length === 0;
  return isOnlyOne || isSeen(textOf(html)) ? { ...data } : others;
}

/** Whether anything of `html` is there to see before a script of it has run. */
function isSeen(html: string): boolean {
  const { body } = new DOMParser().parseFromString(html, 'text/html'); // runs and loads nothing
  body.querySelectorAll('script, style').forEach(each => {
    each.remove();
  });
  return body.textContent.trim() !== '' || body.querySelector('img, svg, table') !== null;
}

/** A text of a notebook's file, which may have it in lines; empty of anything else. */
export function textOf(value: unknown): string {
  const whole: unknown = Array.isArray(value) ? value.join('') : value;
  return typeof whole === 'string' ? whole : '';
}

/** A stream or an error as what a renderer takes. */
function bundleOf({ text, traceback }: Output): Record<string, unknown> {
  const lines = Array.isArray(traceback) ? traceback.join('\n') : text;
  return { 'text/plain': plain(typeof lines === 'string' ? lines : '') };
}
