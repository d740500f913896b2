"""A long history is opened, shown and gone back in without decoding all of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nbckpt.reports.log import log_text
from nbckpt.reports.status import greeting
from nbckpt.session.session import Session
from nbckpt.storage.journal_lines import Unread
from nbckpt.storage.store import Store
from tests.session.scale_store import VARIABLES, fill

COUNT = 2_000


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    path = tmp_path_factory.mktemp("scale") / "store"
    return path, fill(path, COUNT)


@pytest.fixture
def filled(untouched: tuple[Path, list[str]], tmp_path: Path) -> tuple[Path, list[str]]:
    path, ids = untouched
    shutil.copytree(path, tmp_path / "store")
    return tmp_path / "store", ids


def decoded(store: Store) -> int:
    """How many checkpoints of a store were decoded whole."""
    records = store.records("checkpoint")
    assert len(records) >= COUNT
    assert sum(isinstance(record, Unread) for record in records) >= COUNT
    return sum(record.is_read for record in records if isinstance(record, Unread))


@pytest.mark.slow
def test_opening_decodes_no_checkpoint_but_the_head(filled: tuple[Path, list[str]]) -> None:
    session = Session(Store.open(filled[0]), {})

    text = greeting(session.timeline, session.position.branch, "")

    assert f"{COUNT} checkpoints" in text.replace(",", "")
    assert decoded(session.store) <= 1


def test_a_log_decodes_what_it_shows(filled: tuple[Path, list[str]]) -> None:
    session = Session(Store.open(filled[0]), {})

    text = log_text(session.timeline, "main", None, limit=100)

    lines = text.splitlines()
    assert len(lines) == 102
    assert lines[-1] == f"… and {COUNT - 100:,} older: `-n {COUNT}` shows all"
    assert decoded(session.store) == 100


@pytest.mark.slow
@pytest.mark.parametrize("ref", ["id", "name", "~5"])
def test_a_rewind_decodes_what_is_near(filled: tuple[Path, list[str]], ref: str) -> None:
    path, ids = filled
    session = Session(Store.open(path), {})
    target = ids[COUNT // 2] if ref == "id" else ids[-6]
    typed = session.timeline.checkpoints[target].name if ref == "name" else ref

    moved = session.rewind(target if ref == "id" else typed)

    assert moved.checkpoint.id == target
    assert session.namespace["total"] == ("total", ids.index(target))
    assert len(moved.came_back) == VARIABLES + 1
    assert decoded(session.store) < 100
    session.store.close()


@pytest.mark.slow
def test_a_resume_brings_all_back(filled: tuple[Path, list[str]]) -> None:
    path, ids = filled
    session = Session(Store.open(path), {})

    session.resume("main")

    newest = range(COUNT - VARIABLES, COUNT)
    assert session.position.id == ids[-1]
    assert session.namespace == {
        **{f"x{i % VARIABLES}": (f"x{i % VARIABLES}", i) for i in newest},
        "total": ("total", COUNT - 1),
    }
    assert decoded(session.store) < 100
    session.store.close()
