/** Outputs that show something, and their content as one is told from another. Pure. */

import { bokehPlot, withoutIds } from './bokehplots';
import type { Output } from './records';
import { isRecord, textOf } from './shapes';
import { vegaChart } from './vegacharts';

const LOADING = 'application/vnd.bokehjs_load.v0+json';
/** Into this, the script of the output that follows draws. */
const PLACE = /^\s*(<div id="[^"]*" data-root-id="[^"]*"[^>]*><\/div>\s*)+$/;

/** Those that show something by themselves; Bokeh makes others beside each plot. */
export function visible(outputs: readonly Output[]): Output[] {
  return outputs.filter(
    ({ data }) => !isRecord(data) || !(LOADING in data || PLACE.test(textOf(data['text/html'])))
  );
}

/** The content of an output, without names that are made up each time; null where it has no data. */
export function contentOf(output: Output | undefined): string | null {
  const data = output?.data;
  if (!isRecord(data)) {
    return null;
  }
  const plot = bokehPlot(data);
  return plot === null ? JSON.stringify(vegaChart(data)?.spec ?? data) : withoutIds(plot);
}
