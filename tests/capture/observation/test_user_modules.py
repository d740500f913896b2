"""What modules beside the notebook hold comes back with the cells and moves that made it so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.observation import kernels
from tests.capture.observation.notebooks import run
from tests.kernels import Kernel

pytestmark = pytest.mark.sampled(7)

TOOL = """
K = []
SIZE = 5
table = {"a": (1, 2)}
class Cache:
    n = 0
cache = Cache()
def add(value):
    K.append(value)
    return len(K)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module in it, in which a notebook runs."""
    found = tmp_path / "notebook"
    found.mkdir()
    (found / "tool.py").write_text(TOOL)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "cells",
    [
        ["import tool\ny = tool.add(1)", "y = tool.add(2)", "y = list(tool.K)"],
        ["from tool import add, K\nadd(1)", "add(5); y = add(6)", "import tool; y = list(tool.K)"],
        ["import tool", "tool.add(1)", "tool.SIZE = 7", "y = (tool.K, tool.SIZE)"],
        ["import tool; tool.SIZE += 1", "tool.SIZE += 1", "y = tool.SIZE"],
        ["import tool; tool.table['b'] = (3,)", "y = sorted(tool.table)"],
        ["import tool; tool.cache.x = 1", "tool.cache.x += 1", "y = tool.cache.x"],
        ["import tool; tool.Cache.n = 4", "tool.Cache.n += 1", "y = tool.cache.n"],
        ["import importlib; t = importlib.import_module('tool'); t.add(3)", "y = list(t.K)"],
    ],
)
def test_a_second_run_ends_as_the_first(folder: Path, cells: list[str]) -> None:
    first = run(folder, cells)
    again = run(folder, cells)

    assert [ran.value for ran in again] == [ran.value for ran in first]
    edited = [*cells[:-1], f"{cells[-1]}; y = [y]"]
    assert run(folder, edited)[-1].value == f"[{first[-1].value}]"


LOOKING_UP = {
    "in a function": "def get():\n    import __main__\n    return __main__.k\n",
    "as a module": "import __main__\ndef get():\n    return __main__.k\n",
    "in a method": "import sys\nclass K:\n    def k(self):\n"
    "        return sys.modules['__main__'].k\ndef get():\n    return K().k()\n",
    "by import_module": "import importlib\ndef get():\n"
    "    return importlib.import_module('__main__').k\n",
    "by a name of its own": "import sys\nMAIN = '__main__'\ndef get():\n"
    "    return sys.modules[MAIN].k\n",
    "by the stack": "import inspect\ndef get():\n"
    "    return inspect.stack()[1].frame.f_globals['k']\n",
    "by the shell": "from IPython import get_ipython\ndef get():\n"
    "    return get_ipython().user_ns['k']\n",
    "under a wrapper": "import functools\ndef twice(f):\n    @functools.wraps(f)\n"
    "    def g():\n        return f()\n    return g\n@twice\ndef get():\n"
    "    import __main__\n    return __main__.k\n",
    "in a partial function": "import functools\ndef _k(_):\n    import __main__\n"
    "    return __main__.k\nget = functools.partial(_k, 1)\ndel _k\n",
    "in a table": "TABLE = {'k': lambda: __import__('__main__').k}\ndef get():\n"
    "    return TABLE['k']()\n",
    "in a function that is called once": "import functools\n@functools.lru_cache\n"
    "def _main():\n    import __main__\n    return __main__\ndef get():\n"
    "    return _main().k\n",
    "in text": "def get():\n    found = {}\n"
    "    exec('import __main__; k = __main__.k', found)\n    return found['k']\n",
}


def played(folder: Path, *cells: str) -> str | None:
    """What the last cell shows in a new kernel, whose ``__main__`` is the notebook."""
    with Kernel(folder) as kernel:
        kernel.run("%load_ext nbckpt\n%nbckpt auto skip")
        ran = [kernel.run(cell, cell_id=f"c{number}") for number, cell in enumerate(cells)]
    return ran[-1].result


@pytest.mark.slow
@pytest.mark.parametrize("how", LOOKING_UP)
def test_a_module_that_looks_into_the_notebook_reads_all(folder: Path, how: str) -> None:
    (folder / "asks.py").write_text(LOOKING_UP[how])
    played(folder, "import asks\nk = 1", "y = asks.get()", "y")

    assert played(folder, "import asks\nk = 2", "y = asks.get()", "y") == "2"


@pytest.mark.slow
@pytest.mark.parametrize("between", ["", "def f(s): random.seed(s)", "f = 1"])
def test_a_module_that_seeds_as_it_is_imported_counts(folder: Path, between: str) -> None:
    cells = "import random, sown", between, "x = random.random()", "round(x, 4)"
    (folder / "sown.py").write_text("import random\nrandom.seed(0)\n")
    assert played(folder, *cells) == "0.8444"
    (folder / "sown.py").write_text("import random\nrandom.seed(1)  # another\n")

    assert played(folder, *cells) == "0.1344"


@pytest.mark.slow
def test_a_module_that_sets_variables_of_the_notebook_changes_them(folder: Path) -> None:
    (folder / "sets.py").write_text("def put():\n    import __main__\n    __main__.k.append(1)\n")
    cells = "import sets\nk = []", "sets.put()", "len(k)"
    played(folder, *cells)

    assert played(folder, *cells) == "1"


@pytest.mark.slow
def test_what_an_import_and_json_give_is_set_and_not_run(folder: Path) -> None:
    cells = ["import tool\ny = tool.add(1)", "y = tool.add(2)", "y = list(tool.K)"]
    run(folder, cells)

    assert [ran.restored for ran in run(folder, cells)] == [True, True, True]


@pytest.mark.slow
def test_what_json_does_not_have_is_made_by_its_cell(folder: Path) -> None:
    cells = ["import tool; tool.cache.x = 1", "y = tool.cache.x"]
    run(folder, cells)
    made, read = run(folder, cells)

    assert not made.restored
    assert made.why == "'tool.cache' is not as the step left it"
    assert (read.restored, read.value) == (True, "1")


@pytest.mark.slow
def test_moves_set_what_modules_held(folder: Path) -> None:
    ran = run(
        folder,
        [
            "%%checkpoint one\nimport tool; tool.add(1); y = 0",
            "%%checkpoint two\ntool.add(2); tool.SIZE = 9; y = 0",
            "%rewind one",
            "y = (tool.K, tool.SIZE)",
            "%rewind main.1",
            "y = (tool.K, tool.SIZE)",
        ],
    )

    assert [ran[3].value, ran[5].value] == ["([1], 5)", "([1, 2], 9)"]
    resumed = run(folder, ["%resume", "import tool; y = (tool.K, tool.SIZE)"])
    assert resumed[1].value == "([1, 2], 9)"


def test_moves_set_what_classes_of_modules_held(folder: Path) -> None:
    (folder / "tool.py").write_text("class K:\n    n = 0\n    all = []\n")
    ran = run(
        folder,
        [
            "import tool\ny = tool.K.n",
            "%%checkpoint five\ntool.K.n = 5; tool.K.all.append(1); y = 0",
            "tool.K.n = 6; tool.K.all.append(2)",
            "%rewind five",
            "y = (tool.K.n, tool.K.all)",
        ],
    )

    assert ran[4].value == "(5, [1])"


MADE = "import types\na = [0]; m = types.ModuleType('m'); m.a = a; n = {'m': m}"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["", "skip"])
@pytest.mark.parametrize(
    ("change", "use"),
    [
        ("a.append({})", "m.a, m.a is a"),
        ("m.a.append({})", "a, m.a is a"),
        ("m.k = {}", "m.k, n['m'].k, n['m'] is m"),
        ("exec('def f(): return {}', vars(m))", "m.f()"),
    ],
)
def test_a_module_that_was_made_by_hand_counts_by_what_it_holds(
    tmp_path: Path, change: str, use: str, mode: str
) -> None:
    first, edited = ([MADE, change.format(v), f"#ck\ny = [*str(({use},))]"] for v in (1, 2))
    kernels.run(tmp_path / "kept", first, "y", mode=mode)

    reader = [*first[:2], f"{first[2]}\nedited = 1"]
    answers = [
        kernels.run(tmp_path / "kept", cells, "y", mode=mode) for cells in (first, reader, edited)
    ]

    plain = [kernels.run(tmp_path / "plain", c, "y", mode="plain") for c in (first, reader, edited)]
    assert [a.value for a in answers] == [p.value for p in plain]
    assert [a.errors for a in answers] == [[], [], []]
