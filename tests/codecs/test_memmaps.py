"""Arrays on files that went another way since they were kept."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbckpt.session.session import Session


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


SHORT = {
    "an array": "x = np.memmap(path, 'f8', 'r+')",
    "a part of it in a dict": "x = {'part': np.memmap(path, 'f8', 'r')[10:]}",
    "one that was loaded": "x = np.load(saved, mmap_mode='r')",
    "a frame on it": "x = pd.DataFrame(np.load(saved, mmap_mode='r+').reshape(-1, 3), copy=False)",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", SHORT)
def test_nothing_is_read_behind_the_end_of_a_shortened_file(
    what: str, path: Path, tmp_path: Path
) -> None:
    """In a process of its own: it would end by SIGBUS."""
    np.save(tmp_path / "saved.npy", np.ones(90_000))
    path.write_bytes(bytes(720_000))
    source = f"""
import os, sys
import numpy as np, pandas as pd
from pathlib import Path
from nbckpt.session.session import Session
from nbckpt.storage.store import Store
from nbckpt.fingerprint.keys import key_of
path, saved = {str(path)!r}, {str(tmp_path / "saved.npy")!r}
{SHORT[what]}
names = {{"x": x, "other": [1]}}
session = Session(Store.open(Path({str(tmp_path / "s")!r})), names)
session.checkpoint("one", sync=True)
for each in (path, saved):
    os.truncate(each, 100)
session.checkpoint("two", sync=True)
session.workspace.digests_of(["x", "other"])
print([r.variable for r in session.workspace.capturer.refusals()], sorted(session.workspace.capturer.kept_names()))
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("['x'] ["), done.stdout
    assert "'other'" in done.stdout
