"""A machine that loses its power at any instant keeps what was promised by then."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.storage.faults.power import Disk, Left, Named, Recorded, Synced, Write, states
from tests.storage.faults.promises import Run, all_verbs, from_nothing, require_kept, two_at_once
from tests.storage.faults.trying import Template, template

pytestmark = pytest.mark.sampled(7)

FEW = 8


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """A store with something of everything in it."""
    return template(tmp_path_factory.mktemp("made"))


RUNS: dict[str, Callable[[Path, Template], Run]] = {
    "a new store": lambda root, _: from_nothing(root),
    "all verbs": all_verbs,
    "two sessions and prunes": two_at_once,
}


def require_all(run: Run, seed: int, each: int, folder: Path) -> None:
    for _, _, told, left in states(run.recorded, seed, each):
        require_kept(run, told, left, folder)


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("what", RUNS)
def test_some_disks_that_a_power_cut_leaves_keep_what_was_promised(
    made: Template, tmp_path: Path, what: str
) -> None:
    run = RUNS[what](tmp_path / "run", made)
    all_of_them = list(states(run.recorded, 1, 2))

    for _, _, told, left in random.Random(3).sample(all_of_them, FEW):
        require_kept(run, told, left, tmp_path / "left")


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("what", RUNS)
def test_all_disks_that_a_power_cut_leaves_keep_what_was_promised(
    made: Template, tmp_path: Path, what: str, seed: int
) -> None:
    run = RUNS[what](tmp_path / "run", made)

    require_all(run, seed, 4, tmp_path / "left")


# -- the model of the disk


def recorded(tmp_path: Path) -> Recorded:
    (tmp_path / "root").mkdir()
    return Recorded(tmp_path / "root")


def lefts(log: list[Write | Named | Synced], tmp_path: Path, way: str) -> list[Left]:
    disk = Disk(recorded(tmp_path))
    for event in log:
        disk.take(event)
    return [disk.left(random.Random(seed), way) for seed in range(60)]


def test_what_was_synced_is_there_and_what_was_not_may_be(tmp_path: Path) -> None:
    log = [
        Named(".", "", "x", 7),
        Synced("."),
        Write(7, 0, b"safe"),
        Synced(7),
        Write(7, 4, b"!"),
        Write(7, 0, b"S"),
    ]

    found = {left.files["x"] for left in lefts(log, tmp_path, "some")}

    assert found == {b"safe", b"safe!", b"Safe", b"Safe!"}


def test_a_name_without_a_sync_of_its_folder_may_be_the_old_one(tmp_path: Path) -> None:
    log = [
        Named(".", "", "old", 7),
        Synced("."),
        Write(7, 0, b"x"),
        Synced(7),
        Named(".", "old", "new", 7),
    ]

    found = {tuple(left.files) for left in lefts(log, tmp_path, "some")}

    assert found == {("old",), ("new",)}


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("what", ["files", "folders"])
def test_a_store_that_did_not_sync_them_would_be_found_out(
    made: Template, tmp_path: Path, what: str
) -> None:
    run = two_at_once(tmp_path / "run", made)
    unsynced = int if what == "files" else str
    run.recorded.log[:] = [
        event
        for event in run.recorded.log
        if not (isinstance(event, Synced) and isinstance(event.what, unsynced))
    ]

    with pytest.raises(AssertionError):
        require_all(run, 1, 1, tmp_path / "left")
