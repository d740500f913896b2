"""A step that names an object which a library, the process or a module holds: it is that object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.capture.observation.kernels import restored_beside, run

pytestmark = pytest.mark.sampled(7)


class Case(NamedTuple):
    """Files beside a notebook, its cells, what is asked for, and how many cells are restored."""

    cells: Sequence[str]
    ask: str
    n_restored: int
    files: Mapping[str, str] = {}


STATE = """
ROWS = [{'n': 1}]
NAMES = {'k': 'v'}
def fresh(x): return [x]
def total(): return sum(row['n'] for row in ROWS)
"""
CLASSES = """
class Config:
    current = {'a': {'z': 1}}
def get(): return Config.current['a']
"""
DEFAULTS = """
def add(x, known=[]):
    known.append(x)
    return known
"""
CACHED = """
from functools import lru_cache
@lru_cache
def load(n): return [n]
"""
SIGNAL = "signal.getsignal(signal.SIGUSR1)"
COUNTER = "class Counter:\n    n = 0\n    def __call__(self, *_): self.n += 1"
PLUGINS = """
PLUGINS = {}
ITEMS = []
GROUPS = []
class Account:
    def __init__(self): self.got = []
    def add(self, x): self.got.append(x)
ACCOUNT = Account()
def register(x):
    ITEMS.append(x)
    return x
def group(x): GROUPS.append([x])
def total(): return sum(each['n'] for each in ITEMS)
"""
MADE = """
import numpy as np
from dataclasses import dataclass
def counter():
    n = [0]
    def up():
        n[0] += 1
        return n[0]
    return up
def made():
    class K:
        items = []
    return K
@dataclass(frozen=True, slots=True)
class A:
    rows: list
@dataclass(frozen=True, slots=True)
class B(A):
    n: int
RECORDS = np.zeros(2, dtype=[('x', 'i8')])
HELD = {'up': counter(), 'K': made(), 'b': B([1], 2)}
def held(name): return HELD[name]
def record(): return RECORDS[0]
"""
PLAIN = """
import dataclasses, datetime, enum, pathlib, re
import numpy as np
import pandas as pd
from decimal import Decimal
class Kind(enum.Enum):
    A = 1
@dataclasses.dataclass
class Task:
    name: str
    kind: Kind = Kind.A
@dataclasses.dataclass(frozen=True)
class Frozen:
    n: int = 1
DEFAULT = Frozen()
HOME, DAY, RATE = pathlib.Path('.'), datetime.date(2020, 1, 1), Decimal('1.5')
PATTERN = re.compile('a+')
ARRAY = np.arange(3)
TABLE = pd.DataFrame({'a': [1, 2, 3], 'b': list('xyz')})
def clean(x): return x
class Model:
    def __init__(self): self.loss, self.config, self.w = clean, DEFAULT, np.zeros(2)
def fit(): return Model()
def load(n): return pd.DataFrame({'a': range(n), 'c': 'x'})
def rows(n): return [[i] for i in range(n)]
"""
ODD = """
from numpy import exp, sum as total, poly1d, nditer, ones
class Odd:
    def __getattribute__(self, name): raise RuntimeError(name)
ODD, WALK = Odd(), nditer(ones(2))
"""
OF_MODULES = {
    "od": ODD,
    "of": CLASSES, "st": STATE, "df": DEFAULTS, "ca": CACHED, "pl": PLUGINS, "pn": PLAIN, "md": MADE
}  # fmt: skip

CASES = {
    "what a module was given": Case(
        ["import colorsys\ncolorsys.mine = [1]", "e = colorsys.mine", "e.append(2)"],
        "len(colorsys.mine), e is colorsys.mine", 1),
    "inside of it": Case(
        ["import colorsys\ncolorsys.mine = {'a': [1]}", "e = colorsys.mine['a']", "e.append(2)"],
        "colorsys.mine, e is colorsys.mine['a']", 1),
    "in a tuple": Case(
        ["import colorsys\ncolorsys.mine = [1]", "e = (colorsys.mine, 1)", "e[0].append(2)"],
        "len(colorsys.mine), e[0] is colorsys.mine", 0),
    "by a function": Case(
        ["import colorsys\ncolorsys.mine = [1]\ndef get(): return colorsys.mine", "e = get()",
         "e.append(2)"],
        "len(colorsys.mine), e is colorsys.mine", 0),
    "in a closure": Case(
        ["import colorsys\ndef make():\n    held = [1]\n    return lambda: held\n"
         "colorsys.mine = make()", "e = colorsys.mine()", "e.append(2)"],
        "colorsys.mine(), e is colorsys.mine()", 1),
    "of a class": Case(
        ["import fractions\nfractions.Fraction.memo = {}", "m = fractions.Fraction.memo",
         "m[1] = 2"],
        "fractions.Fraction.memo, m is fractions.Fraction.memo", 1),
    "an instance": Case(
        ["import textwrap\nclass C: pass\ntextwrap.state = C()", "s = textwrap.state", "s.v = 1"],
        "textwrap.state.v, s is textwrap.state", 1),
    "what a variable holds, too": Case(
        ["import colorsys\nxs = [1]\ncolorsys.mine = xs", "ys = xs", "ys.append(2)", "z = 1"],
        "colorsys.mine, xs is ys is colorsys.mine", 3),
    "the handler of a signal": Case(
        [f"import os, signal\n{COUNTER}\nsignal.signal(signal.SIGUSR1, Counter());",
         f"s = {SIGNAL}", "os.kill(os.getpid(), signal.SIGUSR1)"],
        f"s.n, s is {SIGNAL}", 1),
    "what a handler of a logger holds": Case(
        ["import logging\nclass Own(logging.Handler):\n    def __init__(self):\n"
         "        super().__init__(); self.got = []\n"
         "    def emit(self, record): self.got.append(record.getMessage())\n"
         "log = logging.getLogger('a')\nlog.addHandler(Own())",
         "got = log.handlers[0].got", "log.error('x')", "got.append('mine')"],
        "log.handlers[0].got, got is log.handlers[0].got", 2),
    "inside of a module beside it": Case(
        ["import st", "e = st.ROWS[0]", "e['n'] = 2"],
        "st.ROWS, e is st.ROWS[0], st.total()", 1, OF_MODULES),
    "the name of a loop": Case(
        ["import st", "for e in st.ROWS: pass", "e['n'] = 2"],
        "st.ROWS, e is st.ROWS[0], st.total()", 1, OF_MODULES),
    "inside of its class": Case(
        ["import of", "e = of.get()", "e['n'] = 2"],
        "of.Config.current, e is of.get()", 1, OF_MODULES),
    "of a class of an instance": Case(
        ["import of", "o = of.Config()", "c = o.current", "c['n'] = 2"],
        "of.Config.current, c is of.Config.current", 2, OF_MODULES),
    "a default of its function": Case(
        ["import df", "e = df.add(1)", "e.append(2)"],
        "list(df.add(3)), e is df.add(4)", 1, OF_MODULES),
    "what its function remembers": Case(
        ["import ca", "e = ca.load(1)", "e.append(2)"],
        "ca.load(1), e is ca.load(1)", 1, OF_MODULES),
    "what it has a name for": Case(
        ["import st", "h = st.ROWS", "e = h[0]", "e['n'] = 2"],
        "st.ROWS, e is st.ROWS[0], st.total(), h is st.ROWS", 4, OF_MODULES),
    "another name of the same": Case(
        ["import st", "a = st.ROWS[0]", "b = st.ROWS[0]", "b['n'] = 2"],
        "st.total(), a is b, b is st.ROWS[0]", 1, OF_MODULES),
    "a name of a name": Case(
        ["import st", "a = st.ROWS[0]", "b = a", "z = 1", "b['n'] = 2"],
        "st.total(), a is b, b is st.ROWS[0]", 3, OF_MODULES),
    "put into a list": Case(
        ["import st", "box = []", "box.append(st.ROWS[0])", "box[0]['n'] = 2"],
        "st.total(), box[0] is st.ROWS[0]", 2, OF_MODULES),
    "put into a dict": Case(
        ["import st", "box = {}", "box['k'] = st.ROWS[0]", "box['k']['n'] = 2"],
        "st.total(), box['k'] is st.ROWS[0]", 2, OF_MODULES),
    "put into an instance": Case(
        ["import st\nclass B: pass\nb = B()", "b.row = st.ROWS[0]", "b.row['n'] = 2"],
        "st.total(), b.row is st.ROWS[0]", 1, OF_MODULES),
    "a list that it extends": Case(
        ["import st", "s = []", "s += st.ROWS", "s[0]['n'] = 2"],
        "st.total(), s[0] is st.ROWS[0]", 2, OF_MODULES),
    "registered with a module": Case(
        ["import pl", "x = {'n': 1}", "pl.register(x)", "x['n'] = 2"],
        "pl.total(), pl.ITEMS[0] is x", 2, OF_MODULES),
    "registered in the cell that imports it": Case(
        ["import pl\npl.PLUGINS['x'] = x = [1]", "x.append(2)", "pl.PLUGINS['x'].append(3)"],
        "x, pl.PLUGINS, pl.PLUGINS['x'] is x", 0, OF_MODULES),
    "registered in a list": Case(
        ["import pl", "x = {'n': 1}", "pl.group(x)", "x['n'] = 2"],
        "pl.GROUPS, pl.GROUPS[0][0] is x", 2, OF_MODULES),
    "registered in its dict": Case(
        ["import pl", "x = {'n': 1}", "pl.PLUGINS['x'] = x", "x['n'] = 2"],
        "pl.PLUGINS, pl.PLUGINS['x'] is x", 2, OF_MODULES),
    "a method of what it has": Case(
        ["import pl", "add = pl.ACCOUNT.add", "add(3)"],
        "pl.ACCOUNT.got, add.__self__ is pl.ACCOUNT", 1, OF_MODULES),
    "a method of its list": Case(
        ["import pl", "add = pl.ITEMS.append", "add(3)"],
        "pl.ITEMS, add.__self__ is pl.ITEMS", 1, OF_MODULES),
    "a default of a function": Case(
        ["import st", "def add(x, to=st.ROWS): to.append(x)", "add({'n': 3})"],
        "st.total(), add.__defaults__[0] is st.ROWS", 1, OF_MODULES),
    "a default of a lambda": Case(
        ["import st", "f = lambda x, r=st.ROWS[0]: r.update(n=x)", "f(5)"],
        "st.total(), f.__defaults__[0] is st.ROWS[0]", 1, OF_MODULES),
    "an attribute of a class": Case(
        ["import st", "class A: row = st.ROWS[0]", "A.row['n'] = 2"],
        "st.total(), A.row is st.ROWS[0]", 1, OF_MODULES),
    "an array of objects": Case(
        ["import st, numpy as np", "a = np.array(st.ROWS, dtype=object)", "a[0]['n'] = 4"],
        "st.total(), a[0] is st.ROWS[0]", 1, OF_MODULES),
    "a column of objects": Case(
        ["import st, pandas as pd", "a = pd.Series(st.ROWS)", "a[0]['n'] = 4"],
        "st.total(), a[0] is st.ROWS[0]", 1, OF_MODULES),
    "a module made by hand": Case(
        ["import sys, types\nmine = types.ModuleType('mine')\nmine.d = {'a': [1]}\n"
         "sys.modules['mine'] = mine\ndel mine",
         "import mine\ne = mine.d['a']", "e.append(3)", "t = len(mine.d['a'])"],
        "t, e is mine.d['a']", 1),
    "a function that it made": Case(
        ["import md", "e = md.held('up')", "q = e()"],
        "e is md.held('up'), md.held('up')()", 1, OF_MODULES),
    "a class that it made": Case(
        ["import md", "e = md.held('K')", "e.items.append(3)"],
        "e is md.held('K'), md.held('K').items", 1, OF_MODULES),
    "a class put into a dict": Case(
        ["import md", "d = {}", "d['a'] = md.held('K')", "d['a'].items.append(3)"],
        "d['a'] is md.held('K'), md.held('K').items", 2, OF_MODULES),
    "what is frozen below a class": Case(
        ["import md", "e = md.held('b')", "e.rows.append(3)"],
        "e is md.held('b'), md.held('b').rows", 1, OF_MODULES),
    "a record of an array": Case(
        ["import md", "e = md.record()", "e['x'] = 7"], "md.RECORDS['x'].tolist()", 1, OF_MODULES),
    "what nothing changes": Case(
        ["import pn, functools", "t = pn.Task('a')", "steps = [pn.clean, pn.DEFAULT]",
         "m = pn.fit()", "p = functools.partial(pn.clean, 1)",
         "c = {'home': pn.HOME, 'day': pn.DAY, 'rate': pn.RATE, 'like': pn.PATTERN}",
         "y = pn.ARRAY + 1"],
        "t.name, len(steps), m.w.tolist(), str(c), y.tolist()", 7, OF_MODULES),
    "tables": Case(
        ["import pn", "x = pn.load(3)\nx", "y = pn.TABLE[pn.TABLE.a > 1]",
         "z = pn.load(5).merge(pn.TABLE)", "w = pn.TABLE[['a']].sum()"],
        "len(x), len(y), len(z), len(w)", 5, OF_MODULES),
    "many": Case(
        ["import pn", "r = pn.rows(30_000)", "r[0].append(1)"], "len(r), r[0]", 3, OF_MODULES),
    "beside what is odd": Case(
        ["import od", "a = [1]; held = {'a': a}", "a.append(2)", "fs = {'f': od.exp, 't': od.total}",
         "fs['n'] = float(fs['f'](0))", "g = held['a']", "g.append(3)"],
        "a, fs['n'], fs['f'] is od.exp, g is a", 6, OF_MODULES),
    "a name that is deleted after the change": Case(
        ["import st", "e = st.ROWS[0]", "e['n'] = 5; del e", "y = st.total()"], "y", 2, OF_MODULES),
    "one that is bound anew after the change, by a function": Case(
        ["import st", "e = st.ROWS[0]\ndef f(): e['n'] = 5", "f(); e = None", "y = st.total()"],
        "y", 2, OF_MODULES),
    "an equal copy": Case(
        ["import st", "e = st.ROWS[0]", "e = e.copy()", "e['n'] = 5", "y = st.total()"],
        "y, e", 3, OF_MODULES),
    "an equal copy of what has a name": Case(
        ["from st import NAMES", "NAMES = NAMES.copy()", "NAMES['q'] = 5",
         "import st; y = 'q' in st.NAMES"],
        "y, NAMES", 4, OF_MODULES),
    "a dict that a module replaces": Case(
        ["import settings\nfrom settings import NOW", "settings.put(a=2)"],
        "NOW, settings.NOW, NOW is settings.NOW", 2,
        {"settings": "NOW = {'a': 1}\ndef put(**now):\n    global NOW\n    NOW = now"}),
    "what it only makes": Case(
        ["import st", "e = st.fresh(1)", "f = st.NAMES['k']", "g = st.total()",
         "h = dict(st.ROWS[0])"],
        "e, f, g, h", 5, OF_MODULES),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_restored_notebook_is_as_one_that_ran(case: Case, tmp_path: Path) -> None:
    for folder in (tmp_path / "plain", tmp_path / "kept"):
        folder.mkdir()
        for name, text in case.files.items():
            (folder / f"{name}.py").write_text(text)
    plain = run(tmp_path / "plain", case.cells, case.ask, mode="plain")

    first = run(tmp_path / "kept", case.cells, case.ask, mode="skip")
    again = run(tmp_path / "kept", case.cells, case.ask, mode="skip")

    assert [*plain.errors, *first.errors, *again.errors] == []
    assert first.value == again.value == plain.value
    assert len(again.restored) == case.n_restored
    assert "Traceback" not in first.said + again.said


def test_in_one_kernel_an_edit_changes_the_same_object(tmp_path: Path) -> None:
    (tmp_path / "st.py").write_text(STATE)
    cells = ["import st", "k = 2", "e = st.ROWS[0]", "e['n'] = k"]
    edited = ["import st", "k = 3", *cells[2:]]

    found = run(tmp_path, cells, "[st.ROWS, e is st.ROWS[0]]", mode="skip", then=edited)

    assert found.value == [[{"n": 3}], True]


@pytest.mark.slow
def test_what_a_cell_drops_is_dropped_while_it_runs(tmp_path: Path) -> None:
    files = {"helpers": "ROWS = [[1]]"}
    cells = [
        "import helpers, numpy as np\nrow = helpers.ROWS[0]\nfrom weakref import finalize\n"
        "log = []\nclass D:\n    pass\nd = D(); f = finalize(d, log.append, 'gone')\n"
        "buffer = bytearray(b'5'); view = np.frombuffer(buffer, np.uint8)",
        "d = 1; log.append('next'); view = None; buffer += b'1'",
        "y = log, bytes(buffer)",
    ]

    assert restored_beside(files, cells, tmp_path).value == "(['gone', 'next'], b'51')"
