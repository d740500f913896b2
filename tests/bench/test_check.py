"""What the check says of records that are given, and of what a limit's process answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.bench import floors
from tests.bench.check import (
    FULL,
    QUICK,
    REPEATS,
    CheckError,
    Verdict,
    judged,
    read_ratios,
    write_ratios,
)
from tests.bench.document import document_of
from tests.bench.figures import Figure, absences
from tests.bench.limits import LIMITS, ON_REQUEST
from tests.bench.rounds import ROOT, answer_of
from tests.bench.test_document import MACHINE

KEPT = {"names": {"python": {"a cell": 2.0}}}
Record = dict[str, Any]


def _limit(row_s: float, floor_s: float = 1.0, label: str = "a cell", **members: Any) -> Record:
    figure = Figure(label, "s", [row_s], floor="python", floor_s=floor_s)
    return {"kind": "limit", "measure": "names", "figure": figure.as_record(), **members}


def _judged(*records: Record, again: Sequence[float] = ()) -> tuple[Verdict, list[str]]:
    """The verdict where each repeat gives the next of `again`, and the limits that were repeated."""
    seconds, asked = iter(again), []

    def measure(limit: str) -> Iterator[Record]:
        asked.append(limit)
        yield _limit(next(seconds))

    return judged(records, KEPT, FULL, ["names"], measure if again else None), asked


@pytest.mark.parametrize(("ratio", "passes"), [(1.0, True), (2.59, True), (2.61, False)])
def test_a_row_fails_that_is_more_than_1_3_times_worse(ratio: float, passes: bool) -> None:
    verdict, _ = _judged(_limit(ratio))

    assert verdict.has_passed is passes
    assert ("WORSE" in verdict.text) is not passes


def test_a_slow_machine_is_not_a_worse_row() -> None:
    assert _judged(_limit(20.0, floor_s=10.0))[0].has_passed


def test_a_row_as_slow_as_ever_on_a_quicker_machine_is_worse() -> None:
    assert not _judged(_limit(2.0, floor_s=0.5))[0].has_passed


def test_a_row_that_looks_worse_is_measured_again_and_the_best_counts() -> None:
    verdict, asked = _judged(_limit(9.0), again=[8.0, 2.2])

    assert asked == ["names", "names"]
    assert verdict.has_passed
    assert "| a cell | python | 2 | 2.2 | 1.10 |  |" in verdict.text


def test_a_row_that_is_well_again_is_measured_no_more() -> None:
    assert _judged(_limit(9.0), again=[2.0, 2.0])[1] == ["names"]


def test_a_row_that_stays_worse_fails_after_all_repeats() -> None:
    verdict, asked = _judged(_limit(9.0), again=[9.0, 7.0, 2.0])

    assert len(asked) == REPEATS == 2
    assert "| a cell | python | 2 | 7 | 3.50 | WORSE |" in verdict.text
    assert not verdict.has_passed


def test_new_and_gone_rows_are_named_and_fail_nothing() -> None:
    kept = {**KEPT, "old": {"python": {"a row of a limit that was removed": 1.0}}}
    kept["names"] = {"python": {"a cell": 2.0, "a row that was": 1.0}}
    records = [_limit(2.0), _limit(9.0, label="a row that is")]

    verdict = judged(records, kept, FULL, ["names"])

    assert verdict.has_passed
    assert "new rows, held by nothing: a row that is." in verdict.text
    gone = "gone rows, held by nothing: a row that was; a row of a limit that was removed."
    assert gone in verdict.text


def test_rows_of_limits_that_were_not_asked_for_are_not_gone() -> None:
    kept = {**KEPT, "loops": {"python": {"a loop": 1.0}}}

    assert len(judged([_limit(2.0)], kept, FULL, ["names", "loops"]).rows) == 1


def test_a_row_held_against_another_floor_is_another_row() -> None:
    records = [_limit(2.0), _limit(2.0, label="other")]
    kept = {"names": {"python": {"a cell": 2.0}, "copy": {"other": 0.1}}}

    verdicts = [row.verdict for row in judged(records, kept, FULL, ["names"]).rows]

    assert verdicts == ["", "new", "gone"]


def test_a_package_that_is_not_installed_is_absent_and_fails_nothing() -> None:
    (absent,) = absences("a frame", ["json", "no_such_package"])
    records = [_limit(2.0), {"kind": "limit", "measure": "names", "figure": absent.as_record()}]
    kept = {"names": {"python": {"a cell": 2.0, "a frame": 1.0}}}

    verdict = judged(records, kept, FULL, ["names"])

    assert verdict.has_passed
    assert "| a frame | python | 1 |  |  | not installed: no_such_package |" in verdict.text
    assert "| a frame | not installed: no_such_package |" in document_of([MACHINE, *records])
    assert absences("a frame", ["json"]) == []


def test_a_limit_that_could_not_be_measured_fails() -> None:
    verdict, _ = _judged(_limit(2.0), {"kind": "failed", "measure": "loops", "why": "killed"})

    assert not verdict.has_passed
    assert "loops was not measured: killed" in verdict.text


def test_a_check_that_holds_nothing_is_an_error() -> None:
    with pytest.raises(CheckError, match="--keep-ratios"):
        _judged(_limit(2.0, label="another"))
    with pytest.raises(CheckError, match="'quick'"):
        judged([_limit(2.0)], KEPT, QUICK, ["names"])


def test_rows_without_a_floor_are_of_no_concern(tmp_path: Path) -> None:
    figures = [Figure("a peer", "s", [1.0]), Figure("stored", "B", [1.0])]
    records = [{"kind": "limit", "measure": "names", "figure": f.as_record()} for f in figures]

    write_ratios(tmp_path / "kept.json", [MACHINE, _limit(2.0), *records], FULL, of=max)

    assert read_ratios(tmp_path / "kept.json")[FULL] == KEPT


def test_what_is_kept_stays_by_size_and_limit(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    write_ratios(path, [MACHINE, _limit(1.0), _limit(9.0, size=QUICK)], FULL, of=max)
    write_ratios(path, [MACHINE, _limit(3.0, measure="loops")], FULL, of=max)
    write_ratios(path, [MACHINE, _limit(4.0, size=QUICK)], QUICK, of=max)
    write_ratios(path, [MACHINE, _limit(5.0), _limit(7.0)], FULL, of=max)

    kept = read_ratios(path)

    assert kept[QUICK] == {"names": {"python": {"a cell": 4.0}}}
    assert kept[FULL]["loops"] == {"python": {"a cell": 3.0}}
    assert kept[FULL]["names"] == {"python": {"a cell": 7.0}}
    assert list(kept) == sorted(kept)


def test_ratios_of_two_machines_are_not_mixed(tmp_path: Path) -> None:
    path, other = tmp_path / "kept.json", {**MACHINE, "cores": 64}
    write_ratios(path, [MACHINE, _limit(1.0)], FULL, of=max)

    with pytest.raises(CheckError, match="64 cores"):
        write_ratios(path, [other, _limit(3.0, measure="loops")], FULL, of=max)
    write_ratios(path, [other, _limit(3.0)], FULL, of=max)

    assert read_ratios(path)["machine"].startswith("64 cores")


def test_nothing_is_kept_where_a_limit_fails_or_no_row_has_a_floor(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    failed = {"kind": "failed", "measure": "loops", "why": "killed"}

    with pytest.raises(CheckError, match="loops: killed"):
        write_ratios(path, [MACHINE, _limit(1.0), failed], FULL, of=max)
    with pytest.raises(CheckError, match="floor"):
        write_ratios(path, [MACHINE], FULL, of=max)

    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "No such file"),
        ("{", "is not JSON"),
        ("[]", "names no machine"),
        ('{"machine": "m", "large": {}}', "'large'"),
        ('{"machine": "m", "full": {"names": {"python": {"a cell": 0}}}}', "'full'"),
        ('{"machine": "m", "full": {"names": {"python": {"a cell": NaN}}}}', "'full'"),
        ('{"machine": "m", "full": {"names": {"python": {"a cell": true}}}}', "'full'"),
        ('{"machine": "m", "full": {"names": {"a cell": 1}}}', "'full'"),
    ],
)
def test_a_bad_file_of_ratios_is_told(tmp_path: Path, text: str | None, complaint: str) -> None:
    path = tmp_path / "kept.json"
    if text is not None:
        path.write_text(text)

    with pytest.raises(CheckError, match=complaint):
        read_ratios(path)


def _command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.bench", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_the_command_keeps_ratios_and_exits_with_1_when_one_is_worse(tmp_path: Path) -> None:
    run, kept = tmp_path / "run.jsonl", tmp_path / "kept.json"
    record = _limit(2.0, measure=next(iter(LIMITS)))
    run.write_text("\n".join(json.dumps(r) for r in (MACHINE, record)))

    keeps = _command("--keep-ratios", "--from", run, "--ratios", kept)
    same = _command("--check", "--from", run, "--ratios", kept)
    kept.write_text(kept.read_text().replace("2.0", "1.5"))
    worse = _command("--check", "--from", run, "--ratios", kept)

    assert (keeps.returncode, same.returncode, worse.returncode) == (0, 0, 1), worse.stderr
    assert "| a cell | python | 1.5 | 2 | 1.33 | WORSE |" in worse.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--check", "--measures", "start"), "no limits, so they have no floors: start"),
        (("--check", "--only", "traps"), "leave --only out"),
        (("--check", "--keep-ratios"), "not allowed with"),
        (("--ratios", "kept.json"), "--check or --keep-ratios"),
        (("--check", "--ratios", "no/such.json"), "no/such.json: No such file"),
        (("--keep-ratios", "--from", "no/such.jsonl"), "no/such.jsonl"),
        (("--keep-ratios", "--from", os.devnull), "nothing to keep"),
    ],
)
def test_the_command_says_what_it_cannot_check(words: Sequence[str], complaint: str) -> None:
    done = _command(*words)

    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_floors_are_measured_between_rows_and_at_both_ends(tmp_path: Path) -> None:
    with floors.measured_in(tmp_path) as found:
        before = len(found.took[floors.COPY])
        floors.glance()  # a moment after the last one
        assert len(found.took[floors.COPY]) == before
        change = floors.pickle_of("a row", {"a": 1})
        found.measure()

    assert len(found.took[floors.COPY]) == 2 * floors.AT_EACH_END + 1
    assert len(found.took[change]) == floors.AT_EACH_END + 1
    assert all(value > 0 for values in found.took.values() for value in values)
    assert found.median_s(floors.DURABLE) == pytest.approx(
        found.median_s(floors.PYTHON) + found.median_s(floors.FDATASYNC)
    )
    floors.glance()  # none are open: nothing happens


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["names_around", "elements_appended_large"])
def test_a_limit_gives_each_of_its_rows_a_floor_of_the_same_process(limit: str) -> None:
    answer = answer_of(["tests.bench", "--one", limit, "--quick"], 300)

    measured = {floor["label"] for floor in answer["floors"]}
    held = [f for f in answer["figures"] if f["floor"]]
    assert {f["floor"] for f in held} <= measured
    assert held
    assert all(f["floor_s"] > 0 for f in held)


def test_limits_on_request_are_limits() -> None:
    assert LIMITS.keys() > ON_REQUEST
