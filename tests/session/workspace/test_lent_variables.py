"""What a module beside the notebook changes of a variable that it holds is kept."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbckpt.steps import current_session
from tests.notebooks import resumed, run

MODULE = """
kept = []
class Registry:
    all = []
    def __init__(self): self.held = {}
    def add(self, rows): self.held["rows"] = rows
registry = Registry()
def register(rows): kept.append(rows)
def register_parts(rows): kept.extend(rows[:3])
def of_class(rows): Registry.all.append(rows)
def closed(rows):
    global change
    def change(): rows[0].n = 1000
def bump():
    for rows in (*kept, *registry.held.values(), *Registry.all):
        (rows[0] if type(rows) is list else rows).n = 1000
def plain(x): return x
import functools
@functools.lru_cache
def cached(): bump()
class Base:
    def go(self): bump()
listeners = []
def on(call): listeners.append(call)
def fire():
    for call in listeners: call()
class Hook:
    all = []
    def __init_subclass__(cls): Hook.all.append(cls)
def hooks():
    for cls in Hook.all: cls().called()
def get(module): return __import__("importlib").import_module(module)
class Outer:
    class Inner:
        all = []
def inner(rows): Outer.Inner.all.append(rows)
def bump_inner(): Outer.Inner.all[0][0].n = 1000
"""
OBJECTS = """
class P:
    def __init__(self, n): self.n = n
objects = [P(n) for n in range(3000)]
other = [P(n) for n in range(30)]
"""


@pytest.fixture
def beside(auto: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A shell with a module beside the notebook."""
    (tmp_path / "lender.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    run(auto, "import lender")
    run(auto, OBJECTS)
    yield auto
    sys.modules.pop("lender", None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lends", "changes"),
    [
        ("lender.register(objects)", "lender.bump()"),
        ("lender.registry.add(objects)", "lender.bump()"),
        ("lender.of_class(objects)", "lender.bump()"),
        ("lender.register_parts(objects)", "lender.bump()"),
        ("lender.closed(objects)", "lender.change()"),
        ("f = lender.register; f(objects)", "from lender import bump; bump()"),
        ("def lend(): lender.register(objects)\nlend()", "def go(): lender.bump()\ngo()"),
        ("from lender import registry as r; r.add(objects)", "lender.bump()"),
        ("lender.kept.append(objects)", "lender.bump()"),
    ],
)
def test_what_a_module_changes_of_what_it_holds_is_kept(
    beside: Any, lends: str, changes: str
) -> None:
    run(beside, lends)
    run(beside, changes)
    run(beside, "y = 1")

    assert resumed(beside)["objects"][0].n == 1000


WAYS = {
    "an import in a function": "def f():\n    import lender\n    lender.bump()\nf()",
    "an import of a name in a function": "def f():\n    from lender import bump as b\n    b()\nf()",
    "an import that is undone": "import lender; lender.bump(); del lender",
    "a name that goes": "lender.bump(); lender = None",
    "importlib": "import importlib; importlib.import_module('len' + 'der').bump()",
    "an importer by another name": "from importlib import import_module as i; i('lender').bump()",
    "__import__": "__import__('lender').bump()",
    "sys.modules": "import sys; sys.modules['lender'].bump()",
    "sys.modules asked": "import sys; sys.modules.get('lender').bump()",
    "a cache": "c = lender.cached; del lender\nc()",
    "a partial": "import functools; p = functools.partial(lender.bump); del lender\np()",
    "a class derived": "class M(lender.Base): pass\nm = M()\ndel lender, M\nm.go()",
    "a bound method": "go = lender.Base().go; del lender\ngo()",
    "a table": "calls = {'go': [lender.bump]}; del lender\ncalls['go'][0]()",
    "an argument": "def f(go=lender.bump): go()\ndel lender\nf()",
    "a closure": "f = (lambda go: lambda: go())(lender.bump); del lender\nf()",
    "a vectorized function": "import numpy as np; v = np.vectorize(lambda n: lender.bump())\nv([1])",
    "getattr": "getattr(lender, 'bu' + 'mp')()",
    "a checkpoint's cell": "%%checkpoint last\nlender.bump(); lender = None",
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_cell_is_seen_to_reach_a_module(beside: Any, way: str) -> None:
    run(beside, "lender.register(objects)")
    for cell in WAYS[way].split("\n") if "def f" not in WAYS[way] else [WAYS[way]]:
        run(beside, cell) if not cell.startswith("%%") else run(beside, WAYS[way])
        if cell.startswith("%%"):
            break
    run(beside, "y = 1")

    assert resumed(beside)["objects"][0].n == 1000


LENT = {
    "under a name that goes": ["alias = objects", "lender.register(alias)", "alias = None"],
    "under a name of a loop": [
        "both = [objects, other]",
        "for t in both: lender.register(t)",
        "del both, t",
    ],
    "moved to another name": [
        "lender.register(objects); moved = objects; del objects",
        "objects = moved; del moved",
    ],
    "by code that is not known": ["exec('lender.register(objects)')"],
    "after the module was asked": [
        "alias = objects",
        "lender.plain(alias)",
        "lender.register(alias); del alias",
    ],
    "by a function that goes": ["from lender import register", "register(objects); del register"],
    "in what a cell cannot keep": [
        "alias = (x for x in objects)",
        "lender.register(objects)",
        "del alias",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("way", LENT)
def test_a_variable_is_known_to_be_lent(beside: Any, way: str) -> None:
    for cell in [*LENT[way], "other = 1", "lender.bump()", "y = 1"]:
        run(beside, cell)

    assert resumed(beside)["objects"][0].n == 1000


CALLED = {
    "a function": ["def change(): objects[0].n = 1000", "lender.on(change)", "lender.fire()"],
    "a lambda": ["lender.on(lambda: setattr(objects[0], 'n', 1000))", "lender.fire()"],
    "a method": ["class C:\n    def m(self): objects[0].n = 1000", "lender.on(C().m)", "lender.fire()"],
    "a class": ["class D(lender.Hook):\n    def called(self): objects[0].n = 1000", "del D", "lender.hooks()"],
    "a closure": ["def make(rows):\n    def f(): rows[0].n = 1000\n    return f", "lender.on(make(objects))", "lender.fire()"],
    "a class inside another": ["lender.inner(objects)", "lender.bump_inner()"],
    "another module": ["other_module = lender.get('lend' + 'er')", "lender.register(objects)", "other_module.bump()"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("way", CALLED)
def test_what_a_module_calls_of_the_notebook_is_known(beside: Any, way: str) -> None:
    for cell in [*CALLED[way], "y = 1"]:
        run(beside, cell)

    assert resumed(beside)["objects"][0].n == 1000


@pytest.mark.slow
def test_what_an_array_of_objects_holds_is_lent(beside: Any) -> None:
    run(beside, "import numpy as np; table = np.array([objects[0], None]); first = objects[0]")
    run(beside, "lender.kept.append(table)")
    run(beside, "def change(): lender.kept[0][0].n = 1000")
    run(beside, "change()")
    run(beside, "y = 1")

    assert resumed(beside)["objects"][0].n == 1000


ODD = {
    "labels of a module": "globals()[1] = [2]; globals()[(2,)] = kept",
    "labels of a class": "class Odd: pass\nOdd = type('Odd', (), {1: [2], 'x': 3})",
    "a class without a module": """
class Meta(type):
    @property
    def __module__(cls): raise RuntimeError
class Odd(metaclass=Meta): pass
""",
    "what stands in its place": """
import sys
class Place:
    def __init__(self): self.kept = kept
    def __getattr__(self, name): raise RuntimeError(name)
    def register(self, rows): self.kept.append(rows)
    def bump(self): self.kept[0][0].n = 1000
    def plain(self, x): return x
sys.modules[__name__] = Place()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_module_stops_no_cell(
    auto: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, odd: str
) -> None:
    (tmp_path / "odd_one.py").write_text(MODULE + ODD[odd])
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        for cell in ("import odd_one as lender", OBJECTS, "lender.register(objects)", "y = 1"):
            run(auto, cell)
        run(auto, "lender.bump()")
        run(auto, "z = 1")

        assert resumed(auto)["objects"][0].n == 1000
    finally:
        sys.modules.pop("odd_one", None)
    assert "defect" not in capsys.readouterr().err


@pytest.mark.slow
def test_an_odd_result_stops_no_cell(auto: Any, capsys: Any) -> None:
    run(auto, OBJECTS)
    run(auto, "odd = type('M', (type,), {'__module__': property(lambda s: 1 / 0)})('Q', (), {})")
    run(auto, "Out[(1,)] = odd; Out['x'] = objects; Out[3] = odd(); del odd")
    run(auto, "Out['x'][0].n = 1000")
    run(auto, "y = 1")

    assert resumed(auto)["objects"][0].n == 1000
    assert "defect" not in capsys.readouterr().err


@pytest.mark.slow
def test_what_it_does_not_hold_is_not_looked_at(
    beside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(beside, "lender.plain(objects)")
    run(beside, "lender.register(other)")
    tracker = current_session.session().workspace.tracker
    touched: list[set[str]] = []
    note = tracker.touched

    def noted(names: Any) -> None:
        touched.append(set(names or ()))
        note(names)

    monkeypatch.setattr(tracker, "touched", noted)

    run(beside, "lender.bump()")

    assert any("other" in names for names in touched)
    assert not any("objects" in names for names in touched)
