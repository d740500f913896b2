"""Pruning that nobody asks for each time: by the settings, while the notebook is at rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nbckpt.config.config_file import write_setting
from nbckpt.errors import StoreError
from nbckpt.jupyter.automatic_prune import Retaining
from nbckpt.jupyter.shell import load, unload
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.check import check


def keep_some(session: Session, count: int) -> None:
    """A line of checkpoints, each with bytes of its own."""
    for n in range(count):
        session.namespace["values"] = [f"{n}-{i}" for i in range(500)]
        session.workspace.ran(None)
        session.checkpoint(f"c{n}")
    session.wait()


def names_in(session: Session) -> list[str]:
    session.wait()
    session.refresh()
    return [c.name for c in session.timeline.checkpoints.values()]


def test_a_store_is_pruned_when_it_is_loaded(shell: Any) -> None:
    keep_some(current_session.session(), 30)
    write_setting(current_session.session().store, "retention_count", "4")
    unload(shell)
    shell.reset(new_session=False)
    load(shell)

    session = current_session.session()

    assert names_in(session) == ["c26", "c27", "c28", "c29"]
    shell.run_cell("%resume")
    assert shell.user_ns["values"][0] == "29-0"
    assert shell.run_cell("%rewind c26").success
    assert check(session.store.path).ok


@pytest.mark.slow
def test_it_is_looked_at_once_in_a_minute_and_only_if_asked_for(session: Session) -> None:
    keep_some(session, 30)
    Retaining(session).look()
    assert len(names_in(session)) == 30

    session.settings = replace(session.settings, retention_count=4)
    retaining = Retaining(session)
    retaining.look()
    assert len(names_in(session)) == 4
    keep_some(session, 30)
    retaining.look()

    assert len(names_in(session)) == 34
    assert session.namespace["values"][0] == "29-0"


def test_a_prune_that_fails_is_told_once_and_raises_nowhere(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbckpt.storage import automatic_pruning

    def refuse(*_: object) -> None:
        message = "the disk is full"
        raise StoreError(message)

    monkeypatch.setattr(automatic_pruning, "automatic", refuse)
    monkeypatch.setattr("nbckpt.jupyter.automatic_prune.PAUSE_S", 0.0)
    session.settings = replace(session.settings, max_size=1)
    retaining = Retaining(session)

    retaining.look()
    retaining.look()
    session.wait()

    assert list(session.writes.news) == ["old checkpoints were not removed: the disk is full"]
