import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bokehPlot, bokehOf, withoutIds } from '../bokehplots';
import { contentOf, visible } from '../outputcontent';
import { mimeOfCharts, vegaChart } from '../vegacharts';

const EXEC = 'application/vnd.bokehjs_exec.v0+json';
const SPEC = { mark: 'bar', title: '}, {"mode": 1});', data: { values: [{ x: 1, y: 4 }] } };

/** What Altair 6 shows a chart by, shortened where nothing is read. */
function altair(spec: object, options: object = { mode: 'vega-lite' }, id = '9d93'): string {
  return (
    `\n<style>#altair-viz-${id}.vega-embed {}</style>\n<div id="altair-viz-${id}"></div>\n` +
    '<script type="text/javascript">\n  (function(spec, embedOpt){\n    if (true) {}\n' +
    `  })(${JSON.stringify(spec)}, ${JSON.stringify(options)});\n</script>\n`
  );
}

function model(name: string, id: string, attributes?: object): object {
  return { type: 'object', name, id, ...(attributes ? { attributes } : {}) };
}

/** What Bokeh 3.9 shows a plot by, shortened where nothing is read. */
function bokeh(root: object, id = 'p1008', docid = '3eab0f7e'): Record<string, unknown> {
  const document = { version: '3.9.2', title: 'Bokeh Application', roots: [root] };
  const items = [{ docid, roots: { [id]: 'b4599671' }, root_ids: [id] }];
  const script =
    `(function(root) {\n  function embed_document(root) {\n` +
    `  const docs_json = ${JSON.stringify({ [docid]: document })};\n` +
    `  const render_items = ${JSON.stringify(items)};\n` +
    '  void root.Bokeh.embed.embed_items_notebook(docs_json, render_items);\n  }\n})(window);';
  return { 'application/javascript': script, [EXEC]: '' };
}

function figure(attributes: object, first = 1008): object {
  return model('Figure', `p${first}`, {
    height: 200,
    title: model('Title', `p${first + 3}`, { text: 'round 1' }),
    ...attributes
  });
}

test("a chart is read from what Altair's script is called with", () => {
  assert.deepEqual(vegaChart({ 'text/html': altair(SPEC) }), { grammar: 'vegalite', spec: SPEC });
  assert.deepEqual(vegaChart({ 'text/html': altair(SPEC, { mode: 'vega' }) })?.grammar, 'vega');
  assert.deepEqual(vegaChart({ 'text/html': [altair(SPEC)] })?.spec, SPEC);
  assert.deepEqual(vegaChart({ 'application/vnd.vegalite.v6.json': SPEC })?.spec, SPEC);
  assert.deepEqual(vegaChart({ 'application/vnd.vega.v5+json': SPEC })?.grammar, 'vega');
});

test('another script has no chart', () => {
  const script = '<script>(function(spec, embedOpt){})({mark: alert()}, {});</script>';

  assert.equal(vegaChart({ 'text/html': script }), null);
  assert.equal(vegaChart({ 'text/html': '<table></table>', 'text/plain': 'x' }), null);
  assert.equal(vegaChart({ 'application/vnd.vegalite.v6+json': 'text' }), null);
});

test('a chart is drawn by the newest version that a front end knows', () => {
  const mimes = [3, 10, 5].map(version => `application/vnd.vegalite.v${version}+json`);

  assert.equal(mimeOfCharts(mimes, 'vegalite'), 'application/vnd.vegalite.v10+json');
  assert.equal(mimeOfCharts(mimes, 'vega'), undefined);
});

test('a plot comes without its tools', () => {
  const help = model('HelpTool', 'p1042', { redirect: 'javascript:alert()' });
  const toolbar = model('Toolbar', 'p1017', { tools: [help] });

  assert.deepEqual(bokehPlot(bokeh(figure({ toolbar, toolbar_location: 'above' }))), {
    version: '3.9.2',
    root: figure({ toolbar_location: null })
  });
});

test('figures in a row have no tools either', () => {
  const rowOf = (attributes: object): object =>
    model('Row', 'p1', { children: [figure(attributes), figure(attributes, 2008)] });
  const tools = { toolbar: model('Toolbar', 'p1017', { tools: [model('HelpTool', 'p1042')] }) };

  assert.deepEqual(bokehPlot(bokeh(rowOf(tools), 'p1'))?.root, rowOf({ toolbar_location: null }));
});

const CODE = model('CustomJS', 'p9', { code: 'alert()' });
for (const [what, attributes] of [
  ['code that is called back', { js_property_callbacks: { start: [CODE] } }],
  ['code in a model', { x_range: model('Range1d', 'p2', { tags: [CODE] }) }],
  ['code in a list of pairs', { tags: { type: 'map', entries: [['a', CODE]] } }],
  ['code that computes', { x: { type: 'field', field: 'x', transform: CODE } }],
  ['another form of data', { tags: [{ type: 'symbol', name: 'alert' }] }],
  ['a widget', { left: [model('Div', 'p2', { text: '<img src=x onerror=alert()>' })] }],
  ['an address', { renderers: [model('TileRenderer', 'p2')] }],
  ['a style', { stylesheets: [':host { position: fixed }'] }],
  ['members in another form', { type: 'map', entries: [['styles', {}]] }],
  ['mathematics', { title: model('Title', 'p2', { text: '$$x$$' }) }]
] as const) {
  test(`a plot with ${what} is not drawn`, () => {
    assert.equal(bokehPlot(bokeh(figure(attributes))), null);
  });
}

test('a script of another form has no plot', () => {
  assert.equal(bokehPlot({ 'application/javascript': 'alert()', [EXEC]: '' }), null);
  const named = { 'application/javascript': bokeh(figure({}))['application/javascript'] };
  assert.equal(bokehPlot(named), null);
});

test('a plot is drawn by a BokehJS of its version', () => {
  const plot = { version: '3.9.2', root: {} };

  assert.notEqual(bokehOf({ Bokeh: { version: '3.9.0' } }, plot), null);
  assert.equal(bokehOf({ Bokeh: { version: '3.8.2' } }, plot), null);
  assert.equal(bokehOf({ Bokeh: {} }, plot), null);
  assert.equal(bokehOf({}, plot), null);
});

test('names that are made up for each showing make no difference', () => {
  const output = (data: object): never => ({ output_type: 'display_data', data }) as never;
  const [one, again] = [figure({}), figure({}, 2008)];
  const other = figure({ height: 300 });

  assert.equal(contentOf(output(bokeh(one))), contentOf(output(bokeh(again, 'p2008', 'other'))));
  assert.notEqual(contentOf(output(bokeh(one))), contentOf(output(bokeh(other))));
  assert.equal(
    contentOf(output({ 'text/html': altair(SPEC) })),
    contentOf(output({ 'text/html': altair(SPEC, undefined, '77aa') }))
  );
  assert.equal(
    withoutIds({ version: '', root: { id: 'p7', a: ['p9', 'p7'] } }),
    '{"id":"p0","a":["p1","p0"]}'
  );
});

test('what Bokeh shows beside a plot is not shown', () => {
  const outputs = [
    {
      'text/html': '\n  <div id="b4599671" data-root-id="p1008" style="display: contents;"></div>\n'
    },
    { 'application/vnd.bokehjs_load.v0+json': '…', 'application/javascript': '…' },
    { 'text/html': '<div id="x" data-root-id="p1">told</div>' },
    { 'text/plain': 'text' }
  ].map(data => ({ output_type: 'display_data', data }));

  assert.deepEqual(visible(outputs), outputs.slice(2));
});
