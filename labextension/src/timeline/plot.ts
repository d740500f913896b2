/** Numbers as a line or as bars, drawn small. */

import { drawn } from './dom';

/** A number of a row, or a gap. */
export type Reading = number | null;

/** What a drawing is of. */
interface IDrawing {
  width: number;
  height: number;
  /** What it says to who cannot see it. */
  label: string;
}

const EDGE = 4;

/**
 * Numbers as a line from left to right, its lowest and highest at the edges.
 *
 * @param dots - whether each has a dot
 */
export function lineOf(
  numbers: readonly Reading[],
  { width, height, label }: IDrawing,
  dots: boolean
): SVGElement {
  const node = drawing(width, height, label);
  const places = placesOf(numbers, width, height, dots ? EDGE : 1);
  node.append(
    drawn('polyline', 'plotLine', { points: places.map(([x, y]) => `${x},${y}`).join(' ') })
  );
  if (dots) {
    node.append(...places.map(([cx, cy]) => drawn('circle', 'plotDot', { cx, cy, r: 2.5 })));
  }
  return node;
}

/** How many numbers lie in each of some equal ranges, as bars. */
export function barsOf(counts: readonly number[], { width, height, label }: IDrawing): SVGElement {
  const node = drawing(width, height, label);
  const most = Math.max(1, ...counts);
  const wide = width / counts.length;
  node.append(
    ...counts.map((count, at) => {
      const tall = (height * count) / most;
      const size = { width: Math.max(1, wide - 1), height: tall };
      return drawn('rect', 'plotBar', { x: at * wide, y: height - tall, ...size });
    })
  );
  return node;
}

/** Where the numbers lie in a drawing, evenly apart; gaps have no place. */
export function placesOf(
  numbers: readonly Reading[],
  width: number,
  height: number,
  edge: number
): [number, number][] {
  const known = numbers.filter(each => each !== null);
  const low = Math.min(...known);
  const high = Math.max(...known);
  const apart = (width - 2 * edge) / Math.max(1, numbers.length - 1);
  return numbers.flatMap((each, at): [number, number][] => {
    if (each === null) {
      return [];
    }
    const share = high === low ? 0.5 : (each / 2 - low / 2) / (high / 2 - low / 2);
    return [[rounded(edge + at * apart), rounded(height - edge - share * (height - 2 * edge))]];
  });
}

function rounded(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

function drawing(width: number, height: number, label: string): SVGElement {
  const view = `0 0 ${width} ${height}`;
  const node = drawn('svg', 'plot', { viewBox: view, width, height, role: 'img' });
  node.setAttribute('aria-label', label);
  return node;
}
