"""A variable that is an object of a module beside the notebook stays that object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.capture.observation.kernels import Answer, run

pytestmark = pytest.mark.sampled(7)

REGISTRY = """
REG = {}
def register(f):
    REG[f.__name__] = f
    return f
"""
CONFIG = """
from dataclasses import dataclass
@dataclass
class Config:
    size: int = 1
CFG = Config()
def size():
    return CFG.size
"""
APP = """
class App:
    def __init__(self):
        self.routes = {}
    def route(self, path):
        def add(f):
            self.routes[path] = f
            return f
        return add
app = App()
"""
STATE = """
items = []
def n():
    return len(items)
"""
KINDS = """
from collections import defaultdict, deque
seen = set()
counts = defaultdict(int)
queue = deque()
class Slots:
    __slots__ = ("x",)
slots = Slots()
slots.x = 0
class Own(list):
    pass
own = Own()
def all_of():
    return sorted(seen), dict(counts), list(queue), slots.x, list(own)
"""


class Case(NamedTuple):
    """Files beside a notebook, its cells, and what is asked for at the end."""

    files: Mapping[str, str]
    cells: Sequence[str]
    ask: str
    restored: Sequence[int] = ()


CASES = {
    "registry": Case(
        {"core.py": REGISTRY},
        ["from core import register, REG", "@register\ndef alpha(): return 1", "y = sorted(REG)"],
        "(y, __import__('core').REG is REG, REG['alpha'] is alpha)",
        [0, 1, 2],
    ),
    "instance": Case(
        {"cfg.py": CONFIG},
        ["from cfg import CFG, size", "CFG.size = 7", "y = (CFG.size, size())"],
        "(y, __import__('cfg').CFG is CFG, size(), type(CFG) is __import__('cfg').Config)",
        [0, 1, 2],
    ),
    "list": Case(
        {"state.py": STATE},
        ["from state import items, n\nimport state", "items.append('x')", "y = (items, n())"],
        "(y, state.items is items, n())",
        [0, 1, 2],
    ),
    "by a function of the notebook": Case(
        {"core.py": REGISTRY},
        [
            "import core\nfrom core import REG as R\nkeep = [R]",
            "def put(f): core.register(f)\ndef alpha(): return 1",
            "put(alpha)",
            "y = sorted(R), sorted(keep[0])",
        ],
        "(y, core.REG is R, keep[0] is R)",
    ),
    "beside a large table": Case(
        {"core.py": f"{REGISTRY}\nTABLE = [[[i]] for i in range(60_000)]\n"},
        ["from core import register, REG", "@register\ndef alpha(): return 1", "y = sorted(REG)"],
        "(y, __import__('core').REG is REG, REG['alpha'] is alpha)",
        [0, 1, 2],
    ),
    "decorators of an instance": Case(
        {"web.py": APP},
        ["from web import app", "@app.route('/')\ndef home(): return 'h'", "y = [*app.routes]"],
        "(y, __import__('web').app is app, app.routes['/'] is home)",
    ),
    "other kinds": Case(
        {"kinds.py": KINDS},
        [
            "from kinds import seen, counts, queue, slots, own, all_of",
            "seen.add(1); counts['a'] += 1; queue.append(2); slots.x = 3; own.append(4)",
            "y = all_of()",
        ],
        "(y, all_of(), __import__('kinds').slots is slots, counts['b'])",
    ),
    "a package that hands on": Case(
        {
            "pkg/__init__.py": "from .core import REG, register\n",
            "pkg/core.py": REGISTRY,
            "pkg/other.py": "from .core import REG\ndef names(): return sorted(REG)\n",
        },
        [
            "from pkg import REG, register",
            "@register\ndef alpha(): return 1",
            "from pkg.other import names\ny = names()",
        ],
        "(y, names(), __import__('pkg.core').core.REG is REG, __import__('pkg').REG is REG)",
    ),
    "one in the other": Case(
        {"core.py": "A = []\nB = {'a': A}\ndef both(): return [A, B]\n"},
        ["from core import A, B, both", "A.append({1})", "y = str(both())"],
        "(y, B['a'] is A, both()[0] is A, both()[1] is B)",
    ),
    "held in another object of the module": Case(
        {"core.py": "A = []\nB = {'a': A}\ndef both(): return [A, B]\n"},
        ["from core import A, both", "A.append({1})", "y = str(both())"],
        "(y, both()[1]['a'] is A, both()[0] is A)",
    ),
    "what is in it is held elsewhere": Case(
        {"core.py": "A = [1]\nB = {'a': A}\ndef both(): return [A, B]\n"},
        ["from core import B, both", "B['a'].append({1})", "y = str(both())"],
        "(y, both()[0] is B['a'])",
    ),
    "a default argument": Case(
        {"core.py": "A = []\ndef get(a=A): return len(a)\n"},
        ["from core import A, get", "A.append({1})", "y = get()"],
        "(y, get(), get.__defaults__[0] is A)",
    ),
    "a closure": Case(
        {"core.py": "A = []\ndef make(a):\n    return lambda: len(a)\nget = make(A)\n"},
        ["from core import A, get", "A.append({1})", "y = get()"],
        "(y, get())",
    ),
    "a member of a class": Case(
        {"core.py": "A = []\nclass K:\n    a = A\n    def n(self): return len(self.a)\n"},
        ["from core import A, K", "A.append({1})", "y = K().n()"],
        "(y, K().n(), K.a is A)",
    ),
    "a copy that took its name": Case(
        {"state.py": STATE},
        ["from state import items, n", "items.append(1)\nitems = [*items, 2]", "y = n(), items"],
        "(y, n(), __import__('state').items is items)",
    ),
    "a cache": Case(
        {"core.py": "cache = {}\ndef get(k):\n    cache[k] = {k}\n    return len(cache)\n"},
        ["from core import cache, get", "a = get(1)", "b = get(2)", "y = a, b, str(cache)"],
        "(y, get(3), str(cache))",
    ),
    "a variable of its own later": Case(
        {"core.py": REGISTRY},
        [
            "from core import register",
            "@register\ndef alpha(): return 1",
            "from core import REG\nn = len(REG)",
            "@register\ndef beta(): return REG",
            "y = sorted(REG), n",
        ],
        "(y, __import__('core').REG is REG, REG['alpha'] is alpha, beta() is REG)",
    ),
    "no variable later": Case(
        {"core.py": REGISTRY},
        [
            "from core import register, REG",
            "@register\ndef alpha(): return 1",
            "del REG",
            "import core\ny = sorted(core.REG)",
        ],
        "(y, sorted(core.REG))",
    ),
    "bound on a condition": Case(
        {"core.py": REGISTRY},
        [
            "import core",
            "core.register(len)",
            "if 'REG' not in globals():\n    from core import REG",
            "REG['two'] = {2}",
            "y = sorted(REG), sorted(core.REG)",
        ],
        "(y, core.REG is REG)",
    ),
    "an array": Case(
        {"core.py": "import numpy as np\nA = np.zeros(3)\nV = A[1:]\ndef both(): return A, V\n"},
        ["from core import A, both", "A[1] = 5", "y = [list(map(float, a)) for a in both()]"],
        "(y, both()[0] is A, float(both()[1][0]))",
    ),
    "a column": Case(
        {
            "core.py": "import numpy as np, pandas as pd\nF = pd.DataFrame({'a': [1.0, 2.0]})\n"
            "def total(): return float(F['a'].sum())\n"
        },
        ["from core import F, total", "F.loc[0, 'a'] = 5", "y = total()"],
        "(y, total(), __import__('core').F is F)",
    ),
    "a module that was imported twice": Case(
        {"state.py": STATE},
        [
            "from state import items",
            "import importlib, state\nimportlib.reload(state)\nstate.items.append({1})",
            "items.append({2})",
            "y = str(items), state.n()",
        ],
        "(y, state.n(), state.items is items)",
    ),
}


def _folder(path: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def _edited(cells: Sequence[str], place: int) -> list[str]:
    return [f"{cell}\nedited = {place}" if n == place else cell for n, cell in enumerate(cells)]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_notebook_ends_as_it_does_without_nbckpt(tmp_path: Path, case: Case) -> None:
    plain = run(_folder(tmp_path / "plain", case.files), case.cells, case.ask, mode="plain")
    kept = _folder(tmp_path / "kept", case.files)

    def answer(cells: Sequence[str]) -> Answer:
        found = run(kept, cells, case.ask, mode="skip")
        assert (found.value, found.errors) == (plain.value, [])
        assert "something other than a cell" not in found.said
        return found

    answer(case.cells)
    again = answer(case.cells)
    assert set(case.restored) <= set(again.restored)
    for place in range(len(case.cells)):
        answer(_edited(case.cells, place))
    answer(case.cells)


ASK = """(lambda m: [{held}, vars(m)["{name}"] is {name}])(__import__("{module}"))"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "held", "before", "after"),
    [
        ("registry", "REG", "sorted(REG)", [], ["alpha"]),
        ("instance", "CFG", "CFG.size", 1, 7),
        ("list", "items", "items", [], ["x"]),
    ],
)
def test_moves_bring_both_back(
    tmp_path: Path, kind: str, name: str, held: str, before: object, after: object
) -> None:
    files, cells, _, _ = CASES[kind]
    folder = _folder(tmp_path / "kept", files)
    module = next(iter(files)).partition(".")[0]
    ask = ASK.format(held=held, name=name, module=module)
    run(folder, cells[:2], "0", mode="skip")

    resumed = run(folder, ["%resume"], ask)
    back = run(folder, ["%resume", "%rewind cell-c0"], ask)
    moved = _folder(tmp_path / "moved", files)
    forth = run(moved, [*cells[:2], "%rewind cell-c0", "%rewind main"], ask, mode="skip")

    assert [a.value for a in (resumed, back, forth)] == [
        [after, True],
        [before, True],
        [after, True],
    ]
    assert "not restored" not in resumed.said + back.said + forth.said


def test_a_move_names_what_it_could_not_make_one(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "kept", {"core.py": "A = {1}\ndef get(a=A): return len(a)\n"})
    run(folder, ["from core import A, get", "A.add(2)"], "0", mode="skip")

    resumed = run(folder, ["%resume"], "__import__('core').A is A")

    assert resumed.value is True
    assert "core.A" in resumed.said
