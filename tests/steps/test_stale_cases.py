"""Small notebooks with one edited cell: never restored stale, and still restored if unchanged."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nbckpt.jupyter.shell import load, unload
from nbckpt.steps.execution.step_state import StepState

pytestmark = pytest.mark.sampled(7)


class Case(NamedTuple):
    """A notebook of two cells.

    Attributes
    ----------
    before
        The first cell; `after` is that cell when it was edited.
    cell
        The second, which is checkpointed and sets `y`.
    """

    before: str
    after: str
    cell: str


def case(before: str, edit: tuple[str, str], cell: str) -> Case:
    """A notebook in whose first cell one text is replaced by another."""
    assert edit[0] in before
    return Case(*map(textwrap.dedent, (before, before.replace(*edit), cell)))


QUIET = """
class Quiet:
    def __enter__(self): return self
    def __exit__(self, *error): return True
"""
TRIES = """
from contextlib import contextmanager, suppress, ExitStack
@contextmanager
def attempt(*kinds):
    try: yield
    except Exception as error: print('failed', error)
"""
BY_CONDITION = {
    "if": case("c = 0; y = 1", ("y = 1", "y = 2"), "if c:\n    y = 5"),
    "for": case("xs = []; y = 1", ("y = 1", "y = 2"), "for y in xs: pass"),
    "while": case("n = 0; y = 1", ("y = 1", "y = 2"), "while n:\n    y = 5\n    n -= 1"),
    "try": case("y = 1", ("y = 1", "y = 2"), "try:\n    y = int('a')\nexcept ValueError: pass"),
    "and": case("c = 0; y = 1", ("y = 1", "y = 2"), "c and (y := 5)"),
    "match": case("c = 0; y = 1", ("y = 1", "y = 2"), "match c:\n    case 1: y = 5"),
    "def": case("c = 0; y = 1", ("y = 1", "y = 2"), "if c:\n    def y(): pass"),
    "import": case("c = 0; y = 1", ("y = 1", "y = 2"), "if c:\n    import math as y"),
    "del": case("c = 0; y = 1", ("y = 1", "y = 2"), "if c:\n    del y"),
    "same value": case("c = 1; y = 5", ("y = 5", "y = 2"), "if c:\n    y = 5"),
    "in a function": case(
        "c = 0; y = 1\ndef f():\n    global y\n    if c: y = 5", ("y = 1", "y = 2"), "f()"
    ),
    "a function binds the same": case(
        "y = 5\ndef f():\n    global y\n    y = 5", ("y = 5\n", "y = 2\n"), "f()"
    ),
    "with of one's own": case(
        f"{QUIET}\ny = 1", ("y = 1", "y = 2"), "with Quiet():\n    y = int('')"
    ),
    "with and a reader": case(
        f"{QUIET}\nz = 1", ("z = 1", "z = 2"), "with Quiet():\n    z = int('')\ny = z * 10"
    ),
    "contextmanager": case(
        f"{TRIES}\nz = 1", ("z = 1", "z = 2"), "with attempt():\n    z = int('')\ny = z * 10"
    ),
    "method of a manager": case(
        f"{TRIES}\nclass Log:\n    section = staticmethod(attempt)\nlog = Log()\nz = 1",
        ("z = 1", "z = 2"),
        "with log.section():\n    z = int('')\ny = z * 10",
    ),
    "two managers": case(
        f"{TRIES}\nimport threading\nlock = threading.Lock()\nz = 1",
        ("z = 1", "z = 2"),
        "with lock, suppress(ValueError):\n    z = int('')\ny = z * 10",
    ),
    "exit stack": case(
        f"{TRIES}\nz = 1",
        ("z = 1", "z = 2"),
        "with ExitStack() as stack:\n    stack.enter_context(suppress(ValueError))\n    z = int('')\n"
        "y = z * 10",
    ),
    "renamed": case(
        "from contextlib import suppress as open\nz = 1",
        ("z = 1", "z = 2"),
        "with open(ValueError):\n    z = int('')\ny = z * 10",
    ),
    "inherited": case(
        f"{TRIES}\nclass Mine(suppress): pass\nz = 1",
        ("z = 1", "z = 2"),
        "with Mine(ValueError):\n    z = int('')\ny = z * 10",
    ),
    "decides by what it caught": case(
        "class Only:\n    def __enter__(self): pass\n"
        "    def __exit__(self, kind, *_): return kind is ValueError\nz = 1",
        ("z = 1", "z = 2"),
        "with Only():\n    z = int('')\ny = z * 10",
    ),
    "async with": case(
        "class Quiet:\n    async def __aenter__(self): pass\n"
        "    async def __aexit__(self, *_): return True\nz = 1",
        ("z = 1", "z = 2"),
        "async with Quiet():\n    z = int('')\ny = z * 10",
    ),
    "made in the cell": case(
        "z = 1",
        ("z = 1", "z = 2"),
        f"{QUIET}\nwith Quiet():\n    z = int('')\ny = z * 10",
    ),
    "%%capture": case("y = 1", ("y = 1", "y = 2"), "%%capture\ny = int('')"),
}

BY_ANOTHER_NAME = {
    "eval": case("look = eval; k = 1", ("k = 1", "k = 2"), "y = look('k')"),
    "eval in a function": case(
        "look = eval; k = 1\ndef f(t): return look(t)", ("k = 1", "k = 2"), "y = f('k')"
    ),
    "eval in a dict": case("tools = {'e': eval}; k = 1", ("k = 1", "k = 2"), "y = tools['e']('k')"),
    "eval in a partial": case(
        "import functools\nlook = functools.partial(eval, 'k'); k = 1",
        ("k = 1", "k = 2"),
        "y = look()",
    ),
    "eval closed over": case(
        "def make(look):\n    return lambda text: look(text)\nf = make(eval); k = 1",
        ("k = 1", "k = 2"),
        "y = f('k')",
    ),
    "globals": case("names = globals; k = 1", ("k = 1", "k = 2"), "y = names()['k']"),
    "the namespace": case("names = globals(); k = 1", ("k = 1", "k = 2"), "y = names['k']"),
    "its method": case("get = globals().get; k = 1", ("k = 1", "k = 2"), "y = get('k')"),
    "the shell": case("ip = get_ipython(); k = 1", ("k = 1", "k = 2"), "y = ip.ev('k')"),
    "the shell's cell": case(
        "ip = get_ipython(); k = 1", ("k = 1", "k = 2"), "ip.run_cell('y = k'); None"
    ),
    "a method of the shell": case(
        "ev = get_ipython().ev; k = 1", ("k = 1", "k = 2"), "y = ev('k')"
    ),
    "the shell in a list": case(
        "tools = [get_ipython()]; k = 1", ("k = 1", "k = 2"), "y = tools[0].ev('k')"
    ),
    "modules": case(
        "import sys; mods = sys.modules; me = '__main__'; k = 1",
        ("k = 1", "k = 2"),
        "y = mods.get(me).k",
    ),
    "modules in a function": case(
        "import sys; k = 1\ndef f(): return sys.modules[__name__].k", ("k = 1", "k = 2"), "y = f()"
    ),
    "main": case("import __main__ as me; k = 1", ("k = 1", "k = 2"), "y = me.k"),
    "a frame": case(
        "import sys; frame = sys._getframe; k = 1", ("k = 1", "k = 2"), "y = frame().f_globals['k']"
    ),
    "dir": case("a1 = 1", ("a1 = 1", "a1 = 1; a2 = 1"), "y = [n for n in dir() if n[0] == 'a']"),
    "dir asks for one": case(
        "pass", ("pass", "y = 7"), "if 'y' not in dir():\n    y = 0\ny = y + 1"
    ),
    "who": case("a1 = 1", ("a1 = 1", "a1 = 1; a2 = 2"), "y = %who_ls int"),
    "query": case(
        "import pandas as pd\nt = pd.DataFrame({'a': [1, 2, 3]}); k = 1; q = t.query",
        ("k = 1", "k = 2"),
        "y = q('a > @k').a.tolist()",
    ),
    "query by getattr": case(
        "import pandas as pd\nt = pd.DataFrame({'a': [1, 2, 3]}); k = 1",
        ("k = 1", "k = 2"),
        "y = getattr(t, 'query')('a > @k').a.tolist()",
    ),
    "queries in a list": case(
        "import pandas as pd\nt = pd.DataFrame({'a': [1, 2, 3]}); k = 1; qs = [{'q': 'a > @k'}]",
        ("k = 1", "k = 2"),
        "y = [t.query(one['q']).a.tolist() for one in qs]",
    ),
    "pd.eval": case(
        "import pandas as pd\nk = 1; calc = pd.eval", ("k = 1", "k = 2"), "y = calc('k + 1')"
    ),
    "magic of one's own": case(
        "from IPython.core.magic import register_cell_magic\n@register_cell_magic\n"
        "def twice(line, cell):\n    get_ipython().user_ns['y'] = 1\ndel twice",
        ("= 1", "= 2"),
        "%%twice\nq = 1",
    ),
}

DEFINITIONS = {
    "mangled": case(
        "_C__x = 1", ("= 1", "= 2"), "class C:\n    def f(self): return __x\ny = C().f()"
    ),
    "mangled in the body": case("_C__x = 1", ("= 1", "= 2"), "class C:\n    v = __x\ny = C.v"),
    "mangled in a lambda": case(
        "_C__x = 1",
        ("= 1", "= 2"),
        "class C:\n    f = lambda self: [__x for _ in 'a']\ny = C().f()",
    ),
    "mangled with underscores": case(
        "_C__x = 1", ("= 1", "= 2"), "class __C:\n    def f(self): return __x\ny = __C().f()"
    ),
    "annotation as text": case(
        "import typing\nclass T: k = 1\nclass D:\n    x: 'T'",
        ("k = 1", "k = 2"),
        "y = typing.get_type_hints(D)['x'].k",
    ),
    "annotation inside another": case(
        "import typing\nclass T: k = 1\ndef f(x: list['T']): pass",
        ("k = 1", "k = 2"),
        "y = typing.get_args(typing.get_type_hints(f)['x'])[0].k",
    ),
    "future annotations": case(
        "from __future__ import annotations\nimport typing\nclass T: k = 1\n"
        "class D:\n    def m(self, x: T): pass",
        ("k = 1", "k = 2"),
        "y = typing.get_type_hints(D.m)['x'].k",
    ),
    "order of members": case(
        "class P:\n    a = 1; b = 2",
        ("a = 1; b = 2", "b = 2; a = 1"),
        "y = [n for n in vars(P) if n[0] != '_']",
    ),
    "docstring set by hand": case(
        "def f(): pass\nf.__doc__ = 'one'", ("one", "two"), "y = f.__doc__"
    ),
    "source": case(
        "import inspect\ndef show(f): return inspect.getsource(f)\ndef f():\n    # one\n    return 1",
        ("one", "two"),
        "y = show(f)",
    ),
    "source of a method": case(
        "import inspect\nclass A:\n    def f(self):\n        # one\n        return 1",
        ("one", "two"),
        "y = inspect.getsource(A.f)",
    ),
    "abstract class": case(
        "from abc import ABC\nclass S(ABC): pass\nclass A: pass\n0",
        ("0", "S.register(A)"),
        "y = isinstance(A(), S)",
    ),
    "metaclass": case(
        "class M(type):\n    def __init_subclass__(c): pass\n    k = 1\nclass A(metaclass=M): pass",
        ("k = 1", "k = 2"),
        "y = A.k",
    ),
    "__init_subclass__": case(
        "class B:\n    def __init_subclass__(c): c.k = 1",
        ("k = 1", "k = 2"),
        "class A(B): pass\ny = A.k",
    ),
    "__set_name__": case(
        "class D:\n    def __set_name__(s, o, n): s.n = n + '1'\n    def __get__(s, *_): return s.n",
        ("'1'", "'2'"),
        "class A:\n    k = D()\ny = A.k",
    ),
    "order of columns": case(
        "import numpy as np\na = np.zeros((2, 3))",
        ("(2, 3)", "(2, 3), order='F'"),
        "y = a.flags.f_contiguous",
    ),
    "attribute of a table": case(
        "import pandas as pd, warnings\nt = pd.DataFrame({'a': [1]})\nwarnings.simplefilter('ignore')\n"
        "t.about = {'k': 1}",
        ("'k': 1", "'k': 2"),
        "y = t.about",
    ),
    "DuckDB's default connection": case(
        "import duckdb\n_ = duckdb.execute('create or replace table t as select 1 a')",
        ("select 1", "select 2"),
        "y = duckdb.sql('from t').fetchall()",
    ),
}

MODULES = {
    "by name": ("import importlib; name = 'mine'", "y = importlib.import_module(name).f()"),
    "by name in a function": (
        "from importlib import import_module as get\ndef f(name): return get(name).f()",
        "y = f('mine')",
    ),
    "by name in a list": (
        "import importlib; names = ['mine']",
        "y = importlib.import_module(names[0]).f()",
    ),
    "by __import__": ("pass", "y = __import__('mine').f()"),
    "by a script": (
        "from pathlib import Path; _ = Path('s.py').write_text('import mine\\nv = mine.f()')",
        "%run s.py\ny = v",
    ),
}

ON_ONE_MEMORY = {
    "arrow": (
        "import numpy as np, pyarrow as pa\na = np.zeros(3); t = pa.table({'a': a})",
        "a[0] = 5",
        "y = t['a'].to_pylist()",
    ),
    "ctypes": (
        "import ctypes\nb = bytearray(8); c = (ctypes.c_int * 2).from_buffer(b)",
        "c[0] = 7",
        "y = bytes(b)",
    ),
    "pointer": (
        "import ctypes, numpy as np\na = np.zeros(3)\n"
        "p = a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))",
        "p[0] = 7",
        "y = a.tolist()",
    ),
    "two maps of a file": (
        "import numpy as np\nfrom pathlib import Path\n_ = Path('m').write_bytes(bytes(64))\n"
        "a = np.memmap('m', mode='r+'); b = np.memmap('m', mode='r+')",
        "a[0] = 9",
        "y = int(b[0])",
    ),
    "index": (
        "import numpy as np, pandas as pd\na = np.array([1., 2.]); s = pd.Index(a, copy=False)",
        "a[0] = 9",
        "y = s.tolist()",
    ),
    "bytes in memory": (
        "import io\nb = io.BytesIO(b'abc'); v = b.getbuffer()",
        "v[0] = 90",
        "y = b.getvalue()",
    ),
    "views": (  # which are kept as one
        "import numpy as np\na = np.zeros(4); s = a[::2]",
        "s[1] = 7",
        "y = a.tolist()",
    ),
}


@pytest.fixture(autouse=True)
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have modules in the working folder found, and forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("mine", None)


def run(shell: Any, *cells: str) -> str:
    """What `y` is after some cells, as text."""
    for i, source in enumerate(cells):
        result = shell.run_cell(source, store_history=True, cell_id=f"c{i}")
        assert result.success, source
    return repr(shell.user_ns.get("y"))


def restart(shell: Any) -> None:
    """A new session on the same store with an empty namespace, as after a kernel restart."""
    unload(shell)
    forget(shell)
    load(shell)


def forget(shell: Any) -> None:
    shell.reset(new_session=False)
    sys.modules.pop("mine", None)
    importlib.invalidate_caches()


def plainly(shell: Any, *cells: str) -> str:
    """The same without nbckpt."""
    unload(shell)
    wanted = run(shell, *cells)
    forget(shell)
    load(shell)
    return wanted


def marked(cell: str) -> str:
    return f"%%checkpoint c\n{cell}"


def was_restored(shell: Any) -> bool:
    from nbckpt.steps import current_session

    return not current_session.session().state(StepState).latest["c"].todo


ALL = {**BY_CONDITION, **BY_ANOTHER_NAME, **DEFINITIONS}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["checkpoint", "skip"])
@pytest.mark.parametrize("name", ALL)
def test_an_edited_notebook_gives_what_a_run_gives(shell: Any, name: str, mode: str) -> None:
    before, after, cell = ALL[name]
    wanted = plainly(shell, after, cell)
    edited = cell if mode == "skip" else marked(cell)
    settings = ["%nbckpt auto skip"] if mode == "skip" else []
    run(shell, *settings, before, edited)
    restart(shell)

    found = run(shell, *settings, after, edited)

    assert found == wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_an_unchanged_cell_is_restored(shell: Any, name: str) -> None:
    before, _, cell = ALL[name]
    if name == "the shell's cell":
        pytest.skip("a cell inside of it is another")
    wanted = run(shell, before, marked(cell))
    restart(shell)

    found = run(shell, before, marked(cell))

    assert found == wanted
    assert was_restored(shell)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["checkpoint", "skip"])
@pytest.mark.parametrize("name", MODULES)
def test_an_edited_module_is_found_by_name(
    shell: Any, tmp_path: Path, name: str, mode: str
) -> None:
    before, cell = MODULES[name]
    cells = [before, cell if mode == "skip" else marked(cell)]
    cells = ["%nbckpt auto skip", *cells] if mode == "skip" else cells
    (tmp_path / "mine.py").write_text("def f(): return 1\n")
    first = run(shell, *cells)
    restart(shell)
    same = run(shell, *cells)
    restart(shell)
    (tmp_path / "mine.py").write_text("def f(): return 2222\n")

    assert (first, same, run(shell, *cells)) == ("1", "1", "2222")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["checkpoint", "skip"])
@pytest.mark.parametrize("name", ON_ONE_MEMORY)
def test_what_lies_on_one_memory_is_changed_together(shell: Any, name: str, mode: str) -> None:
    make, change, read = ON_ONE_MEMORY[name]
    cells = [make, change if mode == "skip" else marked(change), read]
    cells = ["%nbckpt auto skip", *cells] if mode == "skip" else cells
    wanted = run(shell, *cells)
    restart(shell)

    assert run(shell, *cells) == wanted
    if name == "views" and mode == "checkpoint":
        assert was_restored(shell)


@pytest.mark.slow
def test_a_cell_that_changes_a_module_through_its_function_runs(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("k = 1\ndef put(v):\n    global k\n    k = v\n")
    cells = ["import mine", marked("mine.put(5)"), "y = mine.k"]
    run(shell, *cells)
    restart(shell)

    assert run(shell, *cells) == "5"


@pytest.mark.slow
def test_a_value_of_a_module_that_cannot_be_told_counts_as_another(
    shell: Any, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(
        "def count():\n    n = 0\n    while True: n += 1; yield n\nfeed = count(); next(feed)\n"
        "def f(): return next(feed)\n"
    )
    cells = ["import mine\nmine.f()", marked("y = mine.f()")]
    run(shell, *cells)
    restart(shell)

    assert run(shell, "import mine\nmine.f(); mine.f()", cells[1]) == "4"


@pytest.mark.slow
def test_a_cell_that_is_restored_leaves_a_name_that_it_did_not_bind(shell: Any) -> None:
    cells = ["c = 0; y = [1]; z = y", marked("if c:\n    y = 5")]
    run(shell, *cells)
    restart(shell)
    run(shell, *cells)

    assert was_restored(shell)
    assert shell.user_ns["z"] is shell.user_ns["y"]


@pytest.mark.slow
def test_a_loop_whose_variable_ends_as_it_began_is_restored(shell: Any) -> None:
    cells = ["y = 0\nfor i in range(3): pass", marked("for i in range(3): y += i")]
    run(shell, *cells)
    restart(shell)

    assert run(shell, *cells) == "3"
    assert was_restored(shell)


@pytest.mark.slow
def test_why_names_the_variable_that_may_be_left_as_it_is(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = marked("if c:\n    y = 5")
    run(shell, "c = 0; y = 1", cell)
    restart(shell)

    run(shell, "c = 0; y = 2", cell, "%nbckpt why c")

    assert "it may leave 'y' as it is" in capsys.readouterr().out


def test_a_restored_function_with_a_cache_begins_with_an_empty_one(shell: Any) -> None:
    cells = ["%nbckpt auto skip", "import functools\n@functools.cache\ndef f(): return k", "k = {}"]
    run(shell, *cells[:2], "k = 1", "y = f()")

    assert run(shell, *cells[:2], "k = 3", "y = f()") == "3"
