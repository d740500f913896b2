"""Small notebooks with one state to go back to, and what must be true there."""

from __future__ import annotations

from typing import NamedTuple

NUMPY = "import numpy as np, pandas as pd"


class Case(NamedTuple):
    """A notebook that can be got wrong.

    Attributes
    ----------
    setup
        Cells up to the state.
    mutate
        Cells that change it.
    check
        An expression that must be true after going back.
    after
        Cells run after going back, before the check.
    """

    name: str
    setup: tuple[str, ...]
    mutate: tuple[str, ...]
    check: str
    after: tuple[str, ...] = ()


CASES = (
    Case("element of a list", ("a = [1]; b = a",), ("a.append(2)",), "a == [1] and b is a"),
    Case("list in a list", ("a = [[1], 2]", "b = a[0]"), ("b.append(9)",), "b is a[0] and a[0] == [1]"),
    Case(
        "tuple in a list", ("a = [(1, 2)]; b = a[0]",), ("a = 0",), "b is a[0]"
    ),
    Case("sharing begun later", ("a = [1]", "b = [a]", "c = 0"), ("b[0].append(2)",), "b[0] is a"),
    Case("sharing ended", ("a = [1]; b = [a]", "b = [0]"), ("a.append(3)",), "a == [1] and b == [0]"),
    Case("cycle", ("a = [1]; a.append(a)",), ("a[0] = 2",), "a[0] == 1 and a[1] is a"),
    Case("order of a dict", ("d = dict(a=1, b=2)",), ("d['a'] = d.pop('a')",), "list(d) == ['a', 'b']"),
    Case("deleted and added", ("x = 1",), ("del x; y = 2",), "x == 1 and 'y' not in globals()"),
    Case("deleted import", (NUMPY,), ("del np",), "np.zeros(2).sum() == 0"),
    Case("array element", (NUMPY, "a = np.zeros(9000)"), ("a[5] = 1",), "a.sum() == 0"),
    Case(
        "view and base",
        (NUMPY, "a = np.arange(6.); v = a[:2]"),
        ("v[0] = 9",),
        "a[0] == 0 and a[1] == 55",
        ("v[1] = 55",),
    ),
    Case(
        "view in an object",
        (NUMPY, "a = np.arange(9000.)", "d = {'head': a[:3], 'all': a}"),
        ("a[0] = 7",),
        "d['all'] is a and a[0] == -1",
        ("d['head'][0] = -1",),
    ),
    Case(
        "frame, column by column",
        (NUMPY, "df = pd.DataFrame({'a': [1., 2.], 'b': ['x', 'y']}); df.attrs['u'] = 1"),
        ("df['a'] *= 2; df.drop(columns='b', inplace=True); df.index.name = 'k'; df.attrs.clear()",),
        "df['a'].tolist() == [1, 2] and list(df) == ['a', 'b'] and df.attrs == {'u': 1} "
        "and df.index.name is None",
    ),
    Case(
        "two frames in one dict",
        (NUMPY, "df = pd.DataFrame({'a': [1, 2]}); d = {'one': df, 'two': df.copy()}"),
        ("df.loc[0, 'a'] = 9",),
        "d['one'] is df and d['two'] is not df and df['a'].tolist() == [1, 2]",
    ),
    Case(
        "model and optimiser on one array",
        (
            NUMPY,
            "class Layer:\n    def __init__(self):\n        self.w = np.ones(5000)\n"
            "class Adam:\n    def __init__(self, ws):\n        self.ws = ws\n"
            "    def step(self):\n        for w in self.ws:\n            w *= 2\n",
            "model = Layer(); opt = Adam([model.w])",
        ),
        ("opt.step()",),
        "opt.ws[0] is model.w and model.w.sum() == 10000",
        ("opt.step()",),
    ),
    Case(
        "class of the notebook", ("class K:\n    pass", "k = K()"), ("del k",), "isinstance(k, K)"
    ),
    Case(
        "class defined again",
        ("class K:\n    v = 1", "k = K()", "class K:\n    v = 2", "j = K()"),
        ("del k, j",),
        "k.v == 1 and j.v == 2 and type(j) is K and type(k) is not K",
    ),
    Case("class attribute", ("class K:\n    n = 1\nk = K()",), ("K.n = 2",), "K.n == 1 and k.n == 1"),
    Case("function sees globals", ("x = 1", "def f():\n    return x"), ("del f",), "f() == 9", ("x = 9",)),
    Case("function calls function", ("def g():\n    return 7", "def f():\n    return g()"), ("del f",), "f() == 7"),
    Case("two names of a function", ("def f():\n    pass\ng = f; h = [f]",), ("del f",), "g is f and h[0] is f"),
    Case(
        "counter in a closure",
        ("def make():\n    n = 0\n    def inc():\n        nonlocal n\n        n += 1\n        return n\n"
         "    return inc", "c = make(); _ = c()"),
        ("c()",),
        "c() == 2",
    ),
    Case("lambda", ("k = 3\nf = lambda x: x + k",), ("f = None",), "f(1) == 4"),
    Case("globals().update", ("x = 1",), ("globals().update(x=5)",), "x == 1"),
    Case("exec", ("x = [1]",), ("exec('x.append(2)')",), "x == [1]"),
    Case("method of an object", ("class C:\n    def __init__(self):\n        self.s = []\n"
         "    def add(self, v):\n        self.s.append(v)\nc = C(); log = c.s",), ("c.add(1)",),
         "c.s == [] and log is c.s"),
    Case("change through a function", ("a = []\ndef f():\n    a.append(1)",), ("f()",), "a == []"),
    Case("bound method", ("a = []\nadd = a.append",), ("add(1)",), "a == [2]", ("add(2)",)),
    Case("top-level await", ("import asyncio\nv = 1",), ("await asyncio.sleep(0)\nv = 2",), "v == 1"),
    Case("magic", ("%time x = [1]",), ("%time x.append(2)",), "x == [1]"),
    Case("cell magic", ("%%time\nx = [1]",), ("%%time\nx.append(2)",), "x == [1]"),
    Case("python's generator", ("import random\nrandom.seed(0)",), ("s = random.random()",),
         "abs(t - 0.8444218515250481) < 1e-12", ("t = random.random()",)),
    Case("numpy's generator", (NUMPY, "np.random.seed(0)"), ("s = np.random.rand()",),
         "abs(t - 0.5488135039273248) < 1e-12", ("t = np.random.rand()",)),
    Case("a generator of one's own", (NUMPY, "rng = np.random.default_rng(0)"), ("s = rng.random()",),
         "t == np.random.default_rng(0).random()", ("t = rng.random()",)),
    Case("lock beside a value", ("import threading\nlock = threading.Lock(); n = 1",), ("n = 2",),
         "n == 1 and lock.acquire(False)"),
    Case("value that does not load", ("class Half:\n    def __init__(self):\n        self.z = 1\n"
         "    def __setstate__(self, s):\n        raise RuntimeError('no')", "half = Half(); n = 1"),
         ("n = 2; half.z = 2",), "n == 1 and 'half' not in globals()"),
    Case("enum and dataclass", ("import enum, dataclasses\nclass E(enum.Enum):\n    A = 1\n"
         "@dataclasses.dataclass\nclass D:\n    e: E\nd = D(E.A)",), ("d.e = None",),
         "d.e is E.A and isinstance(d, D)"),
    Case("functions that hold each other", ("class K:\n    pass\ndef f(x=K()):\n    return x\nK.f = f",),
         ("del f",), "f().f is not None and type(f()) is K and K.f is f"),
)  # fmt: skip
