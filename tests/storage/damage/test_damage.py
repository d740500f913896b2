"""Whatever byte of a store is flipped, cut or missing: it is told, and costs what it hit."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbckpt.storage.mark_repair import mend_mark
from nbckpt.storage.repairing import repair
from nbckpt.storage.store import Store
from tests.running import environment
from tests.storage.damage.everything import make_everything
from tests.storage.damage.harming import Harm, harmed, harms, wrongs
from tests.storage.damage.reading import Error, Found, find_all

MANY = 10_000
QUICK = 40
REPAIRS = 10
MOST_MEMORY_KIB = 400 << 10


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store with everything in it; who harms it gives it back as it was."""
    path = tmp_path_factory.mktemp("made") / ".nbckpt"
    make_everything(path)
    before = {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}
    yield path
    assert {p: p.read_bytes() for p in path.rglob("*") if p.is_file()} == before


@pytest.fixture(scope="module")
def whole(made: Path) -> Found:
    """What a reader finds in it."""
    found = find_all(made)
    assert found.report is not None
    assert found.report.problems == ()
    assert not found.told
    assert not [what for what, answer in found.things.items() if isinstance(answer, Error)]
    return found


def peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def tried(path: Path, whole: Found, done: list[Harm]) -> list[str]:
    """What is wrong with what a new reader finds then."""
    with harmed(path, done):
        return wrongs(whole, find_all(path), done)


def all_wrong(path: Path, whole: Found, seed: int, count: int) -> dict[Harm, list[str]]:
    before = peak_kib()
    found = ((harm, tried(path, whole, [harm])) for harm in harms(path, seed, count))
    wrong = {harm: told for harm, told in found if told}
    assert peak_kib() - before < MOST_MEMORY_KIB
    return wrong


@pytest.mark.slow
def test_a_damage_is_told_or_costs_nothing(made: Path, whole: Found) -> None:
    assert all_wrong(made, whole, 1, QUICK) == {}


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10, 20))
def test_ten_thousand_damages_are_told_or_cost_nothing(made: Path, whole: Found, seed: int) -> None:
    assert all_wrong(made, whole, seed, MANY // 10) == {}


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_damages_at_once_are_told_as_well(made: Path, whole: Found) -> None:
    pairs = zip(harms(made, 2, 1000), harms(made, 3, 1000), strict=True)
    found = {(a, b): tried(made, whole, [a, b]) for a, b in pairs}

    assert {pair: told for pair, told in found.items() if told} == {}


# -- repairs


def worse(before: Found, after: Found) -> list[str]:
    """What was readable before a repair, and is not, or is another."""
    return [
        f"{what}: {answer} became {after.things.get(what)}"
        for what, answer in before.things.items()
        if not isinstance(answer, Error) and after.things.get(what) != answer
    ]


def repaired(path: Path) -> list[str]:
    """What is wrong with what a repair makes of a store."""
    before = find_all(path)
    mend_mark(path)
    store = Store.open(path, create=False)
    repair(store)
    store.close()
    after = find_all(path)
    store = Store.open(path, create=False)
    again = repair(store)
    store.close()
    assert after.report is not None
    wrong = worse(before, after)
    wrong += [f"still {p}" for p in after.report.problems if p.kind == "damaged"]
    wrong += [f"mended twice: {told}" for told in again.mended]
    return wrong


def all_repaired(path: Path, folder: Path, seed: int, count: int) -> dict[Harm, list[str]]:
    wrong = {}
    for harm in harms(path, seed, count):
        copy = shutil.copytree(path, folder / "copy")
        with harmed(copy, [harm]):
            if told := repaired(copy):
                wrong[harm] = told
        shutil.rmtree(copy)
    return wrong


def test_a_repair_takes_nothing_and_leaves_no_damage(
    made: Path, whole: Found, tmp_path: Path
) -> None:
    assert all_repaired(made, tmp_path, 4, REPAIRS) == {}


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_thousand_repairs_take_nothing_and_leave_no_damage(
    made: Path, whole: Found, tmp_path: Path
) -> None:
    assert all_repaired(made, tmp_path, 5, 1000) == {}


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.slow
def test_a_repair_that_is_killed_anywhere_takes_nothing_and_is_made_up_for(
    tmp_path: Path, every: int
) -> None:
    command = [sys.executable, "-m", "tests.storage.damage.dying", str(tmp_path), str(every)]

    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    *wrong, steps = done.stdout.splitlines()
    assert wrong == []
    assert int(steps.split()[0]) > 30
