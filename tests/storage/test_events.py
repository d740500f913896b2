"""Events of large journals stand as places, and are the records that small ones have."""

from __future__ import annotations

import errno
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbckpt.errors import FormatError
from nbckpt.model import Record
from nbckpt.session.history.costs import CostLedger
from nbckpt.session.session import Session
from nbckpt.storage import journal_follower, shelves
from nbckpt.storage.events import EventRun, Events
from nbckpt.storage.journal import whole_journal
from nbckpt.storage.line_signatures import Signer
from nbckpt.storage.store import Store

NAMES = ("ran", "kept", "restored", 'od"d\n')

Journals = dict[str, list[Record]]

events = st.builds(
    lambda name, at, took: {"kind": "event", "event": name, "at": at, "session": "s", **took},
    st.sampled_from(NAMES),
    st.floats(1.0, 9.0).map(lambda at: round(at, 1)),
    st.sampled_from([{}, {"took_s": 0.5}, {"text": "é,\\n"}]),
)
others = st.builds(
    lambda at: {"kind": "head", "branch": "main", "checkpoint": "c", "notebook": "", "at": at},
    st.floats(1.0, 9.0).map(lambda at: round(at, 1)),
)
journals = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.lists(events | others, max_size=12), max_size=3
)


def written(folder: Path, journals: Journals, change: Callable[[bytes], bytes]) -> Path:
    """A store with these journals, which its user has signed."""
    store = Store.open(folder)
    store.signers.look()
    for name, records in journals.items():
        if records:
            text = whole_journal(records, store.signers.of(name))
            (folder / "journal" / f"{name}.jsonl").write_bytes(change(text))
    store.close()
    return folder


def seen(folder: Path, *, shelved_bytes: int) -> dict[str, Any]:
    """The knowledge of a store that a process has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal_follower, "SHELVED_BYTES", shelved_bytes)
        store = Store.open(folder)
        store.refresh()
        found = store.events
        in_order = sorted(map(_as_text, found))  # of one time they may stand otherwise
        answer = {
            "events": in_order,
            "order": [e["at"] for e in found] if _are_apart(found) else None,
            "chosen": sorted(map(_as_text, found.chosen(("ran", 'od"d\n'), since=4.0))),
            "late": sorted(map(_as_text, found.chosen(start=3))) if _are_apart(found) else None,
            "heads": [dict(r) for r in store.records("head")],
            "damages": store.damages,
            "untrusted": store.trust.untrusted(),
            "lengths": (len(found), len(store.records("event")), len(found[1:])),
        }
        store.close()
    return answer


def _are_apart(found: Events) -> bool:
    """Whether no two stand at one time: one of a clock set back stands where it was set back."""
    places = found._columns.time
    return len(set(places)) == len(places)


def _as_text(record: Record) -> str:
    return repr(sorted(dict(record).items()))


@given(journals)
@example(
    {
        "a": [{"kind": "event", "event": "ran", "at": 3.0, "session": "s"}],
        "b": [
            {"kind": "event", "event": "ran", "at": 2.0, "session": "s"},
            {"kind": "head", "branch": "main", "checkpoint": "c", "notebook": "", "at": 3.0},
            {"kind": "event", "event": "ran", "at": 1.0, "session": "s"},
        ],
    }
)
def test_those_of_large_journals_are_those_of_small_ones(
    tmp_path_factory: pytest.TempPathFactory, journals: Journals
) -> None:
    folder = written(tmp_path_factory.mktemp("e") / "store", journals, lambda text: text)

    assert seen(folder, shelved_bytes=0) == seen(folder, shelved_bytes=1 << 20)


RECORDS = [
    {"kind": "event", "event": "ran", "at": 1.0 + i, "session": "s", "took_s": 0.1 * i}
    for i in range(6)
]


def _without(number: int) -> Callable[[bytes], bytes]:
    return lambda text: b"".join(
        line for n, line in enumerate(text.splitlines(keepends=True)) if n != number
    )


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "a flipped bit": lambda text: text.replace(b'"at":3.0', b'"at":3.5'),
    "a line that is gone": _without(2),
    "a line twice": lambda text: text + text.splitlines(keepends=True)[1],
    "a torn end": lambda text: text[:-5],
    "a line of nobody's": lambda text: text + Signer().line(
        '{"kind":"event","event":"ran","at":9.0,"session":"x"', 6, is_own=False
    ),
    "no event at all": lambda text: text + Signer().line('{"kind":"event","at":9.0', 6, is_own=False),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_damage_and_doubt_are_told_all_the_same(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    folder = written(tmp_path / "store", {"a": RECORDS}, change)

    large, small = (seen(folder, shelved_bytes=n) for n in (0, 1 << 20))

    assert large == small
    assert large["damages"] or large["untrusted"].records or large["lengths"][0] == 5


def test_what_comes_later_is_taken_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_follower, "SHELVED_BYTES", 0)
    reader = Store.open(tmp_path / "store")
    writer = Store.open(tmp_path / "store")
    for number in range(3):
        writer.append([RECORDS[number]])
        writer.wait()
        reader.refresh()
        assert [e["at"] for e in reader.events] == [1.0, 2.0, 3.0][: number + 1]
        assert [e["took_s"] for e in reader.events.chosen(start=number)] == [0.1 * number]
    writer.close()
    reader.close()


def test_a_run_costs_little_an_event(tmp_path: Path) -> None:
    import tracemalloc

    records = [{**RECORDS[0], "at": 1.0 + n} for n in range(20_000)]
    folder = written(tmp_path / "store", {"a": records}, lambda text: text)
    store = Store.open(folder)
    tracemalloc.start()
    store.refresh()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(store.events) == 20_000
    assert held / 20_000 < 100
    store.close()


def test_runs_that_overlap_are_put_in_order() -> None:
    found = Events()
    for times in ((1.0, 4.0, 6.0), (2.0, 3.0, 5.0)):
        run = EventRun(lambda offset: {"kind": "event", "event": "ran", "offset": offset})
        for at in times:
            run.add("ran", at, int(at))
        found.append(run, run.times[0])
    found.append({"kind": "event", "event": "kept", "at": 3.5}, 3.5)
    found.look_ends()

    assert [e["at"] for e in found] == [1.0, 2.0, 3.0, 3.5, 4.0, 5.0, 6.0]
    assert [e["event"] for e in found if e["at"] == 3.5] == ["kept"]
    assert [e.get("offset") for e in found.chosen(("ran",))] == [1, 2, 3, 4, 5, 6]
    assert found[-1]["at"] == 6.0


def test_of_a_clock_that_was_set_back_none_is_older_than_asked_for(tmp_path: Path) -> None:
    records = [{**RECORDS[0], "at": at} for at in (5000.0, 1000.0)]
    folder = written(tmp_path / "store", {"a": records}, lambda text: text)
    for shelved_bytes in (0, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal_follower, "SHELVED_BYTES", shelved_bytes)
            store = Store.open(folder)
            store.refresh()
            assert [e["at"] for e in store.events.chosen(since=4000.0)] == [5000.0]
            store.close()


@pytest.mark.parametrize("in_runs", [False, True])
def test_another_thread_may_read_while_new_ones_come(in_runs: bool) -> None:
    found = Events()
    stop, problems = threading.Event(), list[Exception]()

    def look() -> None:
        while not stop.is_set():
            try:
                if n := len(found):
                    assert found[n - 1]["event"] == "ran"
                    assert len([*found.chosen(("never",), start=n - 1)]) == 0
            except Exception as error:
                problems.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    reader = threading.Thread(target=look)
    reader.start()
    try:
        for n in range(3_000):
            if in_runs:
                run = EventRun(lambda offset: {"kind": "event", "event": "ran"})
                for at in (float(n), float(n) - 5):
                    run.add("ran", at, 0)
                found.append(run, float(n))
            else:
                found.append({"kind": "event", "event": "ran", "at": float(n)}, float(n))
            found.look_ends()
    finally:
        stop.set()
        reader.join()
        sys.setswitchinterval(before)

    assert problems == []


def test_what_a_disk_refuses_once_is_counted_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_follower, "SHELVED_BYTES", 0)
    monkeypatch.setattr(shelves, "FIRST_BYTES", 240)  # a line each time
    monkeypatch.setattr(shelves, "AHEAD_BYTES", 240)
    calls = [{**RECORDS[0], "event": "model_calls", "at": 1.0 + n, "replayed": 1} for n in range(9)]
    folder = written(tmp_path / "store", {"a": calls}, lambda text: text)
    session = Session(Store.open(folder), {})
    session.store.refresh()
    ledger, read_at, n_reads = CostLedger(), shelves.read_at, 0

    def refusing(fd: int, size: int, offset: int) -> bytes:
        nonlocal n_reads
        n_reads += 1
        if n_reads == 4:
            raise OSError(errno.EIO, "input/output error")
        return read_at(fd, size, offset)

    monkeypatch.setattr(shelves, "read_at", refusing)
    with pytest.raises(FormatError):
        ledger.take(session.store, session.timeline)
    ledger.take(session.store, session.timeline)

    assert ledger.total.replayed == 9
    session.store.close()
