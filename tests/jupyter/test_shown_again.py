"""The outputs of a notebook whose cells are restored are those of its first run."""

from __future__ import annotations

import io
import logging
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbckpt.jupyter.outputs import Recorder
from nbckpt.jupyter.runner.run import Run, run
from nbckpt.text.progress_bar import Bar
from tests.running import environment, write_notebook

pytestmark = pytest.mark.sampled(7)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.delenv("NBCKPT_STORE", raising=False)


def run_cells(folder: Path, cells: Sequence[str]) -> Run:
    named = {f"c{number}": cell for number, cell in enumerate(cells)}
    return run(write_notebook(folder / "work.ipynb", named))


def outputs(done: Run) -> list[Any]:
    """What each cell shows, without what nbckpt says."""
    cells = nbformat.read(done.out, as_version=4).cells
    return [[_told(o) for o in c.outputs if "nbckpt" not in o.get("metadata", {})] for c in cells]


def _told(output: Any) -> Any:
    if output.output_type == "stream":
        return output.name, output.text
    if output.output_type == "error":
        return output.ename, output.evalue
    text = re.sub(r"0x[0-9a-f]+", "0x", str(output.data.get("text/plain")))
    return output.output_type, sorted(output.data), text


ALIKE = {
    "an updated display": ["h = display('x', display_id='k')", "h.update('y')", "h.update('z')"],
    "a display that is updated in its own cell": [
        "h = display('x', display_id=True); print('between'); h.update('z')"
    ],
    "a child process and C code": [
        "import os, subprocess\nn = os.system('echo one'); r = subprocess.run(['echo', 'two'])",
        "import ctypes\nn = ctypes.CDLL(None).printf(b'three\\n')",
        "!echo four",
    ],
    "text in colours": ["print('\\x1b[31mred\\x1b[0m'); 5"],
    "an error of the result's own code": [
        "class B:\n    def _repr_html_(self): raise ValueError('no html')\nB()",
        "1",
    ],
    "a figure": [
        "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2], label='a');",
        "fig",
        "ax.legend(); fig",
    ],
    "widgets": [
        "import ipywidgets as w\ns = w.IntSlider(value=3)\ndisplay(s)",
        "d = w.Dropdown(options=['a', 'b'], value='b'); box = w.VBox([s, d]); box",
        "display(w.HTML('of nobody'))",
        "s.value, d.value, box.children[0] is s",
        "l = w.jslink((s, 'value'), (w.IntSlider(), 'value'))",
        "l.unlink()",
    ],
    "observers": [
        "import ipywidgets as w\nt = w.IntText(1); n = 0",
        "def on(change):\n    global n\n    n += change.new",
        "t.observe(on, 'value'); t",
        "t.value = 5",
        "n",
        "t.value = 6; n",
        "w.VBox([t])",
    ],
    "buttons": [
        "import ipywidgets as w\nb = w.Button(description='go'); out = w.Output(); hits = []",
        "def on(b):\n    with out:\n        print('hit', len(hits))\n    hits.append(1)",
        "b.on_click(on); w.VBox([b, out])",
        "b.click()",
        "b.click(); hits",
        "out.outputs",
    ],
    "interact": [
        "from ipywidgets import interact, interactive",
        "def f(x):\n    return x * 2",
        "interact(f, x=10);",
        "g = interactive(f, x=5); g",
        "g.children[0].value = 7; g.result, f(3)",
        "g.kwargs",
    ],
    "links": [
        "import ipywidgets as w\na = w.IntSlider(); b = w.IntSlider()\n"
        "l = w.link((a, 'value'), (b, 'value'))",
        "a.value = 4",
        "b.value = 7; a.value",
        "l.unlink()",
        "a.value = 1; b.value",
    ],
    "an application": [
        "import ipywidgets as w\n"
        "class App:\n"
        "    def __init__(self):\n"
        "        self.s, self.log = w.IntSlider(3), []\n"
        "        self.s.observe(self.changed, 'value')\n"
        "    def changed(self, c):\n"
        "        self.log.append(c.new)",
        "app = App(); app.s",
        "app.s.value = 8",
        "app.log",
    ],
    "choices": [
        "import ipywidgets as w\ns = w.Select(options={'a': 1, 'b': 2}, value=2)\n"
        "r = w.SelectionRangeSlider(options=[1, 2, 3], index=(0, 1))\n"
        "t = w.Tab([w.Text(), w.Text()]); t.titles = ('p', 'q')",
        "s.value, s.index, s.label, r.value, t.titles",
        "s.value = 1; r.index = (1, 2); t.selected_index = 1; s.add_class('red')",
        "s.index, s.label, r.value, t.selected_index, s._dom_classes",
        "b = w.Button(description='k'); b.close()",
        "b.comm, b.description",
    ],
    "a grid": [
        "import ipywidgets as w\ng = w.GridspecLayout(2, 2); g[0, 0] = w.Button(description='a')",
        "g[1, :] = w.Text('q'); g",
        "g[0, 0].description, g[1, 0].value",
    ],
    "a member of its own": [
        "import ipywidgets as w, traitlets\nt = w.Text('q')\n"
        "t.add_traits(extra=traitlets.Int(3).tag(sync=True))",
        "t.extra = 8",
        "t.extra, 'extra' in t.keys, isinstance(t, w.Text)",
    ],
    "a member of its own that nothing has asked for": [
        "import ipywidgets as w, traitlets",
        "t = w.IntSlider()\nt.add_traits(extra=traitlets.Int(0))",
        "try:\n    t.extra = 5; print('set', t.extra)\nexcept traitlets.TraitError:\n    print('refused')",
    ],
    "widgets that hold each other": [
        "import ipywidgets as w\na = w.VBox(); b = w.VBox([a]); a.parent = b",
        "a.parent is b, b.children[0] is a",
    ],
    "a widget of the notebook": [
        "import ipywidgets as w\n"
        "class Form(w.VBox):\n"
        "    def __init__(self, title, n):\n"
        "        self.title, self.count = title, 0\n"
        "        self.boxes = [w.Text(str(i)) for i in range(n)]\n"
        "        super().__init__(self.boxes)\n"
        "        self.observe(self._seen, 'children')\n"
        "    def _seen(self, change):\n"
        "        self.count += 1",
        "f = Form('t', 3); f",
        "f.children = f.children[:2]; f.count, f.title, len(f.boxes)",
        "f.children[0] is f.boxes[0], isinstance(f, Form)",
    ],
    "a widget of another package": [
        "import numpy as np, bqplot as bq\nx = np.arange(5.0); sx, sy = bq.LinearScale(), "
        "bq.LinearScale()\nline = bq.Lines(x=x, y=x**2, scales={'x': sx, 'y': sy})",
        "fig = bq.Figure(marks=[line], axes=[bq.Axis(scale=sx)]); fig",
        "line.y = x * 3",
        "line.y.sum(), fig.marks[0] is line, line.scales['x'] is sx is fig.axes[0].scale",
    ],
    "a widget with a script of its own": [
        "import anywidget, traitlets\n"
        "class Counter(anywidget.AnyWidget):\n"
        "    _esm = 'export default { render() {} }'\n"
        "    value = traitlets.Int(0).tag(sync=True)\n"
        "    @traitlets.validate('value')\n"
        "    def _at_most_nine(self, proposal): return min(9, proposal.value)\n"
        "c = Counter(value=4)",
        "c.value += 1; c",
        "c.value = 30",
        "c.value, isinstance(c, Counter), '_esm' in c.keys",
    ],
    "members of traitlets": [
        "import traitlets as t\n"
        "class P(t.HasTraits):\n"
        "    n = t.Int(1)\n"
        "    items = t.List(t.Unicode())\n"
        "    @t.observe('n')\n"
        "    def _n(self, change): self.m = change.new * 2\n"
        "    @t.validate('n')\n"
        "    def _v(self, proposal): return max(0, proposal.value)\n"
        "    @t.default('items')\n"
        "    def _d(self): return ['x']\n"
        "p = P()",
        "class Q(P):\n    z = t.Float(2.5)\nq = Q(n=4)",
        "p.n = 6; q.n = -2",
        "p.n, p.m, q.n, q.m, q.z, p.items, q.items",
        "q.items.append('y'); Q().items, q.items, Q(n=-1).n",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("cells", ALIKE.values(), ids=ALIKE)
def test_restored_cells_show_what_they_showed(cells: list[str], tmp_path: Path) -> None:
    first = run_cells(tmp_path, cells)
    shown = outputs(first)

    again = run_cells(tmp_path, cells)

    assert (first.problem, again.problem) == ("", "")
    assert outputs(again) == shown
    assert [cell.way for cell in again.cells] == ["restored"] * len(cells)


@pytest.mark.slow
def test_a_widget_that_calls_a_function_and_is_no_variable_is_made_by_its_cell(
    tmp_path: Path,
) -> None:
    cells = ["import ipywidgets as w", "w.interact(lambda x: x, x=3);"]
    first = outputs(run_cells(tmp_path, cells))

    again = run_cells(tmp_path, cells)

    assert outputs(again) == first
    assert [cell.way for cell in again.cells] == ["restored", "ran"]


@pytest.mark.slow
def test_restored_widgets_call_what_they_called_in_its_order(tmp_path: Path) -> None:
    cells = [
        "import ipywidgets as w\nt = w.IntText(1); seen = []\n"
        "class Own(w.IntText):\n"
        "    def __init__(self): super().__init__(); self.observe(self.__on, 'value')\n"
        "    def __on(self, change): seen.append('own')\n"
        "def told(change): seen.append(change.new)",
        "o = Own(); o.observe(told, 'value'); o.observe(lambda c: seen.append('last'))",
        "t.observe(told, 'value')",
    ]
    run_cells(tmp_path, cells)

    again = run_cells(tmp_path, [*cells, "o.value = 4; t.value = 5; seen"])

    assert [cell.way for cell in again.cells] == ["restored"] * 3 + ["ran"]
    assert outputs(again)[3][0][2] == "['own', 4, 'last', 5]"


@pytest.mark.slow
def test_a_widget_that_takes_the_place_of_another_in_a_variable_is_another(tmp_path: Path) -> None:
    held = "print(len(f.widget.out.outputs), f.widget.result)"
    cells = [
        "from ipywidgets import interact",
        "def f(x):\n    return x",
        "interact(f, x=10);",  # it sets `f.widget` each time
        held,
        "interact(f, x=True);",
        held,
    ]
    first = run_cells(tmp_path, cells)

    again = run_cells(tmp_path, cells)

    assert [cell.way for cell in again.cells] == ["restored"] * len(cells)
    assert outputs(again) == outputs(first)
    edited = run_cells(tmp_path, [*cells[:5], held + "\nf.widget.result"])
    assert outputs(edited)[5][0] == ("stdout", "1 True\n")


@pytest.mark.slow
def test_a_restored_link_still_links(tmp_path: Path) -> None:
    cells = [
        "import ipywidgets as w\na = w.IntSlider(); b = w.IntSlider()\n"
        "l = w.link((a, 'value'), (b, 'value'))",
        "a.value = 4",
        "b.value",
    ]
    run_cells(tmp_path, cells)

    again = run_cells(tmp_path, [*cells[:2], "b.value + 0", "a.value = 7; b.value"])

    assert [shown[0][2] for shown in outputs(again)[2:]] == ["4", "7"]


@pytest.mark.slow
def test_a_widget_comes_back_as_it_was_left(tmp_path: Path) -> None:
    cells = ["import ipywidgets as w\ns = w.IntSlider(value=3)", "s.value = 7; s.max = 50"]
    run_cells(tmp_path, cells)

    again = run_cells(tmp_path, [*cells, "s.value, s.max"])

    assert outputs(again)[2][0][2] == "(7, 50)"


def shown_by_widgets(done: Run) -> list[Any]:
    """What a page has in its output widgets, which holds something."""
    told = nbformat.read(done.out, as_version=4).metadata["widgets"]
    states = told["application/vnd.jupyter.widget-state+json"]["state"].values()
    return [s["state"]["outputs"] for s in states if s["state"].get("outputs")]


@pytest.mark.slow
def test_output_widgets_hold_what_was_shown_in_each_cell(tmp_path: Path) -> None:
    cells = [
        "import ipywidgets as w\nout = w.Output(); out",
        "with out:\n    print('a')\n    display(5)",
        "with out:\n    print('b')",
        "1",
    ]
    plain = shown_by_widgets(run_cells(tmp_path, cells))

    again = run_cells(tmp_path, cells)
    shown = shown_by_widgets(again)
    edited = run_cells(tmp_path, [*cells[:2], cells[2].replace("b", "c"), cells[3]])
    with_c = shown_by_widgets(edited)
    anew = run_cells(tmp_path, [f"{cells[0]}  # new", *cells[1:]])

    assert [cell.way for cell in again.cells] == ["restored"] * 4
    assert [cell.way for cell in anew.cells][2:] == ["restored"] * 2
    text = [output.get("text", "5") for output in plain[0]]
    assert "".join(text) == "a\n5b\n"
    assert shown == shown_by_widgets(anew) == plain
    assert with_c == [[*plain[0][:2], {**plain[0][2], "text": "c\n"}]]
    assert "something other" not in "".join(str(outputs(done)) for done in (again, edited))


CLASS = "class S(w.IntText):\n    _n = t.Int(0)\n    seen = ()\n"
CLASS += (
    "    def tw(self): return self.value * 2\n    def on(self, c): self.seen = (*self.seen, c.new)"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "edited", "by", "expected"),
    [
        ([CLASS, "s = S(value=3)", "s.tw()"], 1, ("* 2", "* 3"), "9"),
        ([CLASS, "s = S(); s._n = 1", "s._n"], 2, ("= 1", "= 2"), "2"),
        ([CLASS, "s = S(); s._model_state = 1", "s._model_state"], 2, ("= 1", "= 2"), "2"),
        ([CLASS, "s = S()", "s.observe(s.on, 'value')", "s.value = 3", "s.seen"], 3,
         ("s.observe(s.on, 'value')", "pass"), "()"),
    ],
)  # fmt: skip
def test_cells_below_an_edited_widget_of_the_notebook_see_the_edit(
    tmp_path: Path, cells: list[str], edited: int, by: tuple[str, str], expected: str
) -> None:
    cells = ["import ipywidgets as w, traitlets as t", *cells]
    run_cells(tmp_path, cells)
    again = run_cells(tmp_path, cells)
    other = [*cells[:edited], cells[edited].replace(*by), *cells[edited + 1 :]]

    done = run_cells(tmp_path, other)

    assert [cell.way for cell in again.cells] == ["restored"] * len(cells)
    assert outputs(done)[-1][-1][-1] == expected


def test_no_bar_is_shown_where_outputs_are_saved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbckpt.text.progress_bar.PATIENCE_S", 0.0)

    with Bar("restoring", 10) as bar:
        bar.advance(1)
        bar.advance(9)

    assert capsys.readouterr().err == ""


class Slotted:
    """A stream that takes no attributes."""

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts: list[str] = []

    def write(self, text: str) -> int:
        self._texts.append(text)
        return len(text)

    def flush(self) -> None:
        pass

    def getvalue(self) -> str:
        return "".join(self._texts)


@pytest.mark.parametrize("stream", [io.StringIO, Slotted])
def test_what_goes_to_one_stream_as_output_and_error_is_noted_once(
    stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = stream()
    monkeypatch.setattr("sys.stdout", both)
    monkeypatch.setattr("sys.stderr", both)
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    recorder = Recorder(InteractiveShell(config=config))
    recorder.start()
    print("shown")
    noted = recorder.stop()

    assert noted == [{"stream": "stdout", "text": "shown\n"}]
    assert both.getvalue() == "shown\n"


def test_what_jupyter_logs_of_a_page_is_no_output_of_the_cell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    recorder = Recorder(InteractiveShell(config=config))
    assert logging.lastResort is not None
    arguments = ("Comm", logging.WARNING, "", 0, "No such comm: %s", ("0f3a-17",), None)

    recorder.start()
    print("of the cell", file=sys.stderr)
    logging.lastResort.emit(logging.LogRecord(*arguments))
    noted = recorder.stop()

    assert "No such comm: 0f3a-17" in sys.stderr.getvalue()
    assert [output["text"] for output in noted] == ["of the cell\n"]


def test_what_answers_a_page_prints_beside_the_cell_is_no_output_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    recorder = Recorder(InteractiveShell(config=config))
    # ipykernel's own thread of a subshell, without its sockets
    answering = threading.Thread(target=print, args=("pressed",), name="subshell-0f3a17")
    working = threading.Thread(target=print, args=("worked",), name="of the cell")

    recorder.start()
    for thread in (answering, working):
        thread.start()
        thread.join()
    noted = recorder.stop()

    assert "pressed" in sys.stdout.getvalue()
    assert "".join(output["text"] for output in noted) == "worked\n"
