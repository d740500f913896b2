from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import UsageError
from nbckpt.fingerprint.code import names_of_tree
from nbckpt.fingerprint.keys import difference, key_of, touched
from nbckpt.model import Key


def ran(source: str, namespace: dict[str, Any] | None = None) -> dict[str, Any]:
    """The namespace after `source` ran in it, as a notebook's cell would."""
    space = {"__name__": "__main__"} if namespace is None else namespace
    exec(compile(textwrap.dedent(source), "<cell>", "exec", dont_inherit=True), space)
    return space


def key(cell: str, space: dict[str, Any], **members: Any) -> Key:
    return key_of(ast.parse(textwrap.dedent(cell)), space, **members)


def why(cell: str, before: str, change: str) -> list[str]:
    """What differs between the keys of `cell` before and after `change` ran."""
    space = ran(before)
    old = key(cell, space)
    ran(change, space)
    return difference(old, key(cell, space))


# What counts


def test_a_key_names_the_variables_that_a_cell_reads() -> None:
    space = ran("a = 1; b = 2; c = 3")

    found = key("c = a + b", space)

    assert set(found.inputs) == {"a", "b"}


@pytest.mark.parametrize(
    ("cell", "before", "change", "sentences"),
    [
        ("y = x", "x = 1", "x = 2", ["input 'x' has another value"]),
        ("y = x", "x = [1]", "x.append(2)", ["input 'x' has another value"]),
        ("y = x", "x = [1]", "x = [1]", []),
        ("y = x", "x = 1", "z = 2", []),
        ("y = x", "x = 1", "del x", ["input 'x' is gone"]),
        ("y = x", "", "x = 1", ["input 'x' exists now"]),
        ("y = len(x)", "x = 1", "def len(x): return 5", ["function 'len' is new"]),
        ("y = f()", "def f(): return 1", "def f(): return 1  # same", []),
        ("y = f()", "def f(): return 1", "def f(): return 2", ["function 'f' changed"]),
        ("y = f", "f = lambda: 1", "f = lambda: 2", ["input 'f' has another value"]),
        (
            "y = f()",
            "def g(): return 1\ndef f(): return g()",
            "def g(): return 2",
            ["function 'g' changed"],
        ),
        (
            "y = f()",
            "k = 1\ndef g(): return k\ndef f(): return g()",
            "k = 2",
            ["input 'k' has another value"],
        ),
        (
            "y = f()",
            "def f(): return f2()\ndef f2(): return f()",
            "def f2(): return 2",
            ["function 'f2' changed"],
        ),
        (
            "y = t['f']()",
            "k = 1\ndef f(): return k\nt = {'f': f}",
            "k = 2",
            ["input 'k' has another value"],
        ),
        (
            "y = a.m()",
            "k = 1\nclass A:\n    def m(self): return k\na = A()",
            "k = 2",
            ["input 'k' has another value"],
        ),
        (
            "y = A().m()",
            "class B:\n    def m(self): return 1\nclass A(B): pass",
            "class B:\n    def m(self): return 2\nclass A(B): pass",
            ["function 'A' changed", "function 'B' changed"],
        ),
        (
            "y = f()",
            "k = 1\ndef make():\n    def f(): return k\n    return f\nf = make()",
            "k = 2",
            ["input 'k' has another value"],
        ),
        (
            "y = f()",
            "import functools\n@functools.cache\ndef f(): return 1",
            "@functools.cache\ndef f(): return 2",
            ["input 'f' has another value", "function 'f' changed"],
        ),
        (
            "y = f()",
            "import functools\nk = 1\ndef g(n): return k\nf = functools.partial(g, 1)",
            "k = 2",
            ["input 'k' has another value"],
        ),
        (
            "y = sqrt(4)",
            "from math import sqrt",
            "from cmath import sqrt",
            ["input 'sqrt' has another value"],
        ),
        ("y = np.pi", "import numpy as np", "import numpy as np; np.nbckpt_test = 1", []),
        (
            "from random import random",
            "import random; random.seed(1)",
            "random.random()",
            [],
        ),
        (
            "exec(code)",
            "code = 'y = x'; x = 1; _private = 1; _ = 1",
            "x = 2; _private = 2; _ = 2; _i3 = 'x'; In = ['a']",
            ["input '_private' has another value", "input 'x' has another value"],
        ),
        (
            "y = f('x')",
            "x = 1\ndef f(name): return eval(name)",
            "x = 2",
            ["input 'x' has another value"],
        ),
        (
            "y = duckdb.sql('select * from rows where k = 2')",
            "import types; duckdb = types; rows = [1]; k = 0; other = 1",
            "rows = [2]; other = 2",
            ["input 'rows' has another value"],
        ),
        (
            "y = duckdb.sql(text)",
            "import types; duckdb = types; rows = [1]; text = 'select * from rows'",
            "rows = [2]",
            ["input 'rows' has another value"],
        ),
    ],
)
def test_a_key_differs_by_what_the_cell_depends_on_and_says_so(
    cell: str, before: str, change: str, sentences: list[str]
) -> None:
    assert why(cell, before, change) == sentences


@pytest.mark.parametrize(
    ("cell", "before", "change"),
    [
        ("x = 5\ny = x", "", "x = 5; y = 5"),
        ("k = 5\ny = f()", "def f(): return k", "k = 7"),
        ("def f(): return x\nx = 1\nf()", "", "x = 2"),
        ("def f(): return x", "x = 1", "x = 2"),
        ("import numpy as np\nnp.zeros(1)", "", "import numpy as np"),
        ("with open('a') as f:\n    t = f.read()\nprint(t)", "", "t = 'x'; f = None"),
    ],
)
def test_what_the_cell_itself_binds_first_is_no_input(cell: str, before: str, change: str) -> None:
    assert why(cell, before, change) == []


def test_a_function_called_before_the_cell_binds_its_global_depends_on_it() -> None:
    sentences = why("y = f()\nk = 5", "k = 1\ndef f(): return k", "k = 7")

    assert sentences == ["input 'k' has another value"]


def test_an_old_function_may_call_one_that_the_cell_defines_anew() -> None:
    cell = "def g(): return k\ny = h()"
    before = "k = 1\ndef g(): return 0\ndef h(): return g()"

    assert why(cell, before, "k = 2") == ["input 'k' has another value"]
    assert why(cell, before, "def g(): return 1") == []


def test_comments_and_spacing_make_no_other_key() -> None:
    space = ran("a = 1")

    assert key("b = a", space).digest == key("b  =  a  # why", space).digest


def test_another_constant_makes_another_key() -> None:
    space = ran("a = 1")

    sentences = difference(key("b = a + 1", space), key("b = a + 2", space))

    assert sentences == ["the cell's code changed"]


def test_swapped_functions_make_another_key() -> None:
    sentences = why("y = f() - g()", "f = lambda: 1\ng = lambda: 2", "f, g = g, f")

    assert sentences == ["input 'f' has another value", "input 'g' has another value"]


def test_a_name_that_is_a_builtin_is_no_input() -> None:
    assert not key("print(len([]))", ran("")).inputs


def test_the_digest_of_a_variable_may_come_from_the_caller() -> None:
    asked = []

    def known(name: str) -> str:
        asked.append(name)
        return "d" * 64

    found = key("c = a", ran("a = [1]; b = [2]"), digest_of_variable=known)

    assert found.inputs == {"a": "d" * 64}
    assert asked == ["a"]


@pytest.mark.slow
def test_ipython_s_own_functions_are_no_inputs(shell: Any) -> None:
    shell.run_cell("import nbckpt\nx = 1")

    found = key("exec('y = x')", shell.user_ns)

    assert "x" in found.inputs
    assert not {"In", "Out", "exit", "quit", "open", "get_ipython", "_ih"} & found.inputs.keys()


@pytest.mark.slow
def test_a_key_of_a_cell_holds_through_ipython(shell: Any) -> None:
    shell.run_cell("import math\nwords = {'a', 'b'}\ndef f(x):\n    return x in words")
    here = key("y = f('a')", shell.user_ns)

    there = key("y = f('a')", ran("words = {'b', 'a'}\n\n\ndef f(x): return x in words"))

    assert difference(here, there) == []


# Files, modules, options


def test_a_file_counts_by_its_content(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("a")
    old = key("x = 1", {}, deps=[data])

    data.write_text("b")

    assert difference(old, key("x = 1", {}, deps=[str(data)])) == [f"file '{data}' changed"]


def test_a_folder_counts_by_the_files_in_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    old = key("x = 1", {}, deps=[tmp_path])

    (tmp_path / "b").write_text("")

    assert key("x = 1", {}, deps=[tmp_path]) != old


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.csv"):
        key("x = 1", {}, deps=[tmp_path / "missing.csv"])


def test_an_empty_file_has_a_digest(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()

    assert key("x = 1", {}, deps=[tmp_path / "empty"]).files


def test_options_count() -> None:
    old = key("x = 1", {}, options={"vars": "a"})

    new = key("x = 1", {}, options={"vars": "a,b"})

    assert difference(old, new) == ["option vars: 'a' -> 'a,b'"]


def test_a_user_s_module_counts_with_those_that_it_imports(project: Path) -> None:
    (project / "nbckpt_first.py").write_text("from nbckpt_package import part\ndef f(): pass\n")
    (project / "nbckpt_package").mkdir()
    (project / "nbckpt_package" / "__init__.py").write_text("")
    (project / "nbckpt_package" / "part.py").write_text("from . import other\n")
    (project / "nbckpt_package" / "other.py").write_text("n = 1\n")
    cell = "from nbckpt_first import f\nf()"
    before = key(cell, {})

    space = ran("from nbckpt_first import f")
    after = key(cell, space)

    assert set(before.functions) == set(after.functions)
    assert set(after.functions) == {
        "module nbckpt_first",
        "module nbckpt_package",
        "module nbckpt_package.other",
        "module nbckpt_package.part",
    }
    assert set(after.inputs) == {"nbckpt_package.other.n"}


def test_an_edit_of_a_user_s_module_makes_another_key(project: Path) -> None:
    module = project / "nbckpt_edited.py"
    module.write_text("n = 1  # one\n")
    old = key("import nbckpt_edited", {})

    module.write_text("n = 1  # two\n")
    same = key("import nbckpt_edited", {})
    module.write_text("n = 2\n")
    new = key("import nbckpt_edited", {})

    assert difference(old, same) == []
    assert difference(old, new) == ["module 'nbckpt_edited' changed"]


def test_an_edit_counts_once_the_module_is_loaded_again(project: Path) -> None:
    import importlib

    module = project / "nbckpt_loaded.py"
    module.write_text("def f(): return 1\n")
    space = ran("import nbckpt_loaded as m")
    old = key("x = m.f()", space)

    module.write_text("def f(): return 200\n")
    before = key("x = m.f()", space)
    importlib.reload(space["m"])
    after = key("x = m.f()", space)

    assert difference(old, before) == []
    assert difference(old, after) == ["module 'nbckpt_loaded' changed"]


def test_what_is_loaded_counts_when_its_text_was_edited_before_anybody_asked(project: Path) -> None:
    module = project / "nbckpt_early.py"
    module.write_text("def f(): return 1\n")
    space = ran("import nbckpt_early as m")
    module.write_text("def f(): return 200\n")
    old = key("x = m.f()", space)

    del sys.modules["nbckpt_early"]
    new = key("x = m.f()", ran("import nbckpt_early as m"))

    assert difference(old, new) == ["module 'nbckpt_early' changed"]


@pytest.mark.parametrize(
    ("statement", "change"),
    [
        ("import nbckpt_patched", "m.f.__code__ = (lambda: 2).__code__"),
        ("from nbckpt_patched import f", "m.f.__code__ = (lambda: 2).__code__"),
        ("from nbckpt_patched import g", "m.f = lambda: 2"),
        ("from nbckpt_patched import A", "m.A.go = lambda self: 2"),
        ("from nbckpt_patched import A\na = A()", "m.A.go = lambda self: 2"),
    ],
)
def test_code_put_into_a_loaded_module_counts(project: Path, statement: str, change: str) -> None:
    (project / "nbckpt_patched.py").write_text(
        "class A:\n    def go(self): return 1\ndef f(): return 1\ndef g(): return f()\n"
    )
    space = ran(statement)
    old = key(f"x = {statement.rsplit(maxsplit=1)[-1]}", space)

    ran(change, {"m": sys.modules["nbckpt_patched"]})
    new = key(f"x = {statement.rsplit(maxsplit=1)[-1]}", space)

    assert difference(old, new) == ["module 'nbckpt_patched' changed"]


@pytest.mark.slow
def test_a_value_deep_in_a_module_counts_for_functions_that_were_imported_from_it(
    project: Path,
) -> None:
    (project / "nbckpt_deep.py").write_text(
        "_CONFIG = {'k': [1]}\ndef f(): return _CONFIG\ndef setup(n): _CONFIG['k'][0] = n\n"
    )

    sentences = why("x = f()", "from nbckpt_deep import f, setup", "setup(2)")

    assert sentences == ["input 'nbckpt_deep._CONFIG' has another value"]


def test_what_a_module_holds_that_nobody_can_tell_does_not_make_its_cells_run(
    project: Path,
) -> None:
    (project / "nbckpt_holds.py").write_text(
        "import sqlite3\ncon = sqlite3.connect(':memory:')\ndef f(con=con): return con\n"
    )
    space = ran("import nbckpt_holds as m")

    assert key("m.f()", space) == key("m.f()", space)
    space["m"].con.close()


def test_what_a_notebook_sets_in_a_user_s_module_counts(project: Path) -> None:
    (project / "nbckpt_config.py").write_text("size = 1\n")
    before = "import nbckpt_config as config"

    sentences = why("x = config.size", before, "config.size = 2")

    assert sentences == ["input 'nbckpt_config.size' has another value"]


def test_a_function_of_a_user_s_module_brings_the_module_along(project: Path) -> None:
    (project / "nbckpt_brings.py").write_text("class A: pass\ndef f(): pass\n")
    space = ran("from nbckpt_brings import f, A\na = [A()]")

    assert set(key("f()", space).functions) == {"module nbckpt_brings"}
    assert set(key("len(a)", space).functions) == {"module nbckpt_brings"}


IN_A_PROCESS = """
import ast, sys
from nbckpt.fingerprint.keys import key_of
namespace = sys.modules["__main__"].__dict__
exec(compile('''
words = {chr(97 + i) * 3 for i in range(20)}
table = {"a": words, "b": {1, "x", None}}
class A:
    kinds = {"u", "v", "w"}
    def m(self, x): return x in words and x in {"a", "b", "c"}
def f(x, a=A()): return a.m(x) or x in table["a"]
''', "<ipython-input-%d>" % id(namespace), "exec"), namespace)
print(key_of(ast.parse("y = [f(x) for x in table]"), namespace).digest)
"""


@pytest.mark.slow
def test_a_key_is_the_same_in_every_process() -> None:
    found = set()
    for seed in ("1", "2", "3"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))}
        command = [sys.executable, "-c", IN_A_PROCESS]
        found.add(subprocess.check_output(command, env=environment, text=True))

    assert len(found) == 1


# What can be changed


@pytest.mark.parametrize(
    ("cell", "before", "names"),
    [
        ("x = 1", "y = 1", "x"),
        ("x.append(1)", "x = []; y = []", "x"),
        ("f()", "x = []\ny = []\ndef f(): x.append(1)", "f x"),
        ("f()", "x = 1\ndef f():\n    global x\n    x = 2", "f x"),
        ("f()", "def f():\n    global new\n    new = 2", "f new"),
        ("f()", "x = 1\ndef g(): return x\ndef f(): return g()", "f g x"),
        ("a.m()", "x = []\nclass A:\n    def m(self): x.append(1)\na = A()", "a x"),
        (
            "b[0]['k'].m()",
            "x = []\nclass A:\n    def m(self): x.append(1)\nb = [{'k': A()}]",
            "b x",
        ),
        (
            "b.m()",
            "x = []\nclass A:\n    def m(self): x.append(1)\nclass B(A): pass\nb = B()",
            "b x",
        ),
        ("t.f()", "import types\nx = []\nt = types.SimpleNamespace(f=lambda: x)", "t x"),
        (
            "p()",
            "import functools\nx = []\ndef f(n): x.append(n)\np = functools.partial(f, 1)",
            "p x",
        ),
        (
            "g()",
            "x = []\ndef make():\n    f = lambda: x\n    return lambda: f()\ng = make()",
            "g x",
        ),
        ("def f(): x.append(1)", "x = []; y = 1", "f x"),
        ("duckdb.sql('from rows')", "duckdb = rows = y = 1", "duckdb rows"),
        ("big.m()", "x = []\nbig = [[object()] for _ in range(3000)]\ndef f(): x", "big x"),
        ("big[0]", "x = []\nbig = [{'a': i} for i in range(9000)]\ndef f(): x", "big"),
    ],
)
def test_code_can_change_what_it_reaches_and_no_more(cell: str, before: str, names: str) -> None:
    space = ran(before)

    found = touched(names_of_tree(ast.parse(cell)), space)

    assert found == set(names.split())


@pytest.mark.parametrize(
    ("cell", "before"),
    [
        ("exec('x = 1')", ""),
        ("f()", "def f(): exec('x = 1', globals())"),
        ("a.m()", "class A:\n    def m(self): return eval('x')\na = A()"),
        ("def g(): exec('x = 1', globals())\nh()", "def h(): g()"),
    ],
)
def test_code_that_reaches_any_name_can_change_all(cell: str, before: str) -> None:
    space = ran(before)

    assert touched(names_of_tree(ast.parse(cell)), space) is None


LOGS = "log = []\ndef mk(*_):\n    log.append(1)\n    return 1\n"


@pytest.mark.parametrize(
    ("cell", "before"),
    [
        ("next(g)", "def gen():\n    yield mk()\ng = gen()"),
        ("next(g)", "def gen():\n    yield 1\n    yield mk()\ng = gen(); next(g)"),
        ("next(g)", "g = (mk() for _ in range(3))"),
        ("next(m)", "m = map(mk, [1])"),
        ("next(m)", "m = zip(filter(mk, [1]))"),
        ("next(m)", "import itertools\nm = itertools.starmap(mk, [(1,)])"),
        ("d['a']", "from collections import defaultdict\nd = defaultdict(mk)"),
        (
            "s.map(lambda o: o.go())",
            "import pandas as pd\nclass C:\n    def go(self): mk()\ns = pd.Series([C(), C()])",
        ),
        (
            "df.map(str)",
            "import pandas as pd\nclass C:\n    def __str__(self): mk()\n"
            "df = pd.DataFrame({'n': [1], 'c': pd.Series([C()])})",
        ),
        (
            "str(xs[0])",
            "import numpy as np\nclass C:\n    def __str__(self): mk()\n"
            "xs = np.array([C()], dtype=object)",
        ),
        (
            "a.d",
            "class D:\n    def __get__(self, o, t): mk()\nclass A:\n    d = D()\na = A()",
        ),
        ("A()", "class M(type):\n    def __call__(c): mk()\nclass A(metaclass=M): pass"),
        (
            "r().go()",
            "import weakref\nclass A:\n    def go(self): mk()\na = A()\nr = weakref.ref(a)",
        ),
        (
            "p.go()",
            "import weakref\nclass A:\n    def go(self): mk()\na = A()\np = weakref.proxy(a)",
        ),
    ],
)
def test_code_behind_any_value_can_change_what_it_names(cell: str, before: str) -> None:
    space = ran(LOGS + before)

    found = touched(names_of_tree(ast.parse(cell)), space)

    assert found is None or "log" in found


@pytest.mark.parametrize(
    ("cell", "before"),
    [
        ("v[0] = 7", "x = bytearray(3); v = memoryview(x)"),
        ("v[0] = 7", "import numpy as np\nx = bytearray(3); v = np.frombuffer(x, 'u1')"),
        ("v[0] = 7", "import numpy as np\nx = np.zeros(3); v = memoryview(x[1:])"),
        (
            "v[0, 0] = 7",
            "import numpy as np, pandas as pd\nv = np.zeros((2, 2))\nx = pd.DataFrame(v, copy=False)",
        ),
        (
            "v[0] = 7",
            "import numpy as np, pandas as pd\nv = np.zeros(2)\nx = pd.Series(v, copy=False)",
        ),
    ],
)
def test_what_lies_on_the_memory_of_a_value_can_change_with_it(cell: str, before: str) -> None:
    space = ran(before + "\nother = [1]")

    found = touched(names_of_tree(ast.parse(cell)), space)

    assert found == {"v", "x"}


def test_a_dead_proxy_among_the_variables_is_no_obstacle() -> None:
    space = ran("import weakref\nclass Q: pass\nq = Q()\np = weakref.proxy(q)\ndel q")

    found = touched(names_of_tree(ast.parse("h = p")), space)
    one, same = key("h = p", space), key("h = p", space)

    assert found == {"h", "p"}
    assert difference(one, same) == []


def test_what_is_nbckpt_s_own_reaches_nothing_of_the_user_s() -> None:
    space = ran(
        "from nbckpt.fingerprint.user_names import Own as Base\nclass Own(Base): pass\ndef f(): log.append(1)\nlog = []"
    )
    space["step"] = space["Own"]()
    space["step"].namespace = space

    found = touched(names_of_tree(ast.parse("step.todo")), space)

    assert found == {"step"}


@pytest.mark.parametrize(
    ("cell", "before"),
    [
        ("y = run('select x from df')", ""),
        ("y = run(q)", "q = 'select x from df'"),
        ("y = outer()", "def outer(): return run('select x from df')"),
    ],
)
def test_a_query_handed_to_a_function_depends_on_what_it_names(cell: str, before: str) -> None:
    setup = "import duckdb\ndef run(q): return duckdb.sql(q)\ndf = [1]\nother = [1]\n"

    sentences = why(cell, setup + before, "df = [2]; other = [2]")

    assert sentences == ["input 'df' has another value"]


def test_a_query_of_what_the_cell_itself_makes_depends_on_no_value_before() -> None:
    before = "import duckdb\ndef run(q): return duckdb.sql(q)\ndf = [1]"

    assert why("df = [3]\ny = run('select x from df')", before, "df = [2]") == []


@pytest.mark.parametrize("line", ["sc.py", "-i sc.py 3", "sc"])
def test_the_text_of_a_script_that_a_cell_runs_counts(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sc.py").write_text("y = 1")
    cell = f"get_ipython().run_line_magic('run', {line!r})"
    old = key(cell, {})

    (tmp_path / "sc.py").write_text("y = 2")
    new = key(cell, {})

    assert difference(old, new) == ["file 'sc.py' changed"]


def test_what_a_library_makes_for_a_class_is_no_function_of_the_user_s() -> None:
    space = ran("""
        from dataclasses import dataclass
        @dataclass
        class P:
            x: int
        p = P(1)
    """)

    found = key("q = p", space)

    assert set(found.functions) == {"P"}


def test_the_variable_of_a_guarded_block_is_no_input_of_code_that_reads_everything() -> None:
    tree = ast.parse("globals()['e'] = 1")
    after_a_run = key_of(tree, {"x": 1, "__nbckpt_step_1": object()})
    assert after_a_run == key_of(tree, {"x": 1})


WRAPPING = """
import functools, socket, uuid, weakref
class Asking:
    def ask(self, question): return question
class Client:
    def __init__(self, ask, tries=1):
        self._asked = wrapping(ask, tries)
        self._connection = connection
    def ask(self, question): return self._asked(question)
def wrapping(function, tries):
    token = uuid.uuid4().hex
    @functools.wraps(function)
    def asked(*args): return function(*args), token, tries
    return asked
def length(text): return 0
connection = socket.socket()
weakref.finalize(length, connection.close)
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of clients, by the name of one that is known to hold no data."""
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "xai_sdk.py").write_text(WRAPPING)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    monkeypatch.delitem(sys.modules, "xai_sdk", raising=False)


@pytest.mark.usefixtures("library")
def test_what_a_library_wraps_around_its_own_function_is_no_definition() -> None:
    text = "import xai_sdk\nclient = xai_sdk.Client(xai_sdk.Asking().ask)"

    assert why("y = client.ask('a')", text, text) == []


@pytest.mark.usefixtures("library")
def test_what_a_library_wraps_around_a_function_of_the_notebook_counts() -> None:
    text = "import xai_sdk\ndef ask(question): return {}\nclient = xai_sdk.Client(ask)"

    changed = why("y = client.ask('a')", text.format(1), text.format(2))

    assert "function 'ask' changed" in changed


@pytest.mark.usefixtures("library")
def test_a_variable_that_a_library_wraps_around_its_function_counts_as_a_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=1))
    text = "import xai_sdk\nlength = xai_sdk.wrapping(xai_sdk.length, {})"

    assert why("y = length('a')", text.format(1), text.format(1)) == []
    assert why("y = length('a')", text.format(1), text.format(2)) != []
