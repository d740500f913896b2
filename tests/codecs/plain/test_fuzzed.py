"""Blobs that nobody meant, by the thousand: each is refused or read, and none does anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def read_for(seed: int, seconds: float) -> str:
    """What became of the blobs that were read in so many seconds."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.codecs.plain.fuzz"]
    ended = subprocess.run(
        [*command, str(seed), str(seconds)],
        cwd=ROOT, capture_output=True, text=True, timeout=seconds + 120,
    )  # fmt: skip
    assert ended.returncode == 0, f"{ended.returncode}: {ended.stderr[-3000:]}"
    return ended.stdout


def test_no_blob_runs_anything_or_ends_the_process() -> None:
    told = read_for(20261121, 1.5)

    assert "UntrustedError" in told
    assert "FormatError" in told
    assert "restored" in told


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(3))
def test_none_does_for_minutes(seed: int) -> None:
    assert "UntrustedError" in read_for(seed, 200)
