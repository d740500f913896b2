"""What a page draws of widgets whose cells run again, are restored, or both: as beside no nbckpt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.jupyter.widget_pages import PagedKernel

IMPORTS = "import ipywidgets as w\nfrom IPython.display import display, clear_output\nk = 1"

NOTEBOOKS = {
    "sliders": [
        "s = w.IntSlider(max=50 if k else 3)",
        "display(s)",
        "s.value = 4",
        "s",
        "m = w.IntSlider(max=50 if k else 3); display(m)",
        "m.value = 5",
        "a = w.IntSlider(max=5 if k else 2)",
        "b = a",
        "display(a); display(b)",
        "b.value = 3",
        "display(a, b)",
        "u = w.IntSlider(max=5 if k else 2)",
        "h = display(u, display_id='u')",
        "h.update(w.Text('b'))",
        "u.value = 2",
        "h.update(u)",
        "def show(): display(u)",
        "show()",
        "e = w.IntSlider(max=5 if k else 2)",
        "display(e); f = e; del e",
        "f.value = 2",
        "f",
        "z = w.Button(description='x' if k else 'y')",
        "z",
        "z.layout.width = '50px'; z.style.button_color = 'red'",
    ],
    "widgets in other things": [
        "ws = [w.IntSlider(max=50 if k else 3) for _ in range(2)]",
        "display(ws[0])",
        "ws[0].value = 4",
        "for s in ws: display(s)",
        "display(w.VBox(ws))",
        "class P:\n"
        "    def __init__(self): self.s = w.IntSlider(max=50 if k else 3)\n"
        "    def show(self): display(self.s)",
        "p = P()",
        "p.show()",
        "p.s.value = 4",
        "d = {'a': w.IntSlider(max=50 if k else 3)}",
        "display(*d.values())",
        "d['a'].value = 4",
        "a = w.IntSlider(max=5 if k else 2)",
        "b = w.HBox([a])",
        "b",
        "a.value = 2",
        "b.children = (a, w.Text('q'))",
        "b.children[1].value = 'r'",
        "t = w.Tab([w.Text('p' if k else 'q'), w.Text()]); t.titles = ('a', 'b')",
        "t",
        "t.selected_index = 1",
        "t.children[0].value = 'zz'",
        "keep = []",
        "s = w.IntSlider(max=5 if k else 2); keep.append(s); display(s)",
        "s.value = 3",
        "display(*keep)",
    ],
    "output widgets": [
        "o = w.Output(layout={'border': '1px solid'} if k else {})",
        "o",
        "with o:\n    print('one')",
        "with o:\n    clear_output()\n    print('two')",
        "with o:\n    print('three')",
        "p = w.Output(layout={'border': '1px solid'} if k else {})",
        "p",
        "@p.capture(clear_output=True)\ndef f(x): print('f', x)",
        "f(1)",
        "f(2)",
        "q = w.Output()",
        "q",
        "with q:\n    print('one', k * 0)",
        "q.clear_output(wait=True)\nprint('out')",
        "with q:\n    print('three')",
        "q.clear_output(wait=True)",
        "r = w.Output(layout={'width': '5px'} if k else {})",
        "r.append_stdout('hello')",
        "r",
        "r.append_display_data(w.Text('a'))",
        "v = w.Output()",
        "v",
        "with v:\n    print('one')\n    display(w.Text('x'))",
        "v.clear_output()",
    ],
    "children that others come in place of": [
        "a, b = w.Button(description='a' if k else 'x'), w.Button(description='b')",
        "grid = w.GridspecLayout(2, 2)\ngrid[0, 0] = a\ngrid[1, 1] = b\ngrid",
        "grid[0, 0] = w.IntSlider(max=5)",
        "grid",
        "a.description = 'c'; a",
        "grid[0, 0].value = 3",
        "box = w.HBox([a, b])\nbox",
        "box.children = (b, a)",
        "box.children = (w.Text('q' if k else 'r'), b)",
        "display(a, b, box)",
        "ws = {'a': w.Text('p' if k else 'q')}; kept = ws['a']",
        "ws['a'] = w.Text('r')",
        "kept.value = 's'; display(kept, ws['a'])",
        "shelf = [w.Text('p')]; shelf[0]",
        "spare = shelf[0]; shelf[0] = w.Text('z' if k else 'y')",
        "spare.close(); shelf[0]",
    ],
    "closed widgets": [
        "s = w.IntSlider(3 + 0 * k)",
        "display(s)",
        "s.close()",
        "s.comm is None",
        "t = w.IntSlider(max=50 if k else 3)\nb = w.VBox([t])\ndisplay(b)",
        "t.close()",
        "b.close()\nprint('x')",
        "c = w.HBox([w.Text('q')])\ndisplay(c)",
        "c.close_all()",
        "ws = [w.Text('q' if k else 'r')]",
        "display(ws[0])",
        "ws[0].close()",
    ],
}


def play(
    kernel: PagedKernel, cells: list[str], imports: str = IMPORTS, moved: str = ""
) -> list[Any]:
    """What each cell shows, and then what the page draws of the widgets that each has shown."""
    shown, views = [], []
    for number, cell in enumerate([imports, *cells]):
        ran = kernel.run(cell, cell_id=f"c{number}")
        kernel.settle()
        if moved and cell == moved:
            kernel.move(kernel.ids(ran)[0], value=2)
        texts = [d["data"].get("text/plain") for d in ran.displays if "nbckpt" not in d["metadata"]]
        shown.append([ran.ok, ran.result, ran.stdout, ran.stderr, texts])
        views.append(ran)
    return [*shown, [kernel.views(ran) for ran in views]]


LOADS = {"plain": "1", "kept": "%load_ext nbckpt\n%nbckpt auto skip"}


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_page_draws_what_it_draws_plainly(name: str, tmp_path: Path) -> None:
    """All cells twice, then with another input; that in a new kernel; the first one in a third."""
    edited = IMPORTS.replace("k = 1", "k = 2")
    seen: dict[str, list[Any]] = {}
    for way, load in LOADS.items():
        (tmp_path / way).mkdir()
        seen[way] = []
        for rounds in ([IMPORTS, IMPORTS, edited, IMPORTS], [edited], [IMPORTS]):
            with PagedKernel(tmp_path / way) as kernel:
                kernel.run(load)
                seen[way] += [play(kernel, NOTEBOOKS[name], imports) for imports in rounds]
    for kept, plain in zip(seen["kept"], seen["plain"], strict=True):
        for number, (k, p) in enumerate(zip(kept, plain, strict=True)):
            assert k == p, ([IMPORTS, *NOTEBOOKS[name], "the page"][number], kept[:-1])


@pytest.mark.slow
def test_a_widget_that_was_moved_and_made_anew_is_the_one_that_is_shown(tmp_path: Path) -> None:
    cells = ["s = w.IntSlider(max=50 if k else 3)", "display(s)", "x = s.value + 1", "x, s.value"]
    with PagedKernel(tmp_path) as kernel:
        kernel.run(LOADS["kept"])
        for imports in (IMPORTS, IMPORTS.replace("k = 1", "k = 2")):
            played = play(kernel, cells, imports, moved="display(s)")
            assert played[-2][1] == "(3, 2)"
