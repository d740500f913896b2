"""`nbckpt status --json`: how a store is, for those who watch over it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbckpt.cli import main
from nbckpt.config.config_file import write_setting
from nbckpt.config.settings import Settings
from nbckpt.reports import health
from nbckpt.session.session import Session
from nbckpt.storage.store import Store
from nbckpt.verbs.calls import DAMAGED, DONE
from tests.session.scale_store import fill

MEMBERS = {
    "ok": bool, "problems": list, "nbckpt": str, "store": str, "format": int, "encrypted": bool,
    "size_bytes": int, "sizes": dict, "checkpoints": dict, "branches": int, "newest": dict,
    "sessions": dict, "failures": dict, "stale": dict, "pruned_at": type(None), "questions": int,
    "untrusted": dict, "disk": dict, "limits": dict, "unwritten": type(None),
}  # fmt: skip


def status(store: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """The exit status, and what was printed."""
    capsys.readouterr()
    code = main(["status", "--json", "--store", str(store)])
    return code, json.loads(capsys.readouterr().out)


def test_a_status_has_the_members_that_are_promised(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    session.namespace["x"] = np.zeros(100_000)
    session.checkpoint("a")
    session.wait()

    code, told = status(session.store.path, capsys)

    assert code == DONE
    assert {name: type(value) for name, value in told.items()} == MEMBERS
    assert all(f"``{name}``" in str(health.__doc__) for name in MEMBERS)
    assert (told["ok"], told["problems"], told["failures"]["count"]) == (True, [], 0)
    assert told["checkpoints"] == {"done": 1, "failed": 0, "partial": 0}
    assert (told["newest"]["name"], told["newest"]["branch"]) == ("a", "main")
    assert 0 <= told["newest"]["age_s"] < 60
    assert told["size_bytes"] == sum(told["sizes"].values())
    assert told["disk"]["free_bytes"] > 0


def test_a_session_is_alive_as_long_as_it_writes(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    session.checkpoint("a", sync=True)
    _, during = status(session.store.path, capsys)

    session.store.close()
    _, afterwards = status(session.store.path, capsys)

    assert during["sessions"] == {"alive": 1, "dead": 0}
    assert afterwards["sessions"] == {"alive": 0, "dead": 1}


def test_what_is_damaged_is_told_and_is_the_exit_status(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    session.checkpoint("a", sync=True)
    session.checkpoint("b", sync=True)
    session.store.close()
    (journal,) = (session.store.path / "journal").glob("*.jsonl")
    text = journal.read_bytes()
    middle = text.index(b'"name":"a"')
    journal.write_bytes(text[:middle] + b'"name":"z"' + text[middle + 10 :])

    code, told = status(session.store.path, capsys)

    assert code == DAMAGED
    assert not told["ok"]
    assert journal.name in told["problems"][0]


def test_failures_of_the_last_day_are_counted(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    session.settings = Settings(max_store_size=2_000)
    session.namespace["x"] = np.random.default_rng().bytes(100_000)
    with pytest.raises(Exception, match="max_store_size"):
        session.checkpoint("a")
    session.writes.record_event("note")
    session.wait()

    _, told = status(session.store.path, capsys)

    assert told["failures"]["count"] == 1
    assert told["failures"]["last"]["event"] == "not_kept"
    assert "max_store_size" in told["failures"]["last"]["error"]


def test_limits_are_told_with_the_room_that_is_left(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    session.checkpoint("a", sync=True)
    write_setting(session.store, "max_store_size", "1GB")

    _, told = status(session.store.path, capsys)

    assert told["limits"]["max_store_size"] == 1_000_000_000
    assert told["limits"]["room_bytes"] == 1_000_000_000 - told["size_bytes"]
    assert told["limits"]["max_value_size"] is None


def test_a_session_that_is_asked_tells_what_waits_for_the_disk(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%checkpoint a\nx = 1")
    capsys.readouterr()

    shell.run_cell("%nbckpt status --json")
    told = json.loads(capsys.readouterr().out)
    shell.run_cell("%nbckpt status")
    text = capsys.readouterr().out

    assert told["unwritten"] == {"bytes": 0, "checkpoints": 0, "refused": False}
    assert told["sessions"]["alive"] == 1
    assert "free on the disk" in text
    assert "sessions    1 at work, 0 ended" in text


def test_a_status_for_people_tells_the_same(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    session.checkpoint("a", sync=True)

    assert main(["status", "--store", str(session.store.path)]) == DONE

    text = capsys.readouterr().out
    assert "(format " in text
    assert "head        a just now" in text


def test_where_there_is_no_store_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--json", "--store", str(tmp_path / "none")]) == 2
    assert "there is no store at" in capsys.readouterr().err


@pytest.mark.long
def test_ten_thousand_checkpoints_take_less_than_a_second(tmp_path: Path) -> None:
    fill(tmp_path / "s", 10_000)

    began = time.process_time()  # others may have the machine
    session = Session(Store.open(tmp_path / "s"), {})
    told = health.health_of(session, Settings())
    took_s = time.process_time() - began

    assert told["checkpoints"]["done"] == 10_000
    assert took_s < 1
    session.store.close()
