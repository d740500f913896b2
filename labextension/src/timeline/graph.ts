/** The lines and the dot of one row, as SVG. */

import type { IRow } from '../records';
import { drawn } from './dom';
import type { IEdge } from './layout';

const PITCH = 14;
const TIGHTEST_PITCH = 4;
const MARGIN = 11;
const RADIUS = 4.5;

/** How lanes share the width that they may take. */
export interface IScale {
  pitch: number;
  /** Lanes beyond this one are not drawn. */
  limit: number;
  width: number;
}

/** Room for `lanes` lanes, closer together where they would take more than `most` pixels. */
export function scaled(lanes: number, most: number): IScale {
  const room = Math.max(PITCH, most - 2 * MARGIN);
  const pitch = Math.min(PITCH, Math.max(TIGHTEST_PITCH, room / Math.max(1, lanes - 1)));
  const limit = Math.min(lanes, Math.floor(room / pitch) + 1);
  return { pitch, limit, width: Math.round(2 * MARGIN + (limit - 1) * pitch) };
}

/** What is drawn in a row's first column. */
export interface IDrawing {
  edges: readonly IEdge[];
  lane: number;
  scale: IScale;
  height: number;
  /** Where the dot stands, from the top. */
  middle: number;
  row: IRow;
  isPosition: boolean;
  /** The line down leads past checkpoints that are not listed. */
  skips: boolean;
}

/** One row's part of the graph; each line goes on where the next row's begins. */
export function graph(drawing: IDrawing): SVGElement {
  const { scale, height } = drawing;
  const svg = drawn('svg', 'graph', {
    width: scale.width,
    height,
    viewBox: `0 0 ${scale.width} ${height}`,
    'aria-hidden': 'true'
  });
  for (const edge of drawing.edges) {
    svg.append(line(edge, drawing));
  }
  if (drawing.skips && !drawing.edges.some(edge => edge.part === 'below')) {
    svg.append(stub(drawing));
  }
  svg.append(...dot(drawing));
  return svg;
}

function column(lane: number, scale: IScale): number {
  return MARGIN + Math.min(lane, scale.limit - 1) * scale.pitch;
}

function colour(lane: number): string {
  return `of-lane${lane === 0 ? 0 : 1 + ((lane - 1) % 4)}`;
}

function line(edge: IEdge, { lane, scale, height, middle, skips }: IDrawing): SVGElement {
  const x = column(edge.lane, scale);
  const ways: Record<IEdge['part'], () => string> = {
    through: () => `M${x} 0V${height}`,
    above: () => `M${x} 0V${middle}`,
    below: () => `M${x} ${middle}V${height}`,
    join: () => {
      // Straight down, then a bend that arrives level with the dot.
      const to = column(lane, scale);
      const bend = Math.sign(x - to) * Math.min(Math.abs(x - to), PITCH);
      return `M${x} 0C${x} ${middle * 0.7} ${x - bend * 0.3} ${middle} ${x - bend} ${middle}H${to}`;
    }
  };
  const dashed = skips && edge.part === 'below' ? ' is-skipping' : '';
  return drawn('path', `edge ${colour(edge.lane)}${dashed}`, { d: ways[edge.part]() });
}

/** What came before is not listed at all: the line ends in the air. */
function stub({ lane, scale, height, middle }: IDrawing): SVGElement {
  const x = column(lane, scale);
  const end = middle + (height - middle) * 0.8;
  return drawn('path', `edge ${colour(lane)} is-skipping`, { d: `M${x} ${middle}V${end}` });
}

/** States differ in shape, not in colour alone. */
function dot({ row, lane, scale, middle: y, isPosition }: IDrawing): SVGElement[] {
  const x = column(lane, scale);
  const classes = `dot ${colour(lane)} is-${row.state}`;
  const shapes = isPosition
    ? [drawn('circle', `ring ${colour(lane)}`, { cx: x, cy: y, r: 8 })]
    : [];
  if (row.state === 'failed') {
    const r = 2.2;
    return [
      ...shapes,
      drawn('circle', classes, { cx: x, cy: y, r: RADIUS + 0.5 }),
      drawn('path', 'cross', {
        d: `M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`
      })
    ];
  }
  if (row.state === 'partial') {
    const half = `M${x} ${y - RADIUS}a${RADIUS} ${RADIUS} 0 0 1 0 ${2 * RADIUS}z`;
    return [
      ...shapes,
      drawn('circle', classes, { cx: x, cy: y, r: RADIUS }),
      drawn('path', `half ${colour(lane)}`, { d: half })
    ];
  }
  if (row.made_by !== '') {
    const r = RADIUS + 0.5;
    const diamond = `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`;
    const square = `M${x - 4} ${y - 4}h8v8h-8z`;
    return [...shapes, drawn('path', classes, { d: row.made_by === 'fork' ? diamond : square })];
  }
  return [...shapes, drawn('circle', classes, { cx: x, cy: y, r: row.automatic ? 3 : RADIUS })];
}
