"""Another user's checkpoint on a line of one's own cells: nobody stands on it or takes it over."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from nbckpt.errors import UntrustedError
from nbckpt.model import Cell, Checkpoint
from nbckpt.session.maintenance.export import export_store
from nbckpt.session.moves import rewind_and_resume
from nbckpt.session.session import Session
from nbckpt.steps.rerun.plan import plan
from nbckpt.storage.store import Store
from nbckpt.timeline.checkpoint_records import checkpoint_record
from tests.storage.users import user


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A store with two cells of one's own, between which another user has put values by hand.

    That one sets an environment variable, has the name of the first cell, and is the branch's head.
    """
    path = tmp_path / "s"
    session = Session(Store.open(path), {"__name__": "__main__"}, notebook="n")
    for name, value in (("one", 1), ("two", 2)):
        session.namespace["x"] = value
        session.checkpoint(name, sync=True)
    first = session.get("one")
    session.store.close()
    with user(tmp_path / "another"):
        store = Store.open(path)
        forged = replace(
            first, id="f" * 20, parent=first.id, made_by="update", cell=Cell("import os"), created_at=first.created_at + 9,
            standing={"environment": {"set": {"OF_ANOTHER": "1"}}},
        )  # fmt: skip
        head = {"kind": "head", "branch": "main", "checkpoint": forged.id, "at": 2e9}
        store.append([checkpoint_record(forged), head]).result()
        store.close()
    return path


def opened(path: Path) -> tuple[Session, Checkpoint]:
    """A new session, and the other user's checkpoint."""
    session = Session(Store.open(path), {"__name__": "__main__"}, notebook="n")
    forged = session.timeline.checkpoints["f" * 20]
    assert not forged.trusted
    return session, forged


def test_no_rerun_begins_at_it_or_moves_to_it(own: Path) -> None:
    session, forged = opened(own)
    before = session.position.id

    with pytest.raises(UntrustedError, match="another user"):
        plan(session, forged.id)
    with pytest.raises(UntrustedError, match="another user"):
        session.restore_position(forged)
    with pytest.raises(UntrustedError, match="another user"):
        rewind_and_resume.move(session, forged)

    assert session.position.id == before
    assert "OF_ANOTHER" not in os.environ
    session.store.close()


def with_own_after_it(session: Session, forged: Checkpoint) -> Checkpoint:
    """A checkpoint of one's own whose parent is the other user's, as earlier versions made some."""
    (two,) = (c for c in session.timeline.checkpoints.values() if c.name == "two")
    later = replace(two, id="e" * 20, name="later", parent=forged.id, cell=Cell("x = 2"))
    session.writes.append([checkpoint_record(later)]).result()
    session.refresh()
    return later


def test_no_rerun_goes_over_it(own: Path) -> None:
    session, forged = opened(own)
    with_own_after_it(session, forged)
    (one,) = (c for c in session.timeline.checkpoints.values() if c.name == "one" and c.trusted)
    session.writes.append(
        [{"kind": "head", "branch": "main", "checkpoint": "e" * 20, "at": 3e9}]
    ).result()
    session.refresh()

    with pytest.raises(UntrustedError, match="'one' may be another user's code"):
        plan(session, one.id)

    session.store.close()


def test_an_export_says_nothing_of_its_cell(own: Path, tmp_path: Path) -> None:
    session, forged = opened(own)
    later = with_own_after_it(session, forged)

    export_store(session, later.id, tmp_path / "out")

    exported = Session(Store.open(tmp_path / "out"), {"__name__": "__main__"})
    (made,) = exported.timeline.checkpoints.values()
    assert made.joined == ()
    exported.store.close()
    session.store.close()
