"""Plain data of Python: atoms, containers, and how they hang together."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "Python: plain data"

CASES = (
    Case("`None`, `True`, `...`, `NotImplemented`", "x = [None, True, False, ..., NotImplemented]"),
)
