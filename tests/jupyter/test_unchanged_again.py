"""Cells of an unchanged notebook that read what libraries make are restored, not run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbckpt.jupyter.runner.run import run
from tests.capture.observation.kernels import run as run_cells
from tests.running import environment, texts_of, write_notebook

pytestmark = pytest.mark.sampled(7)

NOTEBOOKS = {
    "groups of a frame": [
        "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 1], 'b': [1., 2, 3]})\n"
        "g = df.groupby('a')",
        "g.mean()",
        "r = g['b']; r.sum()",
    ],
    "everything of sympy": [
        "from sympy import *\nx = symbols('x')",
        "(x + 1)**2",
        "f = lambdify(x, x**2); f(2.0)",
        "f(3.0)",
    ],
    "figures": [
        "import matplotlib.pyplot as plt",
        "fig, ax = plt.subplots(); ax.plot([1, 2])",
        "fig",
        "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\ndf",
        "x = df.a.sum()\nprint(x)",
        "plt.plot([1, 2, 3]); plt.show()",
    ],
    "generators": [
        "def naturals():\n    n = 0\n    while True:\n        yield n\n        n += 1\ns = naturals()",
        "[next(s) for _ in range(3)]",
        "next(s)",
    ],
    "an output widget": [
        "import ipywidgets\nout = ipywidgets.Output()\nwith out:\n    print('inside')\nout",
    ],
    "data classes": [
        "from dataclasses import dataclass\n@dataclass\nclass D:\n    rows: list\nd = D([1])",
        "rows = d.rows",
        "rows.append(2); d",
        "from functools import cached_property\nclass E:\n    @cached_property\n"
        "    def rows(self): return [1]\ne = E()",
        "r = e.rows",
        "r.append(2); e.rows",
    ],
    "results": ["import numpy as np\nx = np.arange(3)\nx", "x[0] = 5\nx", "int(x[0])"],
    "axes": [
        "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2], label='a');",
        "ax.set_title('t');",
        "ax.legend(); len(fig.axes)",
    ],
    "a handler that is a variable": [
        "import io, logging\nlog = logging.getLogger('unchanged'); log.propagate = False",
        "lines = io.StringIO(); h = logging.StreamHandler(lines)",
        "log.addHandler(h); log.setLevel(10)",
        "log.info('one')",
        "log.removeHandler(h); lines.getvalue()",
    ],
    "a part that is held, and replaced in what it was taken from": [
        "d = {'a': [1], 'b': [5]}; l = [[1], [2]]",
        "first = d['a']; second = d['b']; third = l[0]",
        "d['a'] = [2]; del l[0]",
        "second.append(3); first.append(4); third.append(5)",
        "d, l, first, second, third, d['b'] is second",
    ],
    "a widget that is held, and replaced in what it was taken from": [
        "import ipywidgets as w\ntab = w.Tab(); tab.children = [w.Text(value='a')]",
        "first = tab.children[0]",
        "tab.children = [w.Text(value='b')]",
        "first.value = 'c'; tab.children[0].value",
    ],
    "what is let go": [
        "def f(): return 1\ndef g(): return 2",
        "both = [f, g]",
        "both.remove(f)",
        "both[0] is g, len(both)",
        "both.append(f); both[1] is f",
    ],
    "imports of what is a result": [
        "import fractions, json\nf = fractions.Fraction(1, 2)",
        "type(f)",
        "from fractions import Fraction\ng = Fraction(3, 4)",
        "json.dumps",
        "from json import dumps",
        "dumps([1]), f + g",
    ],
    "a table that instances hold": [
        "import pandas as pd\nclass E:\n    def __init__(self, *held): self.held = held",
        "t = pd.DataFrame({'a': range(300)})",
        "e = E(t); other = E(); d = E([other, e])",
        "t = [3]; d = E()",
        "len(e.held[0]), t, d.held",
    ],
    "modules inside of packages": [
        "import xml.dom.minidom, concurrent.futures",
        "xml.dom.minidom.Node.ELEMENT_NODE",
        "import email\ndef more():\n    import email.mime.text",
        "more()",
        "email.mime.text.__name__, concurrent.futures.__name__",
    ],
    "arrays that are shown": [
        "import numpy as np\nnp.random.seed(1)",
        "A = np.random.rand(3, 3); A",
        "b = A[0]; b *= 10; A",
        "A.T",
        "v = A.T; v[0, 0] = -1; float(A[0, 0])",
        "r = np.rec.array([(1, 'a')], dtype=[('n', 'i4'), ('s', 'U1')]); r.n",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("cells", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_an_unchanged_notebook_is_restored_as_a_whole(
    cells: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.delenv("NBCKPT_STORE", raising=False)
    named = {f"c{number}": cell for number, cell in enumerate(cells)}
    notebook = write_notebook(tmp_path / "work.ipynb", named)
    run(notebook)

    again = run(notebook)

    assert [cell.way for cell in again.cells] == ["restored"] * len(cells)


@pytest.mark.slow
def test_instances_of_a_restored_namedtuple_have_no_dict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.delenv("NBCKPT_STORE", raising=False)
    made = "from collections import namedtuple\nP = namedtuple('P', 'a, b')\np = P(1, 2)"
    run(write_notebook(tmp_path / "work.ipynb", {"a": made}))

    again = run(write_notebook(tmp_path / "work.ipynb", {"a": made, "b": "hasattr(p, '__dict__')"}))

    assert again.cells[0].way == "restored"
    assert texts_of(again.out)["b"] == "False"


@pytest.mark.slow
def test_a_result_goes_with_the_variable_that_a_restored_cell_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.delenv("NBCKPT_STORE", raising=False)
    cells = {"c0": "x = [1]\nx", "c1": "x.append(2)", "c2": "print(len(_))"}
    run(write_notebook(tmp_path / "work.ipynb", cells))
    edited = write_notebook(tmp_path / "work.ipynb", {**cells, "c2": "print(len(_) + 10)"})

    again = run(edited)

    assert [cell.way for cell in again.cells] == ["restored", "restored", "ran"]
    assert "12" in str(texts_of(tmp_path / "work.out.ipynb"))


@pytest.mark.parametrize("way", ["run", "%resume"])
def test_what_was_imported_into_a_package_is_there_for_a_cell_that_runs(
    way: str, tmp_path: Path
) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "part.py").write_text("def go(x): return [x]")
    cells = ["import pack.part, xml.dom.minidom", "r = pack.part.go(5)"]
    run_cells(tmp_path, cells, "r", mode="skip")
    last = "s = pack.part.go(6), xml.dom.minidom.__name__"
    again = [*cells, last] if way == "run" else ["%resume", last]

    found = run_cells(tmp_path, again, "s", mode="skip")

    assert found.errors == []
    assert found.value == [[6], "xml.dom.minidom"]
