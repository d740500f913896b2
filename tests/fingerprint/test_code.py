from __future__ import annotations

import ast
import concurrent.futures
import contextlib
import re
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.fingerprint.code import (
    Names,
    digest_of_code,
    digest_of_tree,
    names_of_code,
    names_of_tree,
)


def names(cell: str, defined: tuple[str, ...] = ()) -> Names:
    return names_of_tree(ast.parse(cell), defined)


def magic(text: str) -> str:
    transformers = pytest.importorskip("IPython.core.inputtransformer2")
    return transformers.TransformerManager().transform_cell(text)


@pytest.mark.parametrize(
    ("cell", "reads"),
    [
        ("x = 1\ny = x", ""),
        ("y = x\nx = 1", "x"),
        ("x += 1", "x"),
        ("del x\ny = x", "x"),
        ("a[i] = v", "a i v"),
        ("a.b = v", "a v"),
        ("x: int\nx", "int x"),
        ("x: T = 1\nx", "T"),
        ("(x := 1) + x", ""),
        ("a and (x := 1)\nx", "a x"),
        ("(x := 1) if a else (x := 2)\nx", "a x"),
        ("a < (x := 1) < (y := 2)\nx, y", "a y"),
        ("if c:\n    x = 1\nx", "c x"),
        ("if c:\n    x = 1\nelse:\n    x = 2\nx", "c"),
        ("if c:\n    x = 1\nelse:\n    raise E\nx", "E c"),
        ("for i in s:\n    x = i\nx", "s x"),
        ("for i in s:\n    x = i\nelse:\n    y = 1\ni, y", "i s y"),
        ("while c:\n    x = 1\nx", "c x"),
        ("try:\n    x = f()\nexcept E as e:\n    e\nx", "E f x"),
        ("try:\n    x = f()\nexcept E:\n    raise\nx", "E f"),
        ("try:\n    x = f()\nfinally:\n    y = x\ny", "f x"),
        ("try:\n    import a\nexcept ImportError:\n    a = None\na", "ImportError"),
        ("with open(p) as f:\n    t = f.read()\nt", "open p"),
        ("with suppress(E):\n    t = 1\nt", "E suppress t"),
        (
            "match m:\n    case [x, *r]:\n        x, r\n    case {'k': y, **o}:\n        y, o\nx",
            "m x",
        ),
        ("match m:\n    case 1:\n        x = 1\n    case _:\n        x = 2\nx", "m"),
        ("match m:\n    case K(a=x) if x > z:\n        pass", "K m z"),
        ("import a.b\nfrom c import d as e\na, e", ""),
        ("assert a, b", "a b"),
        ("f'{x}{y!r:{w}}'", "w x y"),
    ],
)
def test_a_name_is_read_unless_the_cell_has_certainly_bound_it(cell: str, reads: str) -> None:
    found = names(cell)

    assert sorted(found.reads) == reads.split()


@pytest.mark.parametrize(
    ("cell", "reads"),
    [
        ("[x for x in xs if x in z]", "xs z"),
        ("[(x := y) for y in ys]\nx", "x ys"),
        ("{k: v for k, v in d.items() for w in k}", "d"),
        ("sum(x * n for x in xs)", "n sum xs"),
        ("[await f(x) async for x in xs]", "f xs"),
        ("f = lambda a, b=c: a + b + d", "c"),
        ("f = lambda a: a + d\nf(1)", "d"),
        ("g(lambda a: a + d)", "d g"),
        ("xs.sort(key=lambda r: r[k])\nk = 1", "k xs"),
    ],
)
def test_names_of_inner_scopes_are_their_own(cell: str, reads: str) -> None:
    found = names(cell)

    assert sorted(found.reads) == reads.split()


@pytest.mark.parametrize(
    ("cell", "reads"),
    [
        ("def f(a, *b, c=d, **e):\n    return a, b, c, e, g", "d"),
        ("def f():\n    return x\nf()", "x"),
        ("def f():\n    return x\nx = 1\nf()", ""),
        ("def f():\n    return x\nf()\nx = 1", "x"),
        ("def f():\n    return g()\ndef g():\n    return x\nf()", "x"),
        ("def f():\n    return f() + x\nf()", "x"),
        ("def f():\n    return x\nh = f", "x"),
        ("def f():\n    return x\nf()\ndef f():\n    return y\nf()", "x y"),
        ("def f():\n    return g()\nf()\ndef g():\n    return x\nf()", "g x"),
        ("for i in s:\n    f()\n    def f():\n        return x", "f s x"),
        ("@memo\ndef f():\n    return x", "memo x"),
        ("def f(a: T) -> U:\n    return a", "T U"),
        (
            "def f():\n    y = x\n    def g():\n        nonlocal y\n        y += z\n    g()\nf()",
            "x z",
        ),
        ("async def f():\n    return x\nawait f()", "x"),
        (
            "if c:\n    def f():\n        return x\nelse:\n    def f():\n        return y\nf()",
            "c x y",
        ),
    ],
)
def test_the_body_of_a_function_reads_from_where_its_name_is_loaded(cell: str, reads: str) -> None:
    found = names(cell)

    assert sorted(found.reads) == reads.split()


@pytest.mark.parametrize(
    ("cell", "reads"),
    [
        ("class A:\n    n = 1\n    m = n + k", "k"),
        ("class A:\n    n = n", "n"),
        ("class A:\n    n = 1\n    def f(self):\n        return n\nA().f()", "n"),
        ("class A:\n    def f(self):\n        return x", ""),
        ("class A(B, metaclass=M):\n    def f(self):\n        return x", "B M x"),
        ("@dataclass\nclass A:\n    n: int = k", "dataclass int k"),
        (
            "class A:\n    class B:\n        n = k\n        def f(self):\n            return x\nA",
            "k x",
        ),
    ],
)
def test_a_class_body_runs_at_once_and_its_methods_later(cell: str, reads: str) -> None:
    found = names(cell)

    assert sorted(found.reads) == reads.split()
    assert found.binds == {"A"}


@pytest.mark.parametrize(
    ("cell", "binds"),
    [
        ("a = b, *c = d", "a b c"),
        ("a, (b, [c, *d]) = e", "a b c d"),
        ("a[0] = 1; b.c = 2", ""),
        ("for a, b in c:\n    pass", "a b"),
        ("with f() as (a, b):\n    pass", "a b"),
        ("import a.b, c as d\nfrom e import f as g, h", "a d g h"),
        ("def f():\n    global a\n    a = 1", "a f"),
        ("def f():\n    global a\n    del a", "a f"),
        ("try:\n    pass\nexcept E as e:\n    pass", "e"),
        ("del a", "a"),
        ("[(a := b) for b in c]", "a"),
        ("match m:\n    case [a, *b] | {'a': a, **b} as c:\n        pass", "a b c"),
    ],
)
def test_every_way_to_bind_a_name_is_seen(cell: str, binds: str) -> None:
    found = names(cell)

    assert sorted(found.binds) == binds.split()


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("exec(code)", "exec()"),
        ("run = eval", "eval()"),
        ("import builtins\nbuiltins.exec(code)", "exec()"),
        ("globals().update(a=1)", "globals()"),
        ("locals()['a']", "locals()"),
        ("vars()['a']", "vars()"),
        ("def f():\n    return globals()\nf()", "globals()"),
        ("def f():\n    import __main__\n    return __main__.x\nf()", "__main__"),
        ("from os import *", "from os import *"),
        ("import __main__", "__main__"),
        ("from __main__ import x", "__main__"),
        ("import sys\nsys.modules['__main__'].x", "sys.modules['__main__']"),
        ("import sys\nsys.modules[__name__].x", "sys.modules['__main__']"),
        ("importlib.import_module('__main__')", "__main__"),
        ("sys._getframe()", "._getframe"),
        ("f.__globals__['x']", ".__globals__"),
        ("get_ipython().user_ns['x']", ".user_ns"),
        ("shell = get_ipython()", "get_ipython()"),
        ("[eval(c) for c in codes]", "eval()"),
    ],
)
def test_code_that_can_reach_any_name_is_told_with_the_construct(cell: str, reason: str) -> None:
    found = names(cell, defined=("get_ipython", "codes"))

    assert found.everything
    assert found.reason == reason


@pytest.mark.parametrize(
    "cell",
    [
        "model.eval()",
        "df.eval('a + b')",
        "vars(x)",
        "'torch' in sys.modules",
        "sys.modules['json']",
        "if __name__ == '__main__':\n    pass",
        "def f():\n    return eval('1')",
        "def f():\n    return locals()\nf()",
        "def eval(x):\n    return x\neval(1)",
    ],
)
def test_code_that_only_looks_so_does_not_reach_any_name(cell: str) -> None:
    found = names(cell)

    assert not found.everything


PASSING = (
    "import wave\nwith wave.open(p) as f: t = 1\nt",
    "import wave as w\nwith w.open(p) as f: t = 1\nt",
    "from wave import open as opened\nwith opened(p) as f: t = 1\nt",
    "import polars as pl\nwith pl.Config(): t = 1\nt",
    "from concurrent.futures import ThreadPoolExecutor as Pool\nwith Pool() as ex: t = 1\nt",
    "import concurrent.futures as cf\nwith cf.ThreadPoolExecutor() as ex: t = 1\nt",
)


@pytest.mark.parametrize("cell", PASSING)
def test_a_known_manager_lets_pass_whether_its_library_is_loaded_or_not(
    cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("polars")
    loaded = names_of_tree(ast.parse(cell), {})
    for name in ("wave", "polars"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delitem(vars(concurrent.futures), "ThreadPoolExecutor", raising=False)

    unloaded = names_of_tree(ast.parse(cell), {})

    assert "t" not in unloaded.reads
    assert unloaded.reads == loaded.reads


def test_a_module_beside_the_notebook_named_as_a_library_may_swallow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec("wandb") is not None:
        pytest.skip("wandb is installed")
    (tmp_path / "wandb.py").write_text("class init: pass")
    monkeypatch.syspath_prepend(tmp_path)

    told = names_of_tree(ast.parse("import wandb\nwith wandb.init(): t = 1\nt"), {})

    assert "t" in told.reads


def test_a_user_s_own_eval_is_not_the_builtin() -> None:
    found = names("eval(model)", defined=("eval", "model"))

    assert not found.everything


@pytest.mark.parametrize(
    ("text", "reads", "binds"),
    [
        ("%time x = f(y)", "f y", "x"),
        ("x = %time f(y)", "f y", "x"),
        ("%%time\nx = f(y)\nz = x", "f y", "x z"),
        ("%timeit -n 10 -r3 f(x)", "f x", ""),
        ("%%timeit a = b\nf(a)", "a b f", "a"),
        ("%prun -l 5 f(x)", "f x", ""),
        ("%%capture out --no-stderr\nx = y", "y", "out x"),
        ("%%time\n!ls {d}\nx = 1", "d", "x"),
        ("%%checkpoint train --deps {p}\nx = y", "p y", "x"),
        ("!ls {a.b} $c $$d", "a c", ""),
        ("files = !ls {a}", "a", "files"),
        ("df?", "df", ""),
        ("%matplotlib inline", "", ""),
        ("%pip install x", "", ""),
        ("%cd {folder}", "folder", ""),
        ("%load_ext nbckpt", "", ""),
        ("%checkpoint a", "", ""),
        ("%%bash --out log\necho $x", "", "log"),
        ("%%html\n<b>x</b>", "", ""),
        ("%%writefile a.py\nx = 1", "", ""),
    ],
)
def test_a_known_magic_touches_what_its_text_says(text: str, reads: str, binds: str) -> None:
    found = names(magic(text))

    assert not found.everything
    assert sorted(found.reads) == reads.split()
    assert sorted(found.binds) == binds.split()


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("%run other.py", "%run"),
        ("%rewind train", "%rewind"),
        ("%reset -f", "%reset"),
        ("%%sql\nselect 1", "%%sql"),
        ("%time %run other.py", "%run"),
        ("%%time\nfor for", "%%time"),
    ],
)
def test_any_other_magic_can_touch_everything(text: str, label: str) -> None:
    found = names(magic(text))

    assert found.everything
    assert found.reason == label


def test_a_query_mentions_the_variables_in_its_text() -> None:
    found = names("duckdb.sql('select * from df join prices using (k)')")

    assert {"df", "prices"} <= found.mentions
    assert "df" not in found.reads


def test_a_function_that_queries_mentions_them_too() -> None:
    namespace: dict[str, object] = {}
    exec("def f(d):\n    return d.query('x > @limit')", namespace)

    found = names_of_code(namespace["f"].__code__)  # type: ignore[attr-defined]

    assert "limit" in found.mentions


def test_text_that_is_no_query_mentions_nothing() -> None:
    found = names("print('select * from df')")

    assert not found.mentions


def test_imports_are_told_by_full_name() -> None:
    found = names("import a.b as c\nfrom d import e\ndef f():\n    from g.h import i\nf()")

    assert found.imports == {"a.b", "d", "d.e", "g.h", "g.h.i"}


def test_what_is_bound_whenever_a_name_is_loaded_is_told() -> None:
    found = names("x = 1\nf()\ny = 2\nf()")

    assert found.before["f"] == {"x"}


def test_the_names_of_code_are_those_of_its_nested_code_too() -> None:
    code = compile("def f():\n    global a\n    a = b\n    return [c for _ in d]", "x", "exec")

    found = names_of_code(code)

    assert found.binds == {"a", "f"}
    assert {"b", "c", "d"} <= found.loads


def test_a_method_s_class_body_binds_no_global() -> None:
    namespace: dict[str, object] = {}
    exec("def f():\n    class A:\n        n = k\n    return A", namespace)

    found = names_of_code(namespace["f"].__code__)  # type: ignore[attr-defined]

    assert not found.binds
    assert "k" in found.loads


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x=1  # why"),
        ("f(a,\n  b)", "f(a, b)"),
        ("def f():\n    return 1", "\n\n\ndef f():\n\n    # why\n    return 1"),
    ],
)
def test_comments_and_spacing_do_not_change_the_digest_of_a_tree(one: str, other: str) -> None:
    assert digest_of_tree(ast.parse(one)) == digest_of_tree(ast.parse(other))


def test_another_constant_changes_the_digest_of_a_tree() -> None:
    assert digest_of_tree(ast.parse("x = 1")) != digest_of_tree(ast.parse("x = True"))


def function_code(source: str, filename: str = "<cell>") -> object:
    namespace: dict[str, object] = {}
    exec(compile(source, filename, "exec"), namespace)
    return namespace["f"].__code__  # type: ignore[attr-defined]


def test_file_name_and_line_numbers_do_not_change_the_digest_of_code() -> None:
    one = function_code("def f(x):\n    return x in {'a', 'b'}", "<ipython-input-1-ab>")
    other = function_code("\n\n# why\ndef f(x):\n    return x in {'a', 'b'}", "/somewhere/3.py")

    assert digest_of_code(one) == digest_of_code(other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed",
    [
        "def f(x):\n    return x + 2",
        "def f(x):\n    return x + 1.0",
        "def f(x):\n    return x - 1",
        "def f(y):\n    return y + 1",
        "def f(x):\n    return z + 1",
        "def f(*x):\n    return x + 1",
        "def f(x, y=0):\n    return x + 1",
        "async def f(x):\n    return x + 1",
    ],
)
def test_any_change_of_what_it_does_changes_the_digest_of_code(changed: str) -> None:
    was = function_code("def f(x):\n    return x + 1")

    now = function_code(changed)

    assert digest_of_code(was) != digest_of_code(now)  # type: ignore[arg-type]


def test_a_change_in_a_nested_function_changes_the_digest_of_code() -> None:
    one = function_code("def f():\n    return lambda: [x for x in (1, 2)]")
    other = function_code("def f():\n    return lambda: [x for x in (1, 3)]")

    assert digest_of_code(one) != digest_of_code(other)  # type: ignore[arg-type]


# Programs by the hundred: what really is read, against what is said to be

VARIABLES, FUNCTIONS = "abcd", "fgh"
EXPRESSIONS = ("{v}", "{f}()", "({v} or {f}())", "sum([{v} for {v} in (0, 1)])")
EXPRESSIONS += ("({v} := 2)", "({v} and ({v} := 2))", "(lambda {v}: {f}())(1)", "[{f}][0]()")
SIMPLE = ("{v} = {e}", "{v} += {e}", "{v}, {v} = {e}, {e}", "{e}", "raise ValueError", "del {v}")
SIMPLE += ("{f} = lambda: {e}", "{f} = {f}")
COMPOUND = (
    "if {e}:\n{b}\nelse:\n{b}",
    "for {v} in range({n}):\n{b}\nelse:\n{b}",
    "while {v}:\n{b}\n    break",
    "try:\n{b}\nexcept ValueError as {v}:\n{b}\nelse:\n{b}\nfinally:\n{b}",
    "def {f}(x={e}):\n    return {e}",
    "class K:\n{b}\n    def m(self):\n        return {e}\n{f} = K().m",
    "match {n}:\n    case 0 | 1 as {v}:\n    {b}\n    case {v}:\n    {b}",
    "with contextlib.suppress(ValueError):\n{b}",
)


@st.composite
def programs(draw: st.DrawFn, depth: int = 3) -> str:
    """A program over a few names, all of which it may read, bind, delete and call."""

    def filled(template: str) -> str:
        return re.sub(r"( *)\{(\w)\}", lambda match: match[1] + part(match[2], match[1]), template)

    def part(kind: str, margin: str) -> str:
        if kind == "b":
            block = draw(programs(depth - 1)) or "pass"
            return textwrap.indent(block, "    " + margin).removeprefix(margin)
        if kind == "e":
            return filled(draw(st.sampled_from(EXPRESSIONS)))
        return draw(st.sampled_from({"v": VARIABLES, "f": FUNCTIONS, "n": "012"}[kind]))

    templates = SIMPLE + COMPOUND if depth else SIMPLE
    drawn = draw(st.lists(st.sampled_from(templates), max_size=4))
    return "\n".join(map(filled, drawn))


class Watched(dict[str, Any]):
    """A namespace that notes which of the names that it began with are read."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(VARIABLES, 1) | {name: lambda: 0 for name in FUNCTIONS})
        self.untouched = set(self)
        self["contextlib"] = contextlib
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        if name in self.untouched:
            self.read.add(name)
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: object) -> None:
        self.untouched.discard(name)
        super().__setitem__(name, value)


@pytest.mark.slow
@given(programs())
def test_no_program_reads_a_name_that_was_not_said(program: str) -> None:
    space = Watched()
    said = names(program).reads

    with contextlib.suppress(Exception):
        exec(compile(program, "<cell>", "exec"), space)

    assert space.read <= said


LAID_OUT = [
    ("try: x\nexcept E: pass", "try:\n    x\nexcept E:\n    pass"),
    ("while True: break", "while True:\n\n    break"),
    ("x = 1; pass; y = 2", "x = 1\npass\ny = 2"),
    ("f(a,\n  b)", "f(a, b)"),
    ("with a: pass", "with a:\n    # nothing\n    pass"),
]


@pytest.mark.parametrize(("one", "other"), LAID_OUT)
def test_how_code_is_laid_out_does_not_count(one: str, other: str) -> None:
    tree = ast.parse(one)
    before = ast.dump(tree, include_attributes=True)

    assert digest_of_tree(tree) == digest_of_tree(ast.parse(other))
    assert ast.dump(tree, include_attributes=True) == before


def test_what_a_cell_shows_at_its_end_counts() -> None:
    shown = ["1", "2", "'a'", "'b'", "1.0", "(1, 2)", "(1, 3)", "-0.0", "0.0", "True"]

    assert len({digest_of_tree(ast.parse(text)) for text in shown}) == len(shown)
