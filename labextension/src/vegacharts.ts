/** A Vega or Vega-Lite chart as the data that describes it, read from an output as text. */

import { isRecord, textOf } from './shapes';

/** A chart, for whichever renderer of a front end. */
export interface IVegaChart {
  grammar: 'vega' | 'vegalite';
  spec: Readonly<Record<string, unknown>>;
}

/** Altair 6 says `.json`, those before it and the front ends `+json`. */
const MIME = /^application\/vnd\.(vega|vegalite)\.v(\d+)[+.]json$/;
/** The call that ends the script which Altair, without `renderers.enable`, shows a chart by. */
const CALL = /\(function\(spec, embedOpt\)\{.*?\}\)\((.*)\);\s*<\/script>/s;

/** The chart of an output; null where it has none. */
export function vegaChart(data: Readonly<Record<string, unknown>>): IVegaChart | null {
  for (const [mime, spec] of Object.entries(data)) {
    const grammar = grammarOf(mime);
    if (grammar !== null && isRecord(spec)) {
      return { grammar, spec };
    }
  }
  const [, both] = CALL.exec(textOf(data['text/html'])) ?? [];
  if (both === undefined) {
    return null;
  }
  try {
    const [spec, options] = JSON.parse(`[${both}]`) as unknown[];
    const isVega = isRecord(options) && options.mode === 'vega';
    return isRecord(spec) ? { grammar: isVega ? 'vega' : 'vegalite', spec } : null;
  } catch {
    return null; // another script, which only looks like Altair's
  }
}

/**
 * The media type by which a front end draws charts of a grammar; undefined where it draws none.
 *
 * JupyterLab 4 knows Vega-Lite up to version 5, Altair 6 emits version 6: what a chart of a newer
 * version has in common with it is drawn.
 */
export function mimeOfCharts(
  mimes: readonly string[],
  grammar: IVegaChart['grammar']
): string | undefined {
  return mimes
    .filter(mime => grammarOf(mime) === grammar)
    .sort((a, b) => versionOf(b) - versionOf(a))[0];
}

function grammarOf(mime: string): IVegaChart['grammar'] | null {
  return (MIME.exec(mime)?.[1] as IVegaChart['grammar'] | undefined) ?? null;
}

function versionOf(mime: string): number {
  return Number(MIME.exec(mime)?.[2]);
}
