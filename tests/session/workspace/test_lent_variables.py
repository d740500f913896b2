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
