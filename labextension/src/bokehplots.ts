/**
 * A Bokeh plot as the data that describes it, drawn by the BokehJS that the notebook has loaded.
 *
 * The script that shows a plot is read as text and never runs. In a description, too, there can be
 * code (`CustomJS`) and HTML (tooltips): only models that draw on the plot's canvas are let through,
 * and a plot with any other is not drawn. Its tools are left out, so that a plot is a picture.
 */

import { isRecord } from './shapes';

/** A document of Bokeh's with one root. */
export interface IBokehPlot {
  version: string;
  root: Record<string, unknown>;
}

/** The part of BokehJS that is used here. */
interface IBokeh {
  readonly version: string;
  readonly documents?: unknown[];
  readonly embed: {
    embed_item(item: object, target: HTMLElement): Promise<Iterable<IView> & { clear?(): void }>;
  };
}

interface IView {
  readonly model: { readonly document: unknown };
}

const DEFAULT_PX = 600;
const LOWEST_PX = 220;
const DOCUMENTS = /^\s*const docs_json = (\{.*\});$/m;
const ITEMS = /^\s*const render_items = (\[.*\]);$/m;

/** Kinds that stand in descriptions beside models, and hold data alone. */
const DATA: ReadonlySet<unknown> = new Set(
  'array bytes date expr field map ndarray number object set slice typed_array value'.split(' ')
);
/** Models that draw on a canvas or are data of those; none has code, HTML or an address. */
const MODELS: ReadonlySet<unknown> = new Set(
  [
    'Figure Plot Row Column GridPlot Title',
    'DataRange1d Range1d FactorRange LinearScale LogScale CategoricalScale',
    'LinearAxis LogAxis CategoricalAxis DatetimeAxis Grid AllLabels NoOverlap',
    'BasicTicker AdaptiveTicker CompositeTicker SingleIntervalTicker FixedTicker BinnedTicker',
    'LogTicker CategoricalTicker DatetimeTicker DaysTicker MonthsTicker YearsTicker',
    'BasicTickFormatter LogTickFormatter CategoricalTickFormatter DatetimeTickFormatter',
    'NumeralTickFormatter PrintfTickFormatter',
    'ColumnDataSource CDSView AllIndices IndexFilter BooleanFilter GroupFilter',
    'Selection UnionRenderers IntersectRenderers GlyphRenderer',
    'Line Scatter Circle Step MultiLine Segment Ray Arc Bezier Quadratic Patch Patches',
    'VBar HBar Quad Rect Block HexTile VArea HArea VAreaStep HAreaStep Wedge Annulus AnnularWedge',
    'Ellipse Image ImageRGBA Text VSpan HSpan VStrip HStrip MultiPolygons',
    'Legend LegendItem ColorBar Span BoxAnnotation PolyAnnotation Label LabelSet Band Slope Whisker',
    'Arrow NormalHead OpenHead TeeHead VeeHead BoxInteractionHandles AreaVisuals',
    'LinearColorMapper LogColorMapper CategoricalColorMapper EqHistColorMapper',
    'CategoricalMarkerMapper CategoricalPatternMapper Dodge Jitter Stack CumSum Node',
    'MercatorAxis MercatorTicker MercatorTickFormatter'
  ].flatMap(names => names.split(' '))
);
/** Members that call back, or dress elements of the page. */
const REFUSED = /^(js_|css_|html_|style|elements$|context_menu$)/;
/** Tools and their bar: they call back, show HTML, and open addresses. */
const LEFT_OUT: ReadonlySet<string> = new Set(['toolbar', 'toolbar_location', 'tools']);
const HAVE_TOOLS: ReadonlySet<unknown> = new Set(['Figure', 'Plot', 'GridPlot']);
/** Bokeh fetches MathJax for what stands between these. */
const MATHEMATICS = /\$\$|\\\[|\\\(/;

/** The plot whose script an output is; null where it has none that is drawn here. */
export function bokehPlot(data: Readonly<Record<string, unknown>>): IBokehPlot | null {
  const script = data['application/javascript'];
  if (!('application/vnd.bokehjs_exec.v0+json' in data) || typeof script !== 'string') {
    return null;
  }
  try {
    const documents: unknown = JSON.parse(DOCUMENTS.exec(script)?.[1] ?? '');
    const items: unknown = JSON.parse(ITEMS.exec(script)?.[1] ?? '');
    const [item] = Array.isArray(items) ? (items as unknown[]) : [];
    const found = isRecord(documents) && isRecord(item) ? documents[String(item.docid)] : null;
    if (!isRecord(found) || !Array.isArray(found.roots) || found.roots.length !== 1) {
      return null;
    }
    const root = drawable(found.roots[0]);
    const { version } = found;
    return isRecord(root) && typeof root.id === 'string' && typeof version === 'string'
      ? { version, root }
      : null;
  } catch {
    return null; // a script of another form, or a plot that is not only drawn
  }
}

/** `value` without its tools; throws where anything else of it is not known to be harmless. */
function drawable(value: unknown): unknown {
  if (typeof value === 'string' && MATHEMATICS.test(value)) {
    throw new TypeError('mathematics');
  }
  if (Array.isArray(value)) {
    return value.map(drawable);
  }
  if (!isRecord(value)) {
    return value;
  }
  if ('type' in value && !DATA.has(value.type)) {
    throw new TypeError(`data ${String(value.type)}`);
  }
  if (value.type === 'object' && !MODELS.has(value.name)) {
    throw new TypeError(`model ${String(value.name)}`);
  }
  const { attributes } = value;
  if (
    value.type === 'object' &&
    isRecord(attributes) &&
    ('type' in attributes || 'id' in attributes)
  ) {
    throw new TypeError('members in another form'); // in which nothing below would find them
  }
  const members = Object.entries(value).filter(([name]) => !LEFT_OUT.has(name));
  if (members.some(([name]) => REFUSED.test(name))) {
    throw new TypeError('a member that calls back');
  }
  const own = Object.fromEntries(members.map(([name, each]) => [name, drawable(each)]));
  return value.type === 'object' && HAVE_TOOLS.has(value.name)
    ? { ...own, attributes: { ...(own.attributes as object | undefined), toolbar_location: null } }
    : own;
}

/** The ids of a plot's models count on in a session: here they count from its first. */
export function withoutIds({ root }: IBokehPlot): string {
  const known = new Map<string, number>();
  return JSON.stringify(root).replace(/"p\d+"/g, id => {
    known.set(id, known.get(id) ?? known.size);
    return `"p${known.get(id)}"`;
  });
}

/** The BokehJS of this version in this page; null where no cell has loaded it. */
export function bokehOf(page: object, { version }: IBokehPlot): IBokeh | null {
  const { Bokeh: found } = page as { Bokeh?: IBokeh };
  const minor = (text: string): string => text.split('.').slice(0, 2).join('.');
  return typeof found?.version === 'string' && minor(found.version) === minor(version)
    ? found
    : null;
}

/** A plot in an element, from when that is in the page until it is disposed of. */
export class BokehPlot {
  readonly node: HTMLElement = document.createElement('div');

  /**
   * @param _failed - an element for the place of a plot that this BokehJS does not draw
   */
  constructor(
    private readonly _bokeh: IBokeh,
    private readonly _plot: IBokehPlot,
    private readonly _failed: () => HTMLElement
  ) {
    this.node.className = 'nbckpt-Timeline-bokeh';
    this._seen = new ResizeObserver(() => {
      if (this.node.isConnected && this.node.clientWidth > 0) {
        this._seen.disconnect();
        void this._draw();
      }
    });
    this._seen.observe(this.node);
  }

  dispose(): void {
    this._isDisposed = true;
    this._seen.disconnect();
    this._clear();
  }

  private async _draw(): Promise<void> {
    const { root, version } = this._plot;
    try {
      const doc = {
        version,
        title: '',
        config: {
          type: 'object',
          name: 'DocumentConfig',
          id: 'nbckpt-config',
          attributes: { notifications: null }
        },
        roots: [within(root, this.node.clientWidth)]
      };
      const views = await this._bokeh.embed.embed_item({ doc, root_id: root.id }, this.node);
      this._clear = () => {
        for (const { model } of [...views]) {
          const at = this._bokeh.documents?.indexOf(model.document) ?? -1;
          this._bokeh.documents?.splice(at, at < 0 ? 0 : 1);
        }
        views.clear?.();
      };
      if (this._isDisposed) {
        this._clear(); // while it was drawn
      }
    } catch {
      this.node.replaceChildren(this._failed());
    }
  }

  private readonly _seen: ResizeObserver;
  private _clear: () => void = () => undefined;
  private _isDisposed = false;
}

/** A figure that is wider than its place is made as wide, and lower, but not too low to be read. */
function within(root: Record<string, unknown>, width: number): Record<string, unknown> {
  const attributes = isRecord(root.attributes) ? root.attributes : {};
  const [own, high] = [attributes.width ?? DEFAULT_PX, attributes.height ?? DEFAULT_PX];
  if (root.name !== 'Figure' || typeof own !== 'number' || typeof high !== 'number') {
    return root;
  }
  const height = Math.min(high, Math.max((high * width) / own, LOWEST_PX));
  return own > width ? { ...root, attributes: { ...attributes, width, height } } : root;
}
