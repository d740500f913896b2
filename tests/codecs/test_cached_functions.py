"""What functions under `functools.lru_cache` remember: kept, restored, and never stale."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.capture.observation.kernels import run


class Notebook(NamedTuple):
    """Cells, one of which is edited.

    Attributes
    ----------
    cells
        `<1>` in one of them is 1, and 2 where that cell was edited.
    ask
        An expression that tells what matters in the end.
    n_rerun
        Cells that may run again after the edit; the edited one among them.
    """

    cells: list[str]
    ask: str
    n_rerun: int


HEAD = "from functools import cache, lru_cache\n"
FIB = HEAD + "@cache\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)"
NOTEBOOKS = {
    "an answer that is a variable": Notebook(
        [HEAD + "@lru_cache\ndef f():\n    return [0]\na = f()", "a.append(<1>)", "y = f()"],
        "[y, a, y is a, f() is a]",
        2,
    ),
    "an answer made in a later cell": Notebook(
        [
            HEAD + "@cache\ndef f(k):\n    return [k]",
            "a = f(1)\na.append(<1>)",
            "b = f(1)",
            "c = f(5)",
        ],
        "[a, b, c, a is b, f(1) is a, f(5) is c]",
        3,
    ),
    "a table": Notebook(
        [
            HEAD + "import io\nimport pandas as pd\nTEXT = 'a,b\\n1,2\\n3,4'\n@cache\n"
            "def load(text):\n    return pd.read_csv(io.StringIO(text))",
            "df = load(TEXT)",
            "df['new'] = <1>",
            "y = list(load(TEXT).columns), int(load(TEXT).new.sum())",
        ],
        "[y, load(TEXT) is df]",
        2,
    ),
    "not pure": Notebook(
        [
            HEAD + "n = [0]\n@cache\ndef g(k):\n    n[0] += 1\n    return n[0]",
            "a = g(1)",
            "n[0] = 7",
            "for i in range(<1>):\n    g(i + 1)",
            "y = g(2)",
        ],
        "[a, y, n]",
        2,
    ),
    "a global that changes": Notebook(
        [
            HEAD + "k = 5\n@lru_cache(maxsize=2)\ndef f(x):\n    return x + k",
            "f(<1>)",
            "k = 9",
            "y = f(1)",
        ],
        "[y, k]",
        2,
    ),
    "methods": Notebook(
        [
            HEAD
            + "class C:\n    def __init__(self, k):\n        self.k = k\n    @lru_cache\n    def f(self, x):\n        return [self.k, x]\nc = C(1)",
            "a = c.f(1)",
            "a.append(<1>)",
            "y = c.f(1)",
        ],
        "[y, a, y is a, c.f(1) is a, C.f.cache_info().currsize]",
        2,
    ),
    "a cached property": Notebook(
        [
            HEAD
            + "class C:\n    @property\n    @cache\n    def rows(self):\n        return [1]\n    @staticmethod\n    @cache\n    def s(x):\n        return [x]\nc = C()",
            "c.rows.append(<1>)\nC.s(2).append(3)",
            "y = c.rows, C.s(2)",
        ],
        "[y, c.rows is y[0], C.s(2) is y[1]]",
        2,
    ),
    "arguments that hash by what they hold": Notebook(
        [
            HEAD
            + "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    x: int\n    @lru_cache(maxsize=4)\n    def f(self, *, by):\n        return [self.x * by]\np = P(3)",
            "p.f(by=2).append(<1>)",
            "y = p.f(by=2)",
        ],
        "[y, P(3).f(by=2) is y, P.f.cache_info().currsize]",
        2,
    ),
    "in a closure": Notebook(
        [
            HEAD
            + "def make():\n    @cache\n    def f(x):\n        return [x] if x < 1 else f(x - 1)\n    return f\nf = make()",
            "f(3).append(<1>)",
            "y = f(2)",
        ],
        "[y, f(0) is y, f.cache_info().currsize]",
        2,
    ),
    "reached through another": Notebook(
        [
            HEAD + "@cache\ndef f():\n    return []\ndef h(x):\n    f().append(x)",
            "h(<1>)",
            "y = list(f())",
        ],
        "[y, f()]",
        2,
    ),
    "order in which answers are dropped": Notebook(
        [
            HEAD + "n = [0]\n@lru_cache(maxsize=2)\ndef f(x):\n    n[0] += 1\n    return [x, n[0]]",
            "f(1), f(2)",
            "f(<1>)",
            "f(3)",
            "y = f(1), f(2)",
        ],
        "[y, n]",
        3,
    ),
    "recursion": Notebook([FIB, "fib(<1>0)", "b = fib(30)", "c = fib(25)"], "[b, c, fib(90)]", 1),
    "recursion, and its cache is asked for": Notebook(
        [FIB, "fib(<1>0)", "y = fib.cache_info().currsize"], "y", 2
    ),
    "a method of a text, and two arguments": Notebook(
        [
            HEAD
            + "@lru_cache(maxsize=None)\ndef f(a, *, b='x'):\n    return tuple(sorted(a.upper() + b))",
            "f('<1>')",
            "y = f('ab', b='c')",
        ],
        "y",
        1,
    ),
    "a global constant": Notebook(
        [HEAD + "M = 7\n@cache\ndef f(x):\n    return x % M", "f(<1>9)", "M = 5", "y = f(19)"],
        "y",
        2,
    ),
    "another function": Notebook(
        [
            HEAD + "def g(x):\n    return x\n@cache\ndef f(x):\n    return g(x)",
            "f(<1>)",
            "def g(x):\n    return x * 10",
            "y = f(1)",
        ],
        "y",
        2,
    ),
    "attributes of the function": Notebook(
        [
            HEAD + "@cache\ndef f(x):\n    return x + f.k\nf.k = 1",
            "f.k = <1>\nf(1)",
            "y = f(1), f(2)",
        ],
        "[y, f.k]",
        2,
    ),
    "it prints": Notebook(
        [
            HEAD + "log = []\n@cache\ndef f(x):\n    log.append(x)\n    return x",
            "f(<1>)",
            "f(1); f(2)",
        ],
        "log",
        2,
    ),
    "a library's function": Notebook(
        [
            HEAD + "import json\nload = cache(json.loads)",
            "load('[1]').append(<1>)",
            "y = load('[1]')",
        ],
        "[y, load('[1]') is y]",
        2,
    ),
    "a class and a function of C": Notebook(
        [
            HEAD + "class P:\n    def __init__(self, x): self.x = x\nmake = cache(P)\n"
            "order = cache(sorted)",
            "make(1).x = <1>\norder((2, 1)).append(<1>)",
            "y = make(1), order((2, 1))",
        ],
        "[y[0].x, y[1], make(1) is y[0], type(y[0]) is P]",
        2,
    ),
    "arguments of every shape": Notebook(
        [
            HEAD + "@lru_cache(maxsize=8, typed=True)\ndef f(*a, **k):\n    return [a, k]",
            "f(1).append(<1>); f(1.0); f(True); f('s', k=1, j=None); f(k=1); f(); f((1, 2), k='b')",
            "y = [f(1), f(1.0), f(True), f('s', k=1, j=None), f(k=1), f(), f((1, 2), k='b')]",
        ],
        "[y, f(1) is y[0], f('s', k=1, j=None) is y[3], f.cache_info().currsize]",
        2,
    ),
    "answers that hold the function": Notebook(
        [
            HEAD + "@lru_cache\ndef f(x):\n    return {'f': f, 'x': x}",
            "f(1)['x'] = <1>\nf(f)['x'] = 5",
            "y = f(1), f(f)",
        ],
        "[y[0]['x'], y[1]['x'] == 5, y[0]['f'] is f, f(f) is y[1]]",
        2,
    ),
    "one that is cleared": Notebook(
        [HEAD + "@cache\ndef f(x):\n    return [x]", "a = f(1)", "f.cache_clear()", "y = f(<1>)"],
        "[y, a, y is a]",
        2,
    ),
    "none are kept": Notebook(
        [HEAD + "@lru_cache(maxsize=0)\ndef f(x):\n    return [x]", "a = f(<1>)", "y = f(1)"],
        "[y, f(1) is y]",
        1,
    ),
    "one": Notebook(
        [HEAD + "@lru_cache(maxsize=1)\ndef f(x):\n    return [x]", "a = f(<1>)", "y = f(1)"],
        "[y, a, a is y]",
        2,
    ),
    "another name, in a list": Notebook(
        [
            HEAD + "@cache\ndef f(x):\n    return [x]\ng = f\nfs = [f]",
            "fs[0](1).append(<1>)",
            "y = g(1)",
        ],
        "[y, f(1) is y, f is g is fs[0]]",
        2,
    ),
    "the function has its own name, too": Notebook(
        [
            HEAD + "def plain(x):\n    return [x]\nf = lru_cache(plain)",
            "f(1).append(<1>)",
            "y = f(1), plain(1)",
        ],
        "[y, f(1) is y[0], f.__wrapped__ is plain]",
        2,
    ),
}


def written(cells: list[str], number: int) -> list[str]:
    """The cells with a number in the place of `<1>`."""
    return [cell.replace("<1>", str(number)) for cell in cells]


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("notebook", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_what_a_function_remembers_is_as_in_a_run(notebook: Notebook, tmp_path: Path) -> None:
    cells, ask, n_rerun = notebook
    first, edited = written(cells, 1), written(cells, 2)
    plain = run(tmp_path / "plain", first, ask, mode="plain")
    plain_edited = run(tmp_path / "plain", edited, ask, mode="plain")
    assert not plain.errors

    answers = [run(tmp_path / "kept", first, ask, mode="skip") for _ in range(2)]
    after_edit = run(tmp_path / "kept", edited, ask, mode="skip")
    live = run(tmp_path / "live", first, ask, mode="skip", rounds=2, then=edited)
    unchanged = run(tmp_path / "again", first, ask, mode="skip", rounds=3)

    assert [a.value for a in answers] == [plain.value] * 2
    assert len(answers[1].restored) == len(cells)
    assert (after_edit.value, live.value) == (plain_edited.value,) * 2
    assert unchanged.value == plain.value
    assert len(unchanged.restored) == len(cells)
    assert len(after_edit.restored) >= len(cells) - n_rerun
    assert len(live.restored) >= len(cells) - n_rerun


@pytest.mark.slow
def test_a_move_brings_back_what_was_remembered_then(tmp_path: Path) -> None:
    cells = [
        HEAD + "@lru_cache\ndef f(x):\n    return [x]",
        "%checkpoint none",
        "a = f(1)\na.append(2)\nf(2)",
        "%checkpoint two",
        "a.append(3)\nf.cache_clear()",
        "%rewind two",
        "now = [f.cache_info().currsize, f(1), f(1) is a]",
        "%checkpoint later",
    ]
    ask = "[f.cache_info().currsize, f(1), f(1) is a, f(2), now]"

    before = run(tmp_path / "a", [*cells, "%rewind none"], "[f.cache_info().currsize, f(1)]")
    back = run(tmp_path / "b", [*cells, "%rewind none", "%rewind -"], ask)
    after_restart = run(tmp_path / "b", ["%resume"], ask)

    assert not [*before.errors, *back.errors, *after_restart.errors]
    assert before.value == [0, [1]]
    assert back.value == after_restart.value == [2, [1, 2], True, [2], [2, [1, 2], True]]


def test_a_filled_function_has_no_trace_of_it(tmp_path: Path) -> None:
    cells = [
        HEAD
        + "def make():\n    k, j = [5], 7\n    @lru_cache(maxsize=3)\n    def f(x=1, *, y=2):\n"
        "        'Doc.'\n        if x > 9:\n            raise ValueError(x)\n"
        "        return [x, y, k[0] + j]\n    return f\nf = make()\nf(2).append(1)",
    ]
    ask = (
        "[f(2), f(3), f.__name__, f.__doc__, f.__wrapped__(4), f.__wrapped__.__code__.co_name,"
        " f.__wrapped__.__defaults__, f.__wrapped__.__code__.co_freevars, f.__qualname__]"
    )

    first = run(tmp_path, cells, ask, mode="skip")
    again = run(tmp_path, cells, ask, mode="skip")

    assert again.restored == [0]
    assert again.value == first.value


@pytest.mark.slow
def test_what_cannot_be_put_back_is_asked_again(tmp_path: Path) -> None:
    cells = [
        HEAD + "import json\nparsed = lru_cache(json.loads)",
        "parsed('[1]').append(<1>)",
        "y = parsed('[1]')",
        "z = parsed('[1]') is y",
    ]

    first = run(tmp_path, written(cells, 1), "[y, z]", mode="skip")
    again = run(tmp_path, written(cells, 1), "[y, z]", mode="skip")
    edited = run(tmp_path, written(cells, 2), "[y, z]", mode="skip")
    added = run(tmp_path, [*written(cells, 2), "w = parsed('[1]')"], "[w, z]", mode="skip")

    assert first.value == again.value == [[1, 1], True]
    assert edited.value == added.value == [[1, 2], True]
    assert not [*again.errors, *edited.errors, *added.errors]
