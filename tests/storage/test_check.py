"""Check names what is damaged, missing or unreachable, and whom it costs."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest

from nbckpt.digests import digest_of
from nbckpt.storage.check import _Check, check
from nbckpt.storage.check_report import Problem
from nbckpt.storage.store import Store


def checkpoint(n: int, *blobs: str, outputs: str | None = None) -> dict[str, object]:
    changed = [{"name": f"v{i}", "blob": blob} for i, blob in enumerate(blobs)]
    record = {"kind": "checkpoint", "id": f"id{n}", "name": f"step {n}", "created_at": float(n)}
    return {**record, "changed": changed, **({"outputs": outputs} if outputs else {})}


def pack_of(store: Store) -> Path:
    (pack,) = (store.path / "packs").iterdir()
    return pack


def test_a_sound_store_has_no_problems_and_is_counted(store: Store) -> None:
    blob, outputs = store.put_blob([b"x", bytearray(600_000)]), store.put_blob([b"printed"])
    store.append([checkpoint(1, blob, outputs=outputs)]).result()

    report = check(store.path)

    assert report.ok
    assert report.problems == ()
    assert (report.journals, report.records, report.packs, report.blobs) == (1, 2, 1, 2)
    assert report.chunks == 6
    assert report.size_bytes == pack_of(store).stat().st_size


def test_a_pack_that_is_gone_is_told_once(store: Store) -> None:
    for n in range(3):
        store.append([checkpoint(n, store.put_blob([b"%d" % n]))]).result()
    pack = pack_of(store)
    pack.unlink()

    first, *others = check(store.path).problems

    assert (first.kind, first.where) == ("missing", f"pack {pack.stem}")
    assert [problem.where.split()[0] for problem in others] == ["chunk"] * 3


def test_bytes_that_no_record_names_are_unreachable(store: Store) -> None:
    store.put_blob([bytes(range(256))])
    store.append([checkpoint(1)]).result()
    store.put_blob([b"y" * 5000])

    report = check(store.path)

    assert report.ok
    assert [problem.kind for problem in report.problems] == ["unreachable", "unreachable"]
    assert "2 chunks, 309 bytes, that no checkpoint names" in report.problems[1].what


def test_a_blob_that_is_nowhere_is_missing_by_name(store: Store) -> None:
    nowhere = digest_of(b"nowhere")
    store.append([checkpoint(1, nowhere), checkpoint(2, nowhere)]).result()

    (problem,) = check(store.path).problems

    assert problem == Problem(
        "missing",
        f"chunk {nowhere}",
        "variable 'v0' of checkpoint 'step 1' (id1) and 1 more",
    )
    assert str(problem).startswith(f"missing: chunk {nowhere}: variable 'v0'")


def test_a_chunk_that_is_taken_for_a_blob_is_damage(store: Store) -> None:
    store.put_blob([b"a chunk"])
    store.append([checkpoint(1, digest_of(b"a chunk"))]).result()

    kinds = {(problem.kind, problem.where[:5]) for problem in check(store.path).problems}

    assert kinds == {("damaged", "blob "), ("unreachable", "pack ")}


def test_records_of_kinds_to_come_may_name_blobs_too(store: Store) -> None:
    nowhere = digest_of(b"nowhere")
    store.append([{"kind": "recording", "at": 1.0, "blob": nowhere}]).result()

    (problem,) = check(store.path).problems

    assert (problem.kind, problem.what) == ("missing", "a record of kind 'recording'")


def test_a_name_that_is_no_digest_is_missing(store: Store) -> None:
    store.append([checkpoint(1, "not hex")]).result()

    (problem,) = check(store.path).problems

    assert (problem.kind, problem.where) == ("missing", "blob not hex")


def test_a_damaged_line_is_told(store: Store) -> None:
    store.append([checkpoint(1), checkpoint(2)]).result()
    (journal,) = (store.path / "journal").iterdir()
    journal.write_bytes(journal.read_bytes().replace(b"step 1", b"step 7"))

    (problem,) = check(store.path).problems

    assert problem.kind == "damaged"
    assert problem.where == f"journal {journal.name}, line 2"


@pytest.mark.parametrize("place", ["header", "index"])
def test_a_pack_that_does_not_describe_itself_is_told_and_nothing_in_it_is_missing(
    store: Store, place: str
) -> None:
    blob = store.put_blob([b"x" * 100])
    store.append([checkpoint(1, blob)]).result()
    data = bytearray(pack_of(store).read_bytes())
    data[3 if place == "header" else len(data) - 3] ^= 1
    pack_of(store).write_bytes(data)

    problems = check(store.path).problems

    assert {(problem.kind, problem.where[:5]) for problem in problems} == {("damaged", "pack ")}


@pytest.mark.slow
def test_a_store_is_checked_while_it_is_written(store: Store) -> None:
    deadline = time.monotonic() + 1.5
    reports = []
    n = 0

    while time.monotonic() < deadline:
        for _ in range(5):
            n += 1
            blob = store.put_blob([b"%d" % n, bytes([n % 256]) * 100_000])
            store.append([checkpoint(n, blob)])
        reports.append(check(store.path))

    assert all(report.ok for report in reports)
    assert reports[-1].records > 0


def test_a_journal_that_is_gone_is_named_even_if_no_other_tells_of_it(store: Store) -> None:
    store.put_blob([b"x" * 300])
    store.append([{"kind": "event", "at": 1.0, "event": "kept"}]).result()
    (journal,) = (store.path / "journal").iterdir()
    before = check(store.path)
    text = journal.read_bytes()
    journal.unlink()

    told = [str(problem) for problem in check(store.path).problems]
    journal.write_bytes(text)

    assert not any(journal.name in str(problem) for problem in before.problems)
    assert any(f"its journal, {journal.name}, is not there: it was deleted" in one for one in told)
    assert check(store.path).problems == before.problems


def test_a_file_that_a_prune_takes_while_it_is_looked_at_has_all_looked_at_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append([checkpoint(1, store.put_blob([b"value"]))]).result()
    looks: list[object] = []
    look = _Check._find_tables

    def look_late(self: _Check, *counted: Any) -> int:
        looks.append(self)
        if len(looks) == 1:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return look(self, *counted)

    monkeypatch.setattr(_Check, "_find_tables", look_late)

    assert check(store.path).problems == ()
    assert len(looks) == 2
