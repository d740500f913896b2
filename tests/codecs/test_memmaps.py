"""Arrays on files that went another way since they were kept."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbckpt.session import Session


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of 9,000 numbers."""
    path = tmp_path / "data.bin"
    np.arange(9000.0).tofile(path)
    return path


def keep(session: Session, **values: object) -> None:
    session.namespace.update(values)
    session.checkpoint("kept")
    session.namespace.update(dict.fromkeys(values))


def test_a_map_to_read_whose_file_has_changed_is_refused_by_name(
    session: Session, path: Path
) -> None:
    keep(session, x=np.memmap(path, "f8", "r"), beside=[1])
    np.zeros(9000).tofile(path)

    moved = session.rewind("kept")

    assert session.namespace["beside"] == [1]
    assert [r.variable for r in moved.failed] == ["x"]
    assert moved.failed[0].reason == f"did not come back: its file {path} has changed since"


def test_a_map_to_read_whose_file_is_gone_is_refused_by_name(session: Session, path: Path) -> None:
    keep(session, x=np.memmap(path, "f8", "r"))
    path.unlink()

    moved = session.rewind("kept")

    assert f"its file {path} cannot be read as it was" in moved.failed[0].reason


@pytest.mark.parametrize("change", ["other", "gone", "short"])
def test_a_map_to_write_comes_back_in_memory_when_its_file_went_on(
    session: Session, path: Path, change: str
) -> None:
    made: Any = np.memmap(path, "f8", "r+")
    keep(session, x=made, part=made[10:20])
    del made
    if change == "other":
        np.ones(9000).tofile(path)
    elif change == "gone":
        path.unlink()
    else:
        np.ones(3).tofile(path)
    before = path.read_bytes() if path.exists() else None

    with pytest.warns(RuntimeWarning, match="'part', 'x' is in memory, not on its file"):
        session.rewind("kept")
    x: Any = session.namespace["x"]
    part: Any = session.namespace["part"]
    x[10] = -1

    assert type(x) is np.memmap
    assert x[11:].tolist() == list(range(11, 9000))
    assert part[0] == -1
    assert (path.read_bytes() if path.exists() else None) == before


def test_the_warning_comes_each_time(session: Session, path: Path) -> None:
    keep(session, x=np.memmap(path, "f8", "r+"))
    np.ones(9000).tofile(path)

    for _ in range(2):
        session.namespace["x"] = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            session.rewind("kept")

        assert len(caught) == 1


def test_a_map_to_write_goes_on_its_file_when_that_is_as_it_was(
    session: Session, path: Path
) -> None:
    keep(session, x=np.memmap(path, "f8", "r+"))

    session.rewind("kept")
    x: Any = session.namespace["x"]
    x[3] = 77
    x.flush()

    assert np.fromfile(path)[3] == 77
