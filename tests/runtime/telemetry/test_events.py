"""What happens is told: in the journal and SQL, and by `logging`."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbckpt.config.settings import Settings
from nbckpt.errors import StoreError
from nbckpt.session.maintenance import trust_verb
from nbckpt.session.maintenance.prune_request import prune
from nbckpt.session.session import Session
from nbckpt.storage import disk
from nbckpt.storage.repairing import repair
from nbckpt.storage.store import Store
from nbckpt.timeline import events
from nbckpt.timeline.events import KINDS, outcome_of
from nbckpt.timeline.prune_retention import Retention
from tests.llm.asking import records_of
from tests.running import environment

SECRET = "sk-5b1e0a2f77d94c"


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What the loggers say, of any level."""
    with caplog.at_level(logging.DEBUG, "nbckpt"):
        yield caplog


def rows(session: Session, columns: str) -> list[tuple[Any, ...]]:
    """Of the events of a store, as SQL tells them."""
    found: list[tuple[Any, ...]] = session.sql(
        f'select {columns} from events order by "at"'
    ).fetchall()
    return found


def test_a_checkpoint_is_an_event_with_its_cost(session: Session) -> None:
    session.namespace["x"] = b"\x01\x02\x03" * 40_000

    session.checkpoint("a")

    ((event, outcome, duration_s, took_s, size, left_out),) = rows(
        session, "event, outcome, duration_s, took_s, size_bytes, left_out"
    )
    assert (event, outcome, left_out) == ("kept", "done", None)
    assert 0 < duration_s == took_s < 30
    assert 0 < size < 200_000


def test_a_checkpoint_that_adds_nothing_costs_no_bytes(session: Session) -> None:
    session.namespace["x"] = list(range(50_000))
    session.checkpoint("a")
    session.namespace["y"] = list(range(50_000))

    session.checkpoint("b")

    (first,), (second,) = rows(session, "size_bytes")
    assert first > 10_000
    assert second < first / 3


def test_what_cannot_be_kept_is_named_once(
    session: Session, told: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as connection:
        session.namespace |= {"x": 1, "connection": connection}
        session.checkpoint("a")
        session.namespace["x"] = 2
        session.checkpoint("b")
        session.wait()

    session.checkpoint("c", sync=True)  # whoever waits may be told before the loggers are
    assert rows(session, "outcome, left_out") == [
        ("partial", ["connection"]),
        *[("done", None)] * 2,
    ]
    assert [r.getMessage() for r in told.records if r.levelno == logging.WARNING] == [
        "left out of 'a': connection"
    ]


def test_moves_are_events_with_what_they_brought_back(session: Session) -> None:
    session.namespace["x"] = list(range(10_000))
    session.checkpoint("a")
    session.namespace["x"] = 2
    session.checkpoint("b")

    session.rewind("a")

    event, outcome, size, duration_s = rows(session, "event, outcome, size_bytes, duration_s")[-1]
    assert (event, outcome) == ("rewound", "done")
    assert size > 10_000
    assert duration_s > 0


def test_what_did_not_come_back_is_named(session: Session) -> None:
    session.namespace["x"] = list(range(100_000))
    session.checkpoint("a")
    session.namespace["x"] = 2
    session.checkpoint("b")
    session.wait()
    (pack,) = (session.store.path / "packs").glob("*.pack")
    damaged = bytearray(pack.read_bytes())
    damaged[100:5_000] = bytes(4_900)
    pack.write_bytes(damaged)
    store = Store.open(session.store.path)
    again = Session(store, {}, notebook="test")

    again.rewind("a")

    assert rows(again, "event, outcome, left_out")[-1] == ("rewound", "partial", ["x"])
    store.close()


@pytest.mark.slow
def test_a_restored_step_tells_what_it_saved_and_a_failed_one_that_it_failed(
    shell: Any, told: pytest.LogCaptureFixture
) -> None:
    from nbckpt.steps import current_session

    shell.run_cell("%%checkpoint slow\nimport time; time.sleep(0.3); x = 'text' * 1000")
    shell.run_cell("%%checkpoint slow\nimport time; time.sleep(0.3); x = 'text' * 1000")
    shell.run_cell(f"%%checkpoint bad\nraise ValueError('{SECRET}')")

    found = rows(current_session.session(), "event, name, outcome, size_bytes, saved_s")
    by_event = {row[0]: row[1:] for row in found}
    assert set(by_event) == {"kept", "ran", "restored", "failed"}
    assert by_event["restored"][:2] == ("slow", "done")
    assert by_event["restored"][2] > 10
    assert by_event["restored"][3] > 0.2
    assert by_event["failed"][:2] == ("bad", "failed")
    assert SECRET not in told.text
    assert "'slow' restored instead of run" in told.text


def test_a_logger_gets_facts_beside_the_words(
    session: Session, told: pytest.LogCaptureFixture
) -> None:
    session.namespace["x"] = SECRET
    draft = session.checkpoint("a")
    session.store.close()  # who waits for the disk is told before the loggers are

    (record,) = told.records
    facts = vars(record)
    assert (record.name, record.levelno) == ("nbckpt.checkpoint", logging.INFO)
    assert record.getMessage().startswith("checkpoint 'a' kept: ")
    assert (facts["nbckpt_event"], facts["nbckpt_outcome"]) == ("kept", "done")
    assert (facts["nbckpt_checkpoint"], facts["nbckpt_session"]) == (draft.id, session.id)
    assert facts["nbckpt_size_bytes"] > 0
    assert SECRET not in str(facts)


def test_what_the_disk_refuses_is_told_at_once_and_written_with_the_next_record(
    session: Session, told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.namespace["x"] = 1
    session.checkpoint("a", sync=True)
    session.namespace["x"] = 2
    with monkeypatch.context() as refusing:
        refusing.setattr(disk, "sync_data", _no_room)
        refusing.setattr("nbckpt.storage.journal.sync_data", _no_room, raising=False)
        refusing.setattr("nbckpt.storage.packs.sync_data", _no_room, raising=False)
        with pytest.raises(StoreError, match="the disk is full"):
            session.checkpoint("b", sync=True)

    session.namespace["x"] = 3
    session.checkpoint("c", sync=True)

    (error,) = [r.getMessage() for r in told.records if r.levelno == logging.ERROR]
    assert error.startswith("checkpoint 'b' NOT kept: the disk is full")
    assert [e["event"] for e in records_of(session, "event")] == [
        "kept",
        "kept",
        "kept",
        "not_kept",
    ]


def _no_room(_: int) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.slow
def test_without_a_handler_nothing_is_printed(tmp_path: Path) -> None:
    code = (
        "import socket, nbckpt\nc = socket.socket()\n"
        f"s = nbckpt.open({str(tmp_path / 's')!r}, globals())\ns.checkpoint('a')\ns.wait()"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )

    assert (done.stdout, done.stderr) == ("", "")


def test_each_event_can_be_told_of_whatever_it_lacks(told: pytest.LogCaptureFixture) -> None:
    for name in KINDS:
        events.tell({"kind": "event", "event": name, "at": 1.0})

    assert len(told.records) == len(KINDS)
    assert all(record.getMessage() for record in told.records)
    assert outcome_of({"event": "not_kept"}) != outcome_of({"event": "something of later"})


def test_a_trust_is_told_and_is_in_the_journal_of_a_session_that_has_one(
    session: Session,
    told: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    session.checkpoint("a", sync=True)
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "another user"))
    store = Store.open(session.store.path)
    other = Session(store, {}, notebook="other")
    other.checkpoint("b", sync=True)

    trust_verb.trust(store, other.timeline, session=other)

    (event,) = [e for e in records_of(other, "event") if e["event"] == "trusted"]
    assert event["checkpoints"] == 1
    assert event["records"] > 1
    assert f"trusted {event['records']} records" in told.text
    store.close()


def test_a_prune_is_told_with_what_it_freed(
    session: Session, told: pytest.LogCaptureFixture
) -> None:
    for n in range(3):
        session.namespace["x"] = bytes([n]) * 100_000
        session.checkpoint(f"c{n}")

    prune(session, Retention(keep_last=1))

    (event,) = [e for e in records_of(session, "event") if e["event"] == "pruned"]
    assert event["checkpoints"] == 2
    assert event["took_s"] > 0
    assert "pruned 2 checkpoints" in told.text


def test_a_repair_is_told_with_what_is_lost(
    session: Session, told: pytest.LogCaptureFixture
) -> None:
    session.namespace["x"] = bytes(range(256)) * 400
    session.checkpoint("a")
    session.store.close()
    (pack,) = (session.store.path / "packs").glob("*.pack")
    damaged = bytearray(pack.read_bytes())
    damaged[200:1_000] = bytes(800)
    pack.write_bytes(damaged)
    store = Store.open(session.store.path)

    repaired = repair(store)

    again = Session(store, {}, notebook="again")
    (event,) = [e for e in records_of(again, "event") if e["event"] == "repaired"]
    assert outcome_of(event) == ("partial" if repaired.lost else "done")
    assert event["mended"] == list(repaired.mended)
    assert "repaired the store in" in told.text
    store.close()


def test_a_defect_of_a_hook_is_an_event_without_its_text(
    shell: Any, told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbckpt.steps import current_session
    from nbckpt.steps.step import Step

    def finish(self: Step, *_: object, **__: object) -> None:
        raise RuntimeError(SECRET)

    with monkeypatch.context() as breaking:
        breaking.setattr(Step, "finish", finish)
        result = shell.run_cell("%%checkpoint a\nx = 1")
    shell.run_cell("%%checkpoint b\ny = 1")

    assert result.success
    (found,) = [
        row
        for row in rows(current_session.session(), "event, outcome, detail")
        if row[0] == "hook_failed"
    ]
    assert found[1] == "failed"
    assert "RuntimeError" in found[2]
    assert SECRET not in found[2] + told.text


def test_what_has_no_room_is_told_with_its_name(
    session: Session, told: pytest.LogCaptureFixture
) -> None:
    session.settings = Settings(max_store_size=1_000)
    session.namespace["x"] = bytes(range(256)) * 400

    with pytest.raises(StoreError, match="max_store_size"):
        session.checkpoint("large")

    (error,) = [r.getMessage() for r in told.records if r.levelno == logging.ERROR]
    assert error.startswith("checkpoint 'large' NOT kept: the store has")


def test_a_notebook_that_logs_everything_is_not_told_what_nbckpt_does(session: Session) -> None:
    code = (
        "import logging; logging.basicConfig(level=0)\n"
        "import nbckpt.timeline.events as _\n"
        "print(logging.getLogger('nbckpt.checkpoint').isEnabledFor(20))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
