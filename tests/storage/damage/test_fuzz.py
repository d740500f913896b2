"""Bytes that nobody wrote raise what is documented, soon, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.storage.damage import fuzz as fuzzing
from tests.storage.damage.fuzz import Findings, fuzz


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, with a user's own in it."""
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.slow
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


def test_the_fuzzer_ends_what_never_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reads_on(data: bytes, _folder: Path) -> None:
        while data:
            pass

    monkeypatch.setattr(fuzzing, "LONGEST_S", 0.05)
    findings = Findings()
    findings.run(reads_on, b"x", tmp_path)

    (place,) = findings.by_place
    assert place.startswith("reads_on: never ends at test_fuzz.py")


def test_the_fuzzer_finds_what_takes_the_processor_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reads_slowly(data: bytes, _folder: Path) -> None:
        began = time.process_time()
        while time.process_time() < began + 0.1:
            sum(data)

    monkeypatch.setattr(fuzzing, "SLOW_S", 0.05)
    findings = Findings()
    findings.run(reads_slowly, b"x", tmp_path)

    assert list(findings.by_place) == ["reads_slowly: took 0.1 s"]


def test_the_fuzzer_finds_what_takes_much_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peaks = iter([100, 100 + 2 * fuzzing.MOST_MIB])
    monkeypatch.setattr(fuzzing, "_peak_mib", lambda: next(peaks))

    def reads_much(data: bytes, _folder: Path) -> None: ...

    findings = Findings()
    findings.run(reads_much, b"x", tmp_path)

    assert list(findings.by_place) == [f"reads_much: took {2 * fuzzing.MOST_MIB} MiB"]
