"""Export: one checkpoint becomes a store of its own, whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import nbckpt
from nbckpt.cli import main
from nbckpt.errors import CheckpointNotFoundError, StoreError, UntrustedError, UsageError
from nbckpt.session.maintenance.export import Exported, export_store
from nbckpt.session.maintenance.export_verb import export
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage import file_calls
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.running import environment

MAKE = """
class Model:
    def __init__(self, k):
        self.k = k

def twice(n):
    return 2 * n
"""


@pytest.fixture
def kept(session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Session:
    """A line `load`, `train`, `late` with values that are plain and values that are code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NBCKPT_STORE", raising=False)
    space = session.namespace
    space["numbers"] = np.random.default_rng(1).random(40_000)
    space["view"] = space["numbers"][100:200]  # type: ignore[index]
    space["frame"] = pd.DataFrame({"n": [1, 2, 3], "s": ["x", "y", "z"]})
    space["gone"] = "soon"
    session.checkpoint("load")
    exec(MAKE, space)
    space["model"] = space["Model"](3)  # type: ignore[operator]
    space["words"] = ["a", {"b": (1, None)}]
    space["numbers"][0] = 5.0  # type: ignore[index]
    del space["gone"]
    session.workspace.tracker.touched(["numbers", "view", "gone"])
    session.checkpoint("train", note="the good one", tags=["best"])
    space["late"] = 1
    session.checkpoint("late")
    session.wait()
    return session


def opened(path: Path) -> Session:
    """A new session on a store, which is sound, with everything of its head."""
    store = Store.open(path, create=False)
    assert check(store.path).problems == ()
    session = Session(store, {"__name__": "__main__"}, notebook="test")
    session.resume()
    return session


def test_an_export_is_a_store_with_one_whole_checkpoint(kept: Session, tmp_path: Path) -> None:
    done = export_store(kept, "train", tmp_path / "out")

    other = opened(tmp_path / "out")
    space: dict[str, Any] = other.namespace
    (only,) = other.history()
    assert (only.id, only.name, only.note, only.tags) == (
        kept.get("train").id, "train", "the good one", ("best",)
    )  # fmt: skip
    assert only.parent is None
    assert space["view"].base is space["numbers"]
    assert space["numbers"][0] == 5.0
    assert (space["model"].k, space["twice"](4)) == (3, 8)
    assert isinstance(space["model"], space["Model"])
    assert space["frame"].equals(kept.namespace["frame"])
    assert not {"late", "gone"} & space.keys()
    assert done.left == ()
    assert done.tables == ("frame",)
    assert other.sql("select sum(n) from variable('frame', 'train')").fetchall() == [(6,)]
    other.store.close()


def test_who_gets_an_export_restores_it_after_trust(
    kept: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_store(kept, "train", tmp_path / "out")
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "somebody"))
    with pytest.raises(UntrustedError, match=r"'train' was made by another user.*nbckpt trust"):
        opened(tmp_path / "out")

    assert main(["trust", "--yes", str(tmp_path / "out")]) == 0

    other = opened(tmp_path / "out")
    space: dict[str, Any] = other.namespace
    assert space["view"].base is space["numbers"]
    assert space["frame"].equals(kept.namespace["frame"])
    assert space["model"].k == 3
    other.store.close()


def test_who_gets_an_export_queries_its_tables_without_trust(
    kept: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_store(kept, "train", tmp_path / "out")
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "somebody"))

    other = Session(Store.open(tmp_path / "out", create=False), {})

    assert other.sql("select sum(n) from variable('frame', 'train')").fetchall() == [(6,)]
    assert other.store.trust.untrusted().checkpoints == 1
    other.store.close()


def test_the_command_exports_and_the_log_reads_it(
    kept: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["export", "train", "handed", "--json"])
    told = json.loads(capsys.readouterr().out)
    said = main(["export", "load", "all"]), capsys.readouterr().out
    main(["log", "--store", "handed"])
    log = capsys.readouterr().out

    assert status == 0
    assert set(told["variables"]) >= {"Model", "frame", "model", "numbers", "twice", "view"}
    assert told["left_out"] == []
    assert "train" in log
    assert said[0] == 0
    assert "nbckpt log --store all" in said[1]


@pytest.mark.parametrize("taken", ["folder", "file", "link"])
def test_an_export_touches_nothing_that_is_there(kept: Session, tmp_path: Path, taken: str) -> None:
    out = tmp_path / "out"
    if taken == "folder":
        out.mkdir()
        (out / "mine.txt").write_text("x")
    elif taken == "file":
        out.write_text("x")
    else:
        (tmp_path / "real").mkdir()
        out.symlink_to(tmp_path / "real")

    with pytest.raises(StoreError, match="empty folder"):
        export_store(kept, "train", out)

    assert not [p for p in tmp_path.iterdir() if p.name.endswith(".tmp")]


@pytest.mark.parametrize("portable", [True, False])
def test_an_export_into_the_store_itself_is_refused(kept: Session, portable: bool) -> None:
    out = Path(kept.store.path) / "handed"

    with pytest.raises(StoreError, match="is inside of the store"):
        export(kept, "train", out, portable=portable)

    assert not out.exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
def test_a_folder_that_takes_no_others_is_a_refusal(kept: Session) -> None:
    with pytest.raises(StoreError, match="/proc/nothing/out cannot be written"):
        export(kept, "train", Path("/proc/nothing/out"))


def test_an_export_fills_an_empty_folder(kept: Session, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()

    export_store(kept, "load", tmp_path / "out")

    opened(tmp_path / "out").store.close()


def test_what_is_not_there_leaves_nothing(kept: Session, tmp_path: Path) -> None:
    with pytest.raises(CheckpointNotFoundError):
        export_store(kept, "nothing", tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_whatever_a_notebook_is_called_it_stands_where_the_export_does(
    kept: Session, tmp_path: Path
) -> None:
    kept.fork("load", "side")
    kept.namespace["more"] = 2
    kept.checkpoint("aside")
    export_store(kept, "aside", tmp_path / "out")
    store = Store.open(tmp_path / "out")

    other = Session(store, {"__name__": "__main__"}, notebook="another")
    other.resume()

    assert (other.position.branch, other.namespace["more"]) == ("main", 2)
    store.close()


def test_what_did_not_end_well_is_not_exported(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%checkpoint fails\nx = 1\nraise ValueError", store_history=True)
    (failed,) = current_session.session().timeline.checkpoints

    with pytest.raises(UsageError, match="did not end well"):
        nbckpt.export(failed, tmp_path / "out")


@pytest.mark.slow
def test_a_disk_that_refuses_leaves_nothing(
    kept: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(file_calls.Files):
        left = 0

        def pwrite(self, fd: int, data: Any, offset: int) -> int:
            self.left -= 1
            if self.left == 0:
                raise OSError(28, os.strerror(28))
            return super().pwrite(fd, data, offset)

    refused = 0
    for number in range(1, 40):
        disk = Full()
        disk.left = number
        monkeypatch.setattr(file_calls, "files", disk)
        try:
            export_store(kept, "train", tmp_path / f"out{number}")
        except StoreError:
            refused += 1
            assert not (tmp_path / f"out{number}").exists()
            assert not list(tmp_path.glob(".out*"))
        else:
            break
    monkeypatch.undo()

    assert refused > 2
    opened(tmp_path / f"out{number}").store.close()


@pytest.mark.slow
def test_an_export_that_is_killed_leaves_no_store_under_its_name(
    kept: Session, tmp_path: Path
) -> None:
    code = (
        "import os, sys\nfrom nbckpt.storage import file_calls\nreal = file_calls.files.rename\n"
        "def die(path, target):\n"
        "    if target.name == 'out': os.kill(os.getpid(), 9)\n    real(path, target)\n"
        "file_calls.files.rename = die\nfrom nbckpt.cli import main\n"
        "sys.exit(main(['export', 'train', 'out']))"
    )
    kept.store.wait()

    died = subprocess.run(
        [sys.executable, "-c", code], env=environment(), cwd=tmp_path, check=False
    )

    assert died.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    assert isinstance(export_store(kept, "train", tmp_path / "out"), Exported)


def test_every_door_exports_the_same(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%checkpoint both\ntext = 'a'\ndef f(): ...", store_history=True)
    capsys.readouterr()

    shell.run_line_magic("nbckpt", "export both by-magic")
    said = capsys.readouterr().out
    done = nbckpt.export("both", tmp_path / "by-call")
    main(["export", "both", "by-command", "--json"])
    told = json.loads(capsys.readouterr().out)

    assert said.startswith("'both' is in by-magic: 2 variables")
    assert "others restore it after `nbckpt trust by-magic`" in said
    assert done.variables == tuple(told["variables"]) == ("f", "text")
    for name in ("by-magic", "by-call", "by-command"):
        other = opened(tmp_path / name)
        assert other.namespace["text"] == "a"
        other.store.close()


def test_an_export_is_encrypted_with_the_key_that_is_named(kept: Session, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("5a" * 32)
    key.chmod(0o600)

    done = export_store(kept, "load", tmp_path / "out", encryption=f"file:{key}")

    assert done.encrypted
    assert "with the key" in done.text()
    with pytest.raises(StoreError):
        Store.open(tmp_path / "out")
    store = Store.open(tmp_path / "out", key=f"file:{key}")
    other = Session(store, {"__name__": "__main__"})
    other.resume()
    assert other.namespace["gone"] == "soon"
    store.close()
    assert b"soon" not in b"".join(p.read_bytes() for p in (tmp_path / "out").rglob("*.*"))


def test_calls_of_its_step_go_with_it(session: Session, tmp_path: Path) -> None:
    blob = session.store.put_blob([b"", b"the answer"])
    session.namespace["x"] = 1
    call = {
        "kind": "recording", "created_at": 1.0, "id": "r1", "step": "ask", "request": "0" * 64,
        "occurrence": 0, "state": "done", "position": None, "session": session.id,
        "branch": "main", "provider": "openai", "endpoint": "chat", "model": "m", "url": "u",
        "status": 200, "headers": [], "blob": blob, "sizes": [10], "streamed": False,
        "duration_s": 0.1,
    }  # fmt: skip
    session.writes.append([call]).result()
    session.checkpoint("ask")
    session.wait()
    session.refresh()

    done = export_store(session, "ask", tmp_path / "out")

    assert done.recordings == 1
    other = opened(tmp_path / "out")
    (found,) = other.store.records("recording")
    assert bytes(other.store.get_blob(found["blob"])[1]) == b"the answer"
    other.store.close()
