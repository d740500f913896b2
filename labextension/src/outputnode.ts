/** A recorded output as a notebook draws it; no script of it runs. */

import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Widget } from '@lumino/widgets';
import { BokehPlot, bokehOf, bokehPlot } from './bokehplots';
import type { IDrawer, Output } from './records';
import { isRecord, textOf } from './shapes';
import { make } from './timeline/dom';
import { plain } from './timeline/format';
import type { IWords } from './timeline/words';
import { mimeOfCharts, vegaChart } from './vegacharts';

export type Registry = NotebookPanel['content']['rendermime'];
type Data = Readonly<Record<string, unknown>>;

/** Draws outputs, and lets go of what draws them. */
export class OutputNodes implements IDrawer {
  /**
   * @param _rendermime - of the notebook: outputs look as they do there
   */
  constructor(
    private readonly _rendermime: Registry,
    private readonly _words: IWords
  ) {}

  /** The element of one output. */
  of(output: Output): HTMLElement {
    if (!isRecord(output.data)) {
      return this._rendered(bundleOf(output), {});
    }
    const { data } = output;
    const plot = bokehPlot(data);
    if (plot !== null) {
      const bokeh = bokehOf(window, plot);
      const drawn = bokeh && new BokehPlot(bokeh, plot, () => this._told(data));
      return drawn === null ? this._told(data) : this._kept(drawn);
    }
    const metadata = isRecord(output.metadata) ? output.metadata : {};
    const seen = unscripted(this._asChart(data) ?? data);
    const mime = this._rendermime.preferredMimeType(seen as never, 'ensure');
    if (mime === undefined || (mime === 'text/html' && needsScript(seen))) {
      return this._told(data);
    }
    const node = this._rendered(seen, metadata);
    // A text in place of a drawing is not what the cell showed.
    return mime === 'text/plain' && needsScript(data)
      ? make('div', '', {}, [node, this._told(data)])
      : node;
  }

  dispose(): void {
    for (const drawn of this._drawn.splice(0)) {
      drawn.dispose();
    }
  }

  /** A chart by its description, where the front end draws charts, but not this one as it is. */
  private _asChart(data: Data): Data | null {
    const { mimeTypes } = this._rendermime;
    const isKnown = (mime: string): boolean => mimeTypes.includes(mime);
    const chart = vegaChart(data);
    if (chart === null || mimeOfCharts(Object.keys(data).filter(isKnown), chart.grammar)) {
      return null;
    }
    const mime = mimeOfCharts(mimeTypes, chart.grammar);
    // A renderer takes options from `usermeta`, addresses among them.
    return mime === undefined ? null : { [mime]: { ...chart.spec, usermeta: undefined } };
  }

  private _rendered(data: Data, metadata: Data): HTMLElement {
    const mime = this._rendermime.preferredMimeType(data as never, 'ensure') ?? 'text/plain';
    const renderer = this._rendermime.createRenderer(mime);
    const model = this._rendermime.createModel({
      data: data as never,
      metadata: metadata as never,
      trusted: false
    });
    renderer.renderModel(model).catch((error: unknown) => {
      renderer.node.textContent = error instanceof Error ? error.message : String(error);
    });
    return this._kept(renderer);
  }

  private _kept(drawn: Pick<Widget, 'node' | 'dispose'>): HTMLElement {
    this._drawn.push(drawn);
    return drawn.node;
  }

  /** Why an output is not drawn, and what to do. */
  private _told(data: Data): HTMLElement {
    const words = this._words;
    const plot = bokehPlot(data);
    if (plot !== null && bokehOf(window, plot) === null) {
      return hint(
        words.__(
          'A Bokeh plot: run the cell with output_notebook() to see it here (Bokeh %1).',
          plot.version
        )
      );
    }
    return needsScript(data)
      ? hint(words.__('Drawn by a script, which does not run here: run the cell to see it.'))
      : hint(Object.keys(data).join(', '));
  }

  private readonly _drawn: Pick<Widget, 'dispose'>[] = [];
}

/**
 * `data` without HTML that draws itself by a script, where there is something else to see: the
 * script does not run, and without it nothing would be there.
 */
function unscripted(data: Data): Data {
  const { 'text/html': html, ...others } = data;
  const isOnlyOne = Object.keys(others).length === 0;
  return isOnlyOne || isSeen(bodyOf(html)) ? data : others;
}

/** True if nothing of an output is there before a script of it has run. */
function needsScript(data: Data): boolean {
  const body = bodyOf(data['text/html']);
  const hasScript = 'application/javascript' in data || body.querySelector('script') !== null;
  return hasScript && !isSeen(body);
}

/** The elements of an HTML text; nothing of it runs or is fetched. */
function bodyOf(html: unknown): HTMLElement {
  return new DOMParser().parseFromString(textOf(html), 'text/html').body;
}

function isSeen(body: HTMLElement): boolean {
  const copy = body.cloneNode(true) as HTMLElement;
  copy.querySelectorAll('script, style').forEach(each => {
    each.remove();
  });
  return copy.textContent.trim() !== '' || copy.querySelector('img, svg, table') !== null;
}

function hint(text: string): HTMLElement {
  return make('p', 'hint', {}, [text]);
}

/** A stream or an error as what a renderer takes. */
function bundleOf({ text, traceback }: Output): Data {
  const lines = Array.isArray(traceback) ? traceback.join('\n') : text;
  return { 'text/plain': plain(typeof lines === 'string' ? lines : '') };
}
