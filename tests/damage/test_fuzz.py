"""Bytes that nobody wrote raise what is documented, soon, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.damage.fuzz import Findings, fuzz


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, with a user's own in it."""
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "home"))
    return tmp_path


def test_readers_of_bytes_that_nobody_wrote_raise_what_is_documented(folder: Path) -> None:
    assert fuzz(folder, 5.0, seed=1, runs=400).by_place == {}


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_readers_raise_what_is_documented_for_ten_minutes(folder: Path) -> None:
    assert fuzz(folder, 10.0, seed=2).by_place == {}


def test_the_fuzzer_finds_what_is_not_documented(tmp_path: Path) -> None:
    def reads_badly(data: bytes, _folder: Path) -> None:
        raise KeyError(data)

    findings = Findings()
    findings.run(reads_badly, b"x", tmp_path)

    (place,) = findings.by_place
    assert place.startswith("reads_badly: KeyError at test_fuzz.py")
