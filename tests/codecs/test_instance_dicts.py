"""Attributes of an instance that a variable holds as a dict, too."""

from __future__ import annotations

from typing import Any

import pytest

from nbckpt.session.session import Session

CLASS = "class C:\n    pass\n"

SHARED = {
    "empty": (f"{CLASS}c = C(); d = c.__dict__", "d['k'] = 5", "c.k"),
    "vars": (f"{CLASS}c = C(); c.k = 0; d = vars(c)", "c.k = 5", "d['k']"),
    "in a list": (f"{CLASS}c = C(); c.k = 0; d = [c.__dict__]", "c.k = 5", "d[0]['k']"),
    "a view": (f"{CLASS}c = C(); c.k = 0; d = vars(c).values()", "c.k = 5", "list(d)[0]"),
    "a method": (f"{CLASS}c = C(); d = vars(c).update", "d(k=5)", "c.k"),
    "slots": (
        "class C:\n    __slots__ = 's', '__dict__'\nc = C(); c.s = 1; d = vars(c)",
        "d['k'] = c.s + 4",
        "c.k",
    ),
    "frozen": (
        "import dataclasses\nC = dataclasses.make_dataclass('C', ['k'], frozen=True)\n"
        "c = C(0); d = vars(c)",
        "d['k'] = 5",
        "c.k",
    ),
    "a function": ("def c(): pass\nd = vars(c)", "d['k'] = 5", "c.k"),
    "a list": ("class C(list): pass\nc = C([1]); d = vars(c)", "d['k'] = 5", "c.k"),
    "holds itself": ("class C(dict): pass\nc = C(); c.__dict__ = c; d = vars(c)", "c.k = 5", "d.k"),
    "all share one": (
        "class C:\n    d = {}\n    def __init__(self): self.__dict__ = self.d\nc = C(); d = C()",
        "c.k = 5",
        "d.k",
    ),
    "shares its class's": (
        "class C:\n    d = {}\n    def __init__(self): self.__dict__ = self.d\nc = d = C()",
        "c.k = 5",
        "C.d['k']",
    ),
    "in a closure": (
        f"{CLASS}c = C()\ndef make(of):\n    return lambda: of['k']\nd = make(vars(c))",
        "c.k = 5",
        "d()",
    ),
    "of a class": (f"{CLASS}c = 0; d = [vars(C)]", "C.k = 5", "d[0]['k']"),
}


def kept_and_lost(session: Session, text: str) -> dict[str, Any]:
    """The namespace after a cell's variables were kept, lost and brought back."""
    session.namespace["__name__"] = "__main__"
    exec(text, session.namespace)
    session.checkpoint("kept")
    session.namespace.update(dict.fromkeys([n for n in ("C", "c", "d") if n in session.namespace]))
    session.rewind("kept")
    return session.namespace


@pytest.mark.parametrize(("before", "change", "seen"), SHARED.values(), ids=SHARED)
def test_they_stay_one_dict(session: Session, before: str, change: str, seen: str) -> None:
    back = kept_and_lost(session, before)

    exec(change, back)

    assert eval(seen, back) == 5


@pytest.mark.parametrize(
    "before",
    [
        "from types import SimpleNamespace\nc = SimpleNamespace(k=0); d = vars(c)",
        "class C:\n    def __setstate__(self, state): vars(self).update(state)\n"
        "c = C(); c.k = 0; d = vars(c)",
        "from types import ModuleType\nc = ModuleType('c'); d = vars(c)",
        "c = ValueError(1); d = vars(c)",
    ],
    ids=["namespace", "own state", "module", "exception"],
)
def test_what_makes_its_own_is_not_kept(session: Session, before: str) -> None:
    exec(before, session.namespace)

    checkpoint = session.checkpoint("kept")

    assert {"c", "d"} <= {refusal.variable for refusal in checkpoint.refused}


def test_instances_that_share_nothing_are_kept_apart(session: Session) -> None:
    exec(f"{CLASS}a = C(); a.k = 0; b = C(); b.k = 0", session.namespace)

    checkpoint = session.checkpoint("kept")

    manifest = session.timeline.manifest(checkpoint.id)
    assert manifest["a"].group == ("a",)
    assert manifest["a"].blob == manifest["b"].blob or manifest["b"].group == ("b",)
