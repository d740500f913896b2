"""What libraries hold once, or tell by identity, is that one after a restore."""

from __future__ import annotations

import sys
import time
from types import ModuleType
from typing import Any

import pytest

from nbckpt.runtime import time_limit
from tests.notebooks import refusals, resumed, run

LIBRARY = """
class Action:
    def __init__(self, name): self.name = name
Shift, Reduce = Action("Shift"), Action("Reduce")
class Empty:
    pass
class Holder:
    _nothing = Empty()
    def has(self, value): return value is not self._nothing
class Sorted(dict):
    def __iter__(self): return iter(sorted(dict.keys(self)))
    def __reduce__(self): return make, ([*self.pairs()],)
    def pairs(self): return [(k, dict.__getitem__(self, k)) for k in self]
def make(pairs): return Sorted(pairs)
Native = type("Native", (), {"__module__": "builtins", "n": 4})
class Lazy:
    @property
    def __class__(self): raise OSError("asked before it is there")
class Client:
    def __init__(self): self.lazy = Lazy()
lazy, NOTHING = Lazy(), Empty()
"""


@pytest.fixture
def library(auto: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = ModuleType("constantslib")
    module.__spec__ = sys.__spec__
    exec(compile(LIBRARY, "/usr/lib/constantslib.py", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "constantslib", module)
    return auto


def test_what_compares_by_identity_is_the_one_that_its_module_holds(library: Any) -> None:
    run(
        library,
        """
        import constantslib as lib
        table = {"a": lib.Shift, "b": [lib.Reduce, lib.Action("Shift")]}
        held = lib.Holder(); value = [held._nothing]
        """,
    )

    assert refusals() == {}
    back = resumed(library)
    lib = sys.modules["constantslib"]
    assert back["table"]["a"] is lib.Shift
    assert back["table"]["b"][0] is lib.Reduce
    assert back["table"]["b"][1] is not lib.Shift  # the notebook's own
    assert not back["held"].has(back["value"][0])


@pytest.mark.slow
def test_a_proxy_that_a_library_has_is_not_asked_for_what_it_stands_for(library: Any) -> None:
    """`openai` 1.60 has them, and they want a key."""
    run(library, "import constantslib as lib\nclient = lib.Client(); value = [lib.NOTHING]")

    assert refusals() == {}
    back = resumed(library)
    assert type(back["client"].lazy) is sys.modules["constantslib"].Lazy
    assert back["value"] == [sys.modules["constantslib"].NOTHING]


def test_a_class_that_says_it_is_pythons_is_found_where_it_is(library: Any) -> None:
    run(library, "from constantslib import Native\nkinds = [Native, int]")

    assert refusals() == {}
    back = resumed(library)
    assert back["Native"] is back["kinds"][0] is sys.modules["constantslib"].Native
    assert back["kinds"][1] is int


def test_a_dict_with_an_order_of_its_own_is_the_same_in_another(library: Any) -> None:
    run(library, "import constantslib as lib\nv = lib.Sorted(); v['b'] = [1]; v['a'] = 2")

    assert refusals() == {}
    assert resumed(library)["v"].pairs() == [("a", 2), ("b", [1])]


def test_kinds_of_tokens_are_those_of_pygments(auto: Any) -> None:
    pygments = pytest.importorskip("pygments.token")
    run(auto, "from pygments.token import Keyword, Token\nv = [Keyword.Reserved, Token]")

    back = resumed(auto)["v"]
    assert back[0] is pygments.Keyword.Reserved
    assert back[1] is pygments.Token


@pytest.mark.slow
def test_an_engine_brings_no_compiled_statements(auto: Any) -> None:
    pytest.importorskip("sqlalchemy")
    run(
        auto,
        """
        import sqlalchemy as sa
        engine = sa.create_engine("sqlite:///s.db", poolclass=sa.NullPool)
        with engine.begin() as c:
            _ = c.execute(sa.text("create table t (a)"))
            n = c.execute(sa.select(sa.func.count()).select_from(sa.table("t"))).scalar()
        """,
    )
    assert len(auto.user_ns["engine"]._compiled_cache)

    assert refusals() == {}
    back = resumed(auto)
    assert len(back["engine"]._compiled_cache) == 0
    with back["engine"].connect() as connection:
        assert connection.execute(back["sa"].text("select count(*) from t")).scalar() == 0


def test_what_refers_to_a_class_that_is_refused_is_refused_with_it(auto: Any) -> None:
    run(
        auto,
        """
        class Never:
            def __reduce__(self): raise TypeError("never")
        class Refused:
            held = Never()
        alias, other = {"k": Refused}, [1]
        far = lambda: Refused
        """,
    )

    told = refusals()
    assert {"Refused", "alias"} <= told.keys()
    assert told["alias"] == "needs Refused, which cannot be kept"
    assert resumed(auto)["other"] == [1]


def test_a_search_for_what_can_be_written_instead_ends_in_time(auto: Any) -> None:
    """Each try makes another object that cannot be written."""
    run(
        auto,
        """
        import time
        class Never:
            def __reduce__(self):
                time.sleep(0.05)
                raise TypeError("never")
        class Makes:
            def __getstate__(self): return {"made": Never()}
        """,
    )
    time_limit.set_limit(0.5)
    began = time.monotonic()
    try:
        run(auto, "v = [Makes() for _ in range(3)]; other = [1]")
    finally:
        time_limit.set_limit(30.0)

    assert time.monotonic() - began < 30
    assert "v" in refusals()
    assert resumed(auto)["other"] == [1]
