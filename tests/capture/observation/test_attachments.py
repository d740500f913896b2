"""What a cell attaches to libraries: cells below count it, and a restore repeats it by running."""

from __future__ import annotations

import ast
import gc
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nbckpt.capture.observation import followed_tables
from nbckpt.capture.observation.libraries import Libraries
from nbckpt.capture.observation.ownership import is_of_another_library, is_users
from nbckpt.capture.observation.stores import sets_what_no_text_names
from tests.capture.observation.kernels import edited, restored_beside, run_passes

pytestmark = pytest.mark.sampled(7)

PANDAS = "import pandas as pd"


# name -> cells; ONE becomes TWO in the edited notebook. The last cell reads what was attached.
ATTACHING = {
    "attribute of a class": [
        PANDAS, "pd.DataFrame.show = lambda self: 'ONE'", "y = pd.DataFrame().show()"],
    "class imported in the same cell": [
        "import fractions\nfractions.Fraction.show = lambda self: 'ONE'",
        "y = fractions.Fraction(1).show()"],
    "attribute of a function": [
        "import pkgutil", "pkgutil.get_importer.show = 'ONE'", "y = pkgutil.get_importer.show"],
    "attribute of a function by name": [
        "import json", "setattr(json.dumps, 'show', 'ONE')", "y = vars(json.dumps)['show']"],
    "attribute of a function in a function": [
        "import json\nk = 'ONE'\ndef attach(): json.dumps.show = k", "attach()",
        "y = json.dumps.show"],
    "function of a module": ["import json", "json.dumps = lambda o: 'ONE'", "y = json.dumps(1)"],
    "library's own function": [
        "import json", "json.dumps = lambda o: 'ONE'", "d = json.dumps", "y = json.dumps(1)"],
    "global that a patch reads": [
        "import json\nk = 'ONE'", "json.dumps = lambda o: k", "y = json.dumps(1)"],
    "set by a function that imports the library": [
        "k = ['ONE']\ndef f():\n    import colorsys\n    colorsys.mine = k", "f()",
        "import colorsys\ny = colorsys.mine"],
    "set by a function on its argument": [
        "import colorsys\ndef setup(m, x): m.mine = x", "setup(colorsys, 'ONE')",
        "y = colorsys.mine"],
    "set by a context manager": [
        "import colorsys\nfrom contextlib import contextmanager\n@contextmanager\n"
        "def cm(x):\n    colorsys.mine = x\n    yield", "with cm('ONE'): pass",
        "y = colorsys.mine"],
    "set by what a decorator made": [
        "import colorsys, functools\ndef deco(f):\n    @functools.wraps(f)\n"
        "    def g(*a): return f(*a)\n    return g\n@deco\ndef go(x): colorsys.mine = x",
        "go('ONE')", "y = colorsys.mine"],
    "set by a cached function": [
        "import functools\n@functools.lru_cache\ndef go(x):\n    import colorsys\n"
        "    colorsys.mine = x", "go('ONE')", "import colorsys\ny = colorsys.mine"],
    "set by a function in a dict": [
        "import colorsys\ndef go(x): colorsys.mine = x\nby = {'a': go}\ndel go",
        "by['a']('ONE')", "y = colorsys.mine"],
    "set by a partial": [
        "import colorsys, functools\ndef go(x, y): colorsys.mine = y\n"
        "p = functools.partial(go, 1)\ndel go", "p('ONE')", "y = colorsys.mine"],
    "a library's own code set by a function that imports it": [
        "n = len('ONE'.replace('TWO', ''))\ndef go():\n    import colorsys\n"
        "    colorsys.mine = len if n else max", "go()",
        "import colorsys\ny = colorsys.mine([5, 7])"],
    "set by a method that imports the class": [
        "class K:\n    def go(self):\n        from fractions import Fraction\n"
        "        Fraction.mine = 'ONE'", "K().go()",
        "from fractions import Fraction\ny = Fraction.mine"],
    "replaced by a function that imports the library": [
        "def f():\n    import colorsys\n    colorsys.rgb_to_hsv = lambda *_: 'ONE'", "f()",
        "import colorsys\ny = colorsys.rgb_to_hsv()"],
    "set by name on what is imported by name": [
        "import importlib\nm = importlib.import_module('colorsys')\nsetattr(m, 'mine', 'ONE')",
        "y = m.mine"],
    "plain attribute": ["import json", "json.mine = 'ONE'", "y = json.mine"],
    "set by a function": [
        "import json\ndef patch(how): json.dumps = how", "patch(lambda o: 'ONE')",
        "y = json.dumps(1)"],
    "setattr": ["import json", "setattr(json, 'mine', 'ONE')", "y = json.mine"],
    "vars": ["import json", "vars(json)['mine'] = 'ONE'", "y = json.mine"],
    "mock": [
        "from unittest import mock\nimport json",
        "_patch = mock.patch('json.dumps', lambda o: 'ONE').start()", "y = json.dumps(1)"],
    "accessor": [
        PANDAS,
        "@pd.api.extensions.register_dataframe_accessor('my')\nclass My:\n"
        "    def __init__(self, df): pass\n    def total(self): return 'ONE'",
        "y = pd.DataFrame().my.total()"],
    "builtin": ["import builtins", "builtins.tell = lambda: 'ONE'", "y = tell()"],
    "input": ["import builtins", "builtins.input = lambda *a: 'ONE'", "y = input('?')"],
    "module made by hand": [
        "import sys, types",
        "m = types.ModuleType('mm'); m.k = 'ONE'; sys.modules['mm'] = m", "import mm\ny = mm.k"],
    "copyreg": [
        "import copyreg, copy\nclass A: pass\ndef make(how): a = A(); a.how = how; return a",
        "copyreg.pickle(A, lambda a: (make, ('ONE',)))", "y = copy.copy(A()).how"],
    "sqlite adapter": [
        "import sqlite3\nclass A: pass", "sqlite3.register_adapter(A, lambda a: 'ONE')",
        "y = sqlite3.connect(':memory:').execute('select ?', (A(),)).fetchone()[0]"],
    "generic function": [
        "import pkgutil\nclass Finder: pass",
        "def modules(finder, prefix=''): return [('ONE', False)]\n"
        "_ = pkgutil.iter_importer_modules.register(Finder, modules)",
        "y = list(pkgutil.iter_importer_modules(Finder()))"],
    "excepthook": [
        "import threading\nhits = []", "threading.excepthook = lambda a: hits.append('ONE')",
        "t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()", "y = list(hits)"],
    "standard input": [
        "import sys, io", "sys.stdin = io.StringIO('ONE')", "y = sys.stdin.readline()"],
    "colour map": [
        "import matplotlib\nfrom matplotlib.colors import ListedColormap",
        "matplotlib.colormaps.register(ListedColormap(['red'], name='mine_ONE'.lower()[:4]), "
        "force=True); n = 'ONE'", "y = (matplotlib.colormaps['mine'].name, n)"],
    "error handler of codecs": [
        "import codecs", "codecs.register_error('mine', lambda e: ('ONE', e.end))",
        "y = b'\\xff'.decode('ascii', 'mine')"],
    "JSON encoder": [
        "import json\nclass A: pass", "json.JSONEncoder.default = lambda self, o: 'ONE'",
        "y = json.dumps(A())"],
    "line magic": [
        "from IPython.core.magic import register_line_magic",
        "@register_line_magic\ndef tell(line): return 'ONE'", "y = %tell"],
    "namespace of polars": [
        "import polars as pl",
        "@pl.api.register_dataframe_namespace('my')\nclass My:\n"
        "    def __init__(self, df): pass\n    def total(self): return 'ONE'",
        "y = pl.DataFrame().my.total()"],
    "hook of torch": [
        "import torch",
        "h = torch.nn.modules.module.register_module_forward_hook("
        "lambda m, i, o: o * len('ONE'.replace('TWO', 'FOUR')))",
        "y = torch.nn.Identity()(torch.ones(1)).item()"],
    "constructor of YAML": [
        "import yaml", "yaml.SafeLoader.add_constructor('!a', lambda l, n: 'ONE')",
        "y = yaml.safe_load('!a 1')"],
}  # fmt: skip


def needed(cells: Sequence[str]) -> None:
    """Skip a test whose library is not installed."""
    for name in ("pandas", "polars", "torch", "yaml", "matplotlib"):
        if f"import {name}" in cells[0]:
            pytest.importorskip(name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ATTACHING)
def test_an_edited_attachment_counts_below_after_a_restart(kind: str, tmp_path: Path) -> None:
    cells = ATTACHING[kind]
    needed(cells)
    other = edited(cells, "ONE", "TWO")
    run_passes(tmp_path / "a", cells)

    got = run_passes(tmp_path / "a", other)

    assert got.value == run_passes(tmp_path / "b", other, plain=True).value, got.said


@pytest.mark.parametrize("kind", ATTACHING)
def test_an_edited_attachment_counts_below_in_the_same_process(kind: str, tmp_path: Path) -> None:
    cells = ATTACHING[kind]
    needed(cells)
    other = edited(cells, "ONE", "TWO")

    got = run_passes(tmp_path / "a", cells, other)

    assert got.value == run_passes(tmp_path / "b", cells, other, plain=True).value, got.said


@pytest.mark.slow
def test_code_of_a_restored_cell_is_known_when_it_is_called(tmp_path: Path) -> None:
    cells = ["x = 1", *ATTACHING["attribute of a function in a function"]]
    run_passes(tmp_path, cells)

    assert run_passes(tmp_path, cells).restored == [0, 1, 3]


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(ATTACHING.keys() - {"standard input", "mock"}))
def test_an_unchanged_attachment_leaves_the_reader_restored(kind: str, tmp_path: Path) -> None:
    cells = ATTACHING[kind]
    needed(cells)
    run_passes(tmp_path / "a", cells)

    got = run_passes(tmp_path / "a", cells)

    assert got.value == run_passes(tmp_path / "b", cells, plain=True).value, got.said
    assert len(cells) - 1 in got.restored, got.said


REGISTERING = {
    "library's base class": "from collections.abc import Sequence as S\nclass A: pass",
    "base class of the notebook": "from abc import ABC\nclass S(ABC): pass\nclass A: pass",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", REGISTERING)
def test_a_registered_class_counts_below(kind: str, tmp_path: Path) -> None:
    cells = [REGISTERING[kind], "pass", "y = isinstance(A(), S)"]
    other = [cells[0], "_ = S.register(A)", cells[2]]
    run_passes(tmp_path / "a", cells)

    got = run_passes(tmp_path / "a", other)
    again = run_passes(tmp_path / "a", other)
    back = run_passes(tmp_path / "a", cells)

    assert (got.value, again.value, back.value) == ("True", "True", "False")


@pytest.mark.slow
def test_rewinding_takes_back_what_was_attached_since(tmp_path: Path) -> None:
    cells = [
        "import json; a = 1", "b = 2", "json.mine = lambda: 1", "json.mine = lambda: 2",
        "%rewind cell-c2",
    ]  # fmt: skip

    got = run_passes(tmp_path, cells, probe="json.mine()")
    earlier = run_passes(
        tmp_path / "b", [*cells[:4], "%rewind cell-c1"], probe="hasattr(json, 'mine')"
    )
    undone = run_passes(
        tmp_path / "c", [*cells[:4], "%rewind cell-c1", "%rewind -"], probe="json.mine()"
    )

    assert (got.value, earlier.value, undone.value) == ("1", "False", "2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attached", "change"),
    [
        ("import builtins; builtins.mine = [1]", "mine.append(2)"),
        ("import json; json.mine = {'a': [1]}", "json.mine['a'].append(2)"),
    ],
)
def test_rewinding_gives_an_attached_list_its_contents_back(
    tmp_path: Path, attached: str, change: str
) -> None:
    cells = ["import builtins, json", attached, "x = 1", change, "%rewind cell-c2"]
    probe = attached.partition("; ")[2].partition(" = ")[0]

    first = run_passes(tmp_path / "a", cells, probe=f"str({probe})")
    again = run_passes(tmp_path / "b", [*cells, "%rewind -"], probe=f"str({probe})")

    assert "2" not in str(first.value)
    assert "2" in str(again.value)


def test_rewinding_gives_a_replaced_function_back(tmp_path: Path) -> None:
    cells = [
        "import json; a = 1",
        "json.dumps = lambda o: 'patched'",
        "c = 3",
        "%rewind cell-c0",
    ]

    assert run_passes(tmp_path, cells, probe="json.dumps({})").value == "'{}'"


def test_resuming_names_what_is_missing_and_the_cell_to_run(tmp_path: Path) -> None:
    cells = ["import json; a = 1", "json.mine = lambda: 1", "c = 3"]
    run_passes(tmp_path, cells, probe="c")

    got = run_passes(tmp_path, ["%resume"], probe="c")

    assert "'mine' of json" in got.said
    assert "run the cell that sets it, `json.mine = lambda: 1`" in got.said


@pytest.mark.slow
def test_resuming_sets_a_plain_attribute_again(tmp_path: Path) -> None:
    cells = ["import this_day as json; a = 1", "json.mine = 5", "c = 3"]
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "this_day.py").write_text("day = 1")
    path = "import sys; sys.path.insert(0, 'site-packages')"
    run_passes(tmp_path, [path, *cells], probe="c")

    got = run_passes(tmp_path, [path, "%resume"], probe="json.mine")

    assert got.value == "5"


EXTENDING = (
    "class Extensions: known = {}; seen = {}\n"
    "def extend(name, value):\n    Extensions.known[name] = (value, None)\n"
    "def remove(name):\n    del Extensions.known[name]\n"
    "def load(name):\n    Extensions.known[name] = object()\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "known", "named"),
    [
        ("ext.extend('hot', 5)", "{'hot': (5, None)}", False),
        ("for n in ('hot',): ext.extend(n, (5, ('x',)))", "{'hot': ((5, ('x',)), None)}", False),
        ("def f(): ext.extend('hot', 5)\nf()", "{'hot': (5, None)}", False),
        ("ext.extend('hot', [5])", "{}", True),
        ("ext.load('hot')", "{}", False),
        ("n = 'h' + str(1); ext.extend(n, 5)", "{}", False),
    ],
)
def test_plain_data_registered_under_a_name_of_the_cells_comes_back(
    cell: str, known: str, named: bool, tmp_path: Path
) -> None:
    """As spaCy's extension attributes are; what a library loads by a name is the library's own."""
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "ext.py").write_text(EXTENDING)
    path = "import sys; sys.path.insert(0, 'site-packages')"
    run_passes(tmp_path, [path, "import ext", cell, "z = 1"], probe="1")

    got = run_passes(tmp_path, [path, "%resume"], probe="ext.Extensions.known")

    assert got.value == known
    assert named == ("'hot' in ext.Extensions.known: run the cell that sets it" in got.said)


@pytest.mark.slow
def test_a_plain_registration_is_restored_and_taken_back(tmp_path: Path) -> None:
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "ext.py").write_text(EXTENDING)
    cells = [
        "import sys; sys.path.insert(0, 'site-packages')",
        "import ext",
        "%%checkpoint a\next.extend('hot', 5); a = 1",
        "%%checkpoint b\next.remove('hot'); b = 1",
    ]
    run_passes(tmp_path, cells, probe="1")

    again = [*cells[:3], "print(ext.Extensions.known)", cells[3], "print(ext.Extensions.known)"]
    got = run_passes(tmp_path, again, probe="ext.Extensions.known")

    assert "{'hot': (5, None)}" in got.said
    assert got.value == "{}"


MODULE = (
    "k = 1\nREG = {}\nkept = []\nclass C: pass\nc = C()\n"
    "def setk(v):\n    global k\n    k = v\n"
    "def add(v): REG[str(v)] = v\n"
    "def closed():\n    s = []\n    return s.append, lambda: list(s)\npush, pushed = closed()\n"
    "def get(): return k, dict(REG), pushed(), getattr(c, 'v', None)\n"
)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["um.setk(5)", "um.add(5)", "um.push(5)", "um.c.v = 5"])
def test_a_change_in_a_module_beside_the_notebook_is_repeated(change: str, tmp_path: Path) -> None:
    cells = ["import um", change, "y = um.get()"]

    got = restored_beside({"um": MODULE}, cells, tmp_path)

    assert 2 in got.restored, got.said
    if change in ("um.setk(5)", "um.add(5)"):
        assert 1 in got.restored, got.said


@pytest.mark.slow
def test_what_a_function_deletes_of_a_library_that_it_imports_counts(tmp_path: Path) -> None:
    cells = [
        "def go():\n    import colorsys\n    del colorsys.ONE_THIRD",
        "go()",
        "import colorsys\ny = ('5', hasattr(colorsys, 'ONE_THIRD'))",
    ]
    run_passes(tmp_path, cells)

    got = run_passes(tmp_path, edited(cells, "5", "6"))

    assert got.value == "('6', False)"


BY_MODULES = {
    "context manager": "from contextlib import contextmanager\n@contextmanager\n"
    "def cm(x):\n    import colorsys\n    colorsys.mine = x\n    yield\n"
    "def go(x):\n    with cm(x): pass",
    "in a dict": "def go(x):\n    import colorsys\n    colorsys.mine = x\n"
    "BY = {'go': go}\ndef go(x): BY['go'](x)",
    "function": "def go(x):\n    import colorsys\n    colorsys.mine = x",
    "method": "class K:\n    def go(self, x):\n        import colorsys\n"
    "        colorsys.mine = x\ngo = K().go",
    "of another module": "import lower\ndef go(x): lower.go(x)",
}


@pytest.mark.slow
@pytest.mark.parametrize("value", ["5", "[5]"])
@pytest.mark.parametrize("first", ["import um", "import um, colorsys"])
@pytest.mark.parametrize("kind", BY_MODULES)
def test_what_a_module_beside_the_notebook_attaches_counts(
    kind: str, first: str, value: str, tmp_path: Path
) -> None:
    cells = [first, f"um.go({value})", "import colorsys\ny = colorsys.mine"]
    files = {"um": BY_MODULES[kind], "lower": BY_MODULES["function"]}

    got = restored_beside(files, cells, tmp_path)

    assert 0 in got.restored, got.said


BY_GIVEN_NAMES = {
    "a function": ("um.tag(colorsys, 'mine', 5)", "y = colorsys.mine"),
    "a method": ("o = um.Tagger(colorsys); o.put('mine', 5)", "y = colorsys.mine"),
    "an attribute of a proxy": ("um.Proxy(colorsys).p = 5", "y = colorsys.x_p"),
    "a partial function": ("um.tag_colorsys('mine', 5)", "y = colorsys.mine"),
}
TAGGING = """
import colorsys
from functools import partial
def tag(m, name, value): setattr(m, name, value)
tag_colorsys = partial(setattr, colorsys)
class Tagger:
    def __init__(self, m): self.m = m
    def put(self, name, value): setattr(self.m, name, value)
class Proxy:
    def __init__(self, m): object.__setattr__(self, 'm', m)
    def __setattr__(self, name, value): setattr(self.m, 'x_' + name, value)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", BY_GIVEN_NAMES)
def test_what_a_module_beside_sets_on_what_it_is_given_counts(kind: str, tmp_path: Path) -> None:
    cells = ["import um, colorsys", *BY_GIVEN_NAMES[kind]]

    got = restored_beside({"um": TAGGING}, cells, tmp_path)

    assert 0 in got.restored, got.said


@pytest.mark.slow
def test_what_an_import_machinery_sets_is_not_the_notebooks(tmp_path: Path) -> None:
    cells = [
        "def mark(module): module.__spec__ = module.__loader__ = None\nimport sys, colorsys",
        "import importlib; colorsys = importlib.reload(colorsys)",
        "y = 5",
    ]
    run_passes(tmp_path, cells)

    got = run_passes(tmp_path, cells)

    assert got.restored == [0, 1, 2], got.said


def test_a_new_name_does_not_count_for_cells_that_do_not_name_it(tmp_path: Path) -> None:
    cells = [
        PANDAS,
        "n = len(pd.DataFrame({'a': [1, 2]}).sum())",
        "pd.DataFrame.show = len",
        "y = n",
    ]

    got = run_passes(tmp_path, cells, cells)

    assert {1, 3} <= set(got.restored), got.said


WORK = [
    "import numpy as np, pandas as pd\nimport matplotlib.pyplot as plt",
    "def f(x): return x + 1\nclass P:\n    def __init__(self): self.name = 'a'\np = P()",
    "df = pd.DataFrame({'a': [1, 2]}); s = df.a.map(f); t = df.apply(lambda r: r.a, axis=1)",
    "fig, ax = plt.subplots(); ax.fmt_xdata = f; ax.plot([1, 2]); plt.close('all')",
    "import json, decimal, logging, functools, sqlite3, threading, asyncio",
    "class E(json.JSONEncoder):\n    def default(self, o): return 1\nj = json.dumps(p, cls=E)",
    "c = sqlite3.connect(':memory:'); c.create_function('f', 1, f); c.close()",
]


@pytest.mark.slow
def test_ordinary_work_with_libraries_attaches_nothing(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("agg")
    attached = (
        "[f.places.now for s in __import__('gc').get_objects() if type(s).__name__ == 'Observer' "
        "for f in s.facets if f.name == 'attachments']"
    )

    assert run_passes(tmp_path, WORK, probe=attached).value == "[{}]"


COMPLETING = {
    "a name that stands nowhere": "setattr(a, 'x' + 'y', 1)",
    "a function of the notebook": "a.mark('x' + 'y')",
    "a variable that hides a builtin": "n = len(eval)",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(COMPLETING))
def test_what_pydantic_completes_in_a_class_is_not_the_notebooks(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    marks = kind == "a function of the notebook"
    body = "setattr(self, name, 1)" if marks else "pass"
    cells = [
        "from openai.types.completion_usage import CompletionUsage",
        f"class A:\n    def mark(self, name): {body}",
        "a = A()\neval = ['schema', 'model']",
        f"{COMPLETING[kind]}\nschema = 'type', 'model', 'schema'\n"
        "u = CompletionUsage(completion_tokens=1, prompt_tokens=1, total_tokens=2)\n"
        "y = u.total_tokens",
    ]

    got = run_passes(tmp_path, cells, cells)

    assert 3 in got.restored, got.said


def test_a_variable_that_hides_a_builtin_sets_nothing_when_it_is_read() -> None:
    def sets(text: str, **variables: object) -> bool:
        return sets_what_no_text_names(ast.parse(text), variables)

    assert not sets("for case in eval: print(case)", eval=["a"])
    assert sets("eval('a')", case=["a"])
    assert sets("eval('a')", eval=eval)
    assert sets("eval('a'); eval = ['b']", eval=["b"])
    assert sets("len(eval), setattr(a, b, 1)", eval=["a"])


def test_a_stream_that_the_shell_tees_is_not_the_notebooks() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell.instance()
    namespace: dict[str, Any] = {"get_ipython": shell.get_ipython, "__name__": "__main__"}
    exec("def shown(*_): pass", namespace)
    shell.showtraceback = namespace["shown"]  # an instance of a library's class holds user's code
    of_library: dict[str, Any] = {"__name__": "IPython.core.interactiveshell"}
    exec("def tee(shell):\n    def write(text): shell.write(text)\n    return write", of_library)
    stream, users = io.StringIO(), io.StringIO()
    stream.write = of_library["tee"](shell)
    users.write = namespace["shown"]
    try:
        assert is_users(users, namespace)
        assert not is_users(stream, namespace)
    finally:
        InteractiveShell.clear_instance()


class Deprecated(dict[str, object]):
    """A table of plugins that lets nobody look into it."""

    def _refuse(self, *_: object) -> Any:
        raise DeprecationWarning

    __iter__ = __len__ = keys = items = values = get = copy = _refuse


@pytest.mark.slow
def test_a_registry_whose_own_code_raises_is_followed_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = ModuleType("library_of_plugins")
    library.plugins = plugins = Deprecated(one=len)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "library_of_plugins", library)
    libraries = Libraries({})
    libraries.look()

    dict.__setitem__(plugins, "two", print)
    changes, _ = libraries.look()

    assert [(c.owner, c.key, c.new) for c in changes] == [
        ("library_of_plugins.plugins", "two", print)
    ]


@pytest.fixture(autouse=True)
def _no_gc_callbacks() -> Iterator[None]:
    """Hypothesis, which pytest loads, counts collections in globals of a module of its own."""
    before = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = before


@pytest.fixture
def add_library(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Imports a library that has some members."""

    def add(name: str, **members: object) -> Any:
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return add


def libraries_met() -> Libraries:
    """What a session follows after its first look."""
    libraries = Libraries({})
    libraries.look()
    return libraries


def class_of(module: str) -> type:
    return type("Cls", (), {"__module__": module})


def places(libraries: Libraries) -> set[tuple[str, object]]:
    """Where something changed since the last look."""
    return {(change.owner, change.key) for change in libraries.look()[0]}


@pytest.mark.slow
def test_a_later_session_sees_what_was_set_since_and_what_comes(
    add_library: Callable[..., Any],
) -> None:
    cls = class_of("library_met_first")
    add_library("library_met_first", Cls=cls)
    libraries_met()
    second = add_library("library_met_later", Cls=cls)
    libraries = libraries_met()

    cls.k = second.n = 1  # type: ignore[attr-defined]

    assert places(libraries) == {("library_met_first:Cls", "k"), ("library_met_later", "n")}


@pytest.mark.slow
def test_what_was_met_in_a_library_that_went_is_met_in_another(
    add_library: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = class_of("library_that_stays")
    add_library("a_library_that_goes", Cls=cls)
    add_library("library_that_stays", Cls=cls)
    libraries_met()
    monkeypatch.delitem(sys.modules, "a_library_that_goes")
    libraries = libraries_met()

    cls.k = 1  # type: ignore[attr-defined]

    assert places(libraries) == {("library_that_stays:Cls", "k")}


@pytest.mark.slow
def test_a_class_that_an_earlier_session_met_late_is_met_by_the_next(
    add_library: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_tables, "_known", None)
    library = add_library("library_that_grows")
    first = libraries_met()
    library.Cls = cls = class_of("library_that_grows")
    first.look()
    libraries = libraries_met()

    cls.k = 1  # type: ignore[attr-defined]

    assert places(libraries) == {("library_that_grows:Cls", "k")}


@pytest.mark.parametrize(
    ("register", "ask"),
    [
        ("import copyreg\ncopyreg.pickle(P, lambda p: (int, ('20',)))",
         "import copy\ny = copy.copy(P()) == 20"),
        ("import collections.abc\ncollections.abc.Sized.register(P);",
         "y = isinstance(P(), collections.abc.Sized)"),
        ("get_ipython().display_formatter.formatters['text/plain'].for_type(P, "
         "lambda o, p, c: p.said('shown'));",
         "y = get_ipython().display_formatter.format(P())[0]['text/plain'] == 'shown'"),
    ],
    ids=["copyreg", "abc", "formatter"],
)  # fmt: skip
def test_what_is_registered_for_a_class_is_not_for_the_next_of_its_name(
    register: str, ask: str, tmp_path: Path
) -> None:
    cells = ["class P: pass", register, ask]
    again = [cells[0], "pass", ask]

    outcome = run_passes(tmp_path / "kept", cells, again)

    assert outcome.value == run_passes(tmp_path / "plain", cells, again, plain=True).value
    assert outcome.value == "False"


IN_PLACE = {
    "a list of a module": [
        "import math\nmath.cfg = [1]",
        "math.cfg.append(2)",
        "y = len(math.cfg)",
    ],
    "a dict of builtins": [
        "import builtins\nbuiltins.cfg = {'n': 1}",
        "cfg['n'] += 1",
        "def f(): return cfg['n']\ny = f()",
    ],
    "an object": [
        "import math\nclass C: n = 0\nmath.cfg = C()",
        "math.cfg.n += 1",
        "y = math.cfg.n",
    ],
    "in a function": [
        "import math\nmath.cfg = [1]\ndef f(): math.cfg.append(2)",
        "f()",
        "y = len(math.cfg)",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", IN_PLACE)
def test_what_changes_an_attachment_in_place_runs(kind: str, tmp_path: Path) -> None:
    cells = IN_PLACE[kind]
    plain = run_passes(tmp_path / "plain", cells, cells, plain=True).value

    live = run_passes(tmp_path / "kept", cells, cells)
    again = run_passes(tmp_path / "kept", cells)

    assert live.value == again.value == plain


def test_what_a_shell_puts_into_pyplot_is_not_attached_by_the_notebook() -> None:
    from IPython.utils.decorators import flag_calls

    assert not is_of_another_library(flag_calls(print), "matplotlib.pyplot", {})
