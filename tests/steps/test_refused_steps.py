"""A step that a full disk does not let begin: its code runs as if nbckpt were not there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import UsageError
from nbckpt.steps import current_session
from tests.mounts import mounted

SETUP = [
    "import nbckpt, os",
    "seen = []\ndef square(n):\n    seen.append(n)\n    return n * n",
    "async def later(n):\n    return square(n)",
    "%checkpoint before",
    "new = os.urandom(3_000_000)",  # what the disk has no room for
]
GONE_THROUGH = {
    "track": ("for n in nbckpt.track([1, 2, 3]):\n    square(n)", [1, 2, 3]),
    "map": ("assert nbckpt.map(square, [1, 2, 3]) == [1, 4, 9]", [1, 2, 3]),
    "threads": ("assert nbckpt.map(square, [1, 1], workers=2) == [1, 1]", [1, 1]),
    "tasks": ("assert await nbckpt.map(later, [2, 3], workers=2) == [4, 9]", [2, 3]),
    "collected": (
        "done, failed = nbckpt.map(lambda n: 1 // square(n), [1, 0], errors='collect')\n"
        "assert done == [1, None] and failed[0].type == 'ZeroDivisionError'",
        [1, 0],
    ),
    "nested": (
        "for n in nbckpt.track([1, 2]):\n    for m in nbckpt.track([n]):\n        square(m)",
        [1, 2],
    ),
}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Where the store will be: a file system of two megabytes."""
    folder = tmp_path / ".nbckpt"
    with mounted(folder, "-t", "tmpfs", "-o", "size=2m", "tmpfs"):
        yield folder


@pytest.fixture
def full(disk: Path, shell: Any) -> Any:
    """A shell in which no step can begin."""
    for source in SETUP:
        assert shell.run_cell(source).success
    return shell


def error_of(result: Any) -> BaseException | None:
    error: BaseException | None = result.error_before_exec or result.error_in_exec
    return error


def names() -> list[str]:
    return [c.name for c in current_session.session().timeline.checkpoints.values()]


@pytest.mark.parametrize("how", GONE_THROUGH)
def test_a_cell_goes_through_its_items_and_keeps_nothing(
    full: Any, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    code, items = GONE_THROUGH[how]

    result = full.run_cell(f"%%checkpoint refused\nsize = len(new)\n{code}")

    assert error_of(result) is None
    assert sorted(full.user_ns["seen"]) == sorted(items)
    said = capsys.readouterr()
    assert (said.out + said.err).count("runs without a checkpoint: the disk is full") == 1
    assert "NOT kept" not in said.out + said.err
    assert "refused" not in names()
    assert full.run_cell("nbckpt.map(lambda n: n, [1])").result == [1]
    assert full.run_cell("[n for n in nbckpt.track([1])]").result == [1]


@pytest.mark.slow
def test_when_there_is_room_again_the_same_cell_is_kept(
    full: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (
        "%%checkpoint refused\nsize = len(new)\nsums = nbckpt.map(lambda n: n * n, range(3))\n"
        "for n in nbckpt.track([1, 2]):\n    sums.append(n)"
    )
    assert full.run_cell(source).success
    full.run_cell("new = new[:1000]")
    assert full.run_cell(source).success
    capsys.readouterr()

    assert full.run_cell(source).success
    assert "restored 'refused'" in capsys.readouterr().out
    assert full.user_ns["sums"] == [0, 1, 4, 1, 2]


@pytest.mark.slow
def test_an_error_in_a_refused_cell_is_the_users_and_ends_it(full: Any) -> None:
    source = "%%checkpoint refused\nfor n in nbckpt.track([1, 0]):\n    len(new) // n"

    assert isinstance(error_of(full.run_cell(source)), ZeroDivisionError)
    assert full.run_cell("[n for n in nbckpt.track([1])]").result == [1]


@pytest.mark.slow
def test_a_block_goes_through_its_items_and_what_follows_it_runs(
    full: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (
        "with nbckpt.checkpoint('refused') as step:\n"
        "    for n in step.track([1, len(new) - 3_000_000]):\n        square(n)\n"
        "    sums = step.map(square, [2])\n"
        "after = sums"
    )

    assert error_of(full.run_cell(source)) is None
    assert full.user_ns["seen"] == [1, 0, 2]
    assert full.user_ns["after"] == [4]
    said = capsys.readouterr()
    assert "block 'refused' runs without a checkpoint: the disk is full" in said.out + said.err
    full.run_cell("new = b''")
    assert full.run_cell("%checkpoint next").success
    full.run_cell("seen = sums = 0")
    assert full.run_cell("%rewind next").success
    assert full.user_ns["seen"] == [1, 0, 2]
    assert isinstance(error_of(full.run_cell("step.map(square, [1])")), UsageError)


@pytest.mark.slow
def test_a_script_is_warned_of_a_block_that_is_not_kept(disk: Path, tmp_path: Path) -> None:
    script = (
        "import nbckpt, os\n"
        "nbckpt.open('.nbckpt', namespace=globals())\n"
        "new = os.urandom(3_000_000)\n"
        "with nbckpt.checkpoint('refused') as step:\n"
        "    if step.todo:\n"
        "        done = [n for n in step.map(len, [new])]\n"
        "print(done)\n"
    )
    (tmp_path / "script.py").write_text(script)

    ran = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "[3000000]\n"
    assert "block 'refused' runs without a checkpoint: the disk is full" in ran.stderr
