"""A disk that refuses after the cell has ended is told of, and what it refused counts as failed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import StoreError
from nbckpt.session.pending_writes import PendingWrites, Writer
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from nbckpt.timeline.timeline import Timeline
from tests.kernels import Kernel, Ran
from tests.mounts import mounted

FILL = """
import os
def fill(path):
    with open(path, 'wb', buffering=0) as file:
        for size in (65536, 4096, 512, 64, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=2m", "tmpfs") as folder:
        yield folder


def said(ran: Ran) -> str:
    """All that a cell said, in one line, without colours."""
    text = "\n".join([*ran.notices, ran.stdout, ran.stderr, ran.error])
    return " ".join(re.sub(r"\x1b\[[\d;]*m", "", text).split())


def eventually(kernel: Kernel) -> str:
    """What is said around a cell that does nothing, long after the disk was asked."""
    return said(kernel.run("import time; time.sleep(0.3)"))


def is_whole(disk: Path) -> bool:
    store = Store.open(disk / ".nbckpt", create=False)
    report = check(store.path)
    store.close()
    return report.ok


@pytest.mark.slow
def test_what_a_full_disk_refused_behind_a_cell_is_told_once_and_tried_again(
    tmp_path: Path, disk: Path
) -> None:
    filler = disk / "filler"
    with Kernel(tmp_path, store=disk / ".nbckpt") as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run(FILL)
        kernel.run("%%checkpoint first\nfirst = [1]")
        kernel.run(f"fill({str(filler)!r})")
        kernel.run("%nbckpt auto on")
        # Its value is so small that the pack's last page takes it; the record is not.
        ran = kernel.run("second = [2]" + "  # long" * 2000, cell_id="second")
        told = said(ran) + eventually(kernel)
        kernel.run("%nbckpt auto off")
        again = said(kernel.run("1")) + said(kernel.run("2"))
        status = said(kernel.run("%nbckpt status"))
        log = said(kernel.run("%nbckpt log"))
        show = said(kernel.run("%nbckpt show cell-second"))
        rewound = kernel.run("%rewind cell-second")
        whole = is_whole(disk)
        filler.unlink()
        later = said(kernel.run("%checkpoint third --sync"))
        now = later + eventually(kernel)
        status_now = said(kernel.run("%nbckpt status"))
        shown_now = said(kernel.run("%nbckpt show cell-second"))
    with Kernel(tmp_path, store=disk / ".nbckpt") as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%resume")
        values = kernel.value("(first, second)")
        kernel.run("%rewind first")
        gone = kernel.value("'second' in globals()")

    assert ran.ok
    assert told.count("checkpoint 'cell-second'") == 1
    assert "NOT kept: the disk is full: " in told
    assert "is tried again with the next checkpoint" in told
    assert "NOT kept" not in again
    assert "durable checkpoint 'cell-second'" in status
    assert re.search(r"✗ cell-second .* failed: not written", log)
    assert re.search(r"○ first \S+ main ", log)  # the branch has not moved to what is not there
    assert "no checkpoint 'cell-second' on branch 'main': 'cell-second' failed" in show
    assert not rewound.ok
    assert whole
    assert "cell-second'" in now
    assert "kept now" in now
    assert "durable all that was kept" in status_now
    assert "state done" in shown_now
    assert values == "([1], [2])"
    assert gone == "False"
    assert is_whole(disk)


@pytest.mark.slow
def test_waiting_tries_again_what_was_refused(tmp_path: Path, disk: Path) -> None:
    filler = disk / "filler"
    with Kernel(tmp_path, store=disk / ".nbckpt") as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run(FILL)
        kernel.run("%%checkpoint first\nfirst = [1]")
        kernel.run(f"fill({str(filler)!r})")
        kernel.run("%nbckpt auto on")
        kernel.run("second = [2]" + "  # long" * 2000, cell_id="second")
        kernel.run("%nbckpt auto off")
        refused = said(kernel.run("import nbckpt; nbckpt.wait()"))
        still = said(kernel.run("nbckpt.wait()"))
        asked = said(kernel.run("nbckpt.sql('select count(*) from checkpoints').fetchall()"))
        filler.unlink()
        waited = kernel.run("nbckpt.wait()")
        shown = said(kernel.run("%nbckpt show cell-second"))

    assert "StoreError: the disk is full" in refused
    assert "StoreError: the disk is full" in still
    assert "Error" not in asked
    assert waited.ok, waited.error
    assert "state done" in shown


@pytest.mark.slow
def test_what_was_refused_is_tried_again_while_nothing_runs(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBCKPT_IDLE_S", "0.2")
    filler = disk / "filler"
    with Kernel(tmp_path, store=disk / ".nbckpt") as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run(FILL)
        kernel.run("%%checkpoint first\nfirst = [1]")
        kernel.run(f"fill({str(filler)!r})")
        kernel.run("%nbckpt auto on")
        kernel.run("second = [2]" + "  # long" * 2000, cell_id="second")
        kernel.run("%nbckpt auto off")
        filler.unlink()
        deadline = time.monotonic() + 30
        while "second" not in "".join(names_in(disk)) and time.monotonic() < deadline:
            time.sleep(0.1)
        told = said(kernel.run("1"))

    assert names_in(disk) == ["first", "cell-second"]
    assert "checkpoint 'cell-second' is kept now" in told


def names_in(disk: Path) -> list[str]:
    store = Store.open(disk / ".nbckpt", create=False)
    store.refresh()
    names = [record["name"] for record in store.records("checkpoint")]
    store.close()
    return names


def test_an_event_takes_no_refused_record_to_disk_without_its_bytes(disk: Path) -> None:
    store = Store.open(disk / ".nbckpt")
    store.append([{"kind": "event", "at": 1.0}]).result()
    for n in range(400):
        store.put_blob([f"value {n}".encode()])
    namespace: dict[str, Any] = {}
    exec(FILL, namespace)
    namespace["fill"](disk / "filler")
    refused = store.append([{"kind": "tag", "checkpoint": "a", "tag": "b", "at": 2.0}])
    with pytest.raises(StoreError, match="the disk is full"):
        refused.result()

    with pytest.raises(StoreError, match="the disk is full"):
        store.append([{"kind": "event", "at": 3.0}], durable=False).result()

    other = Store.open(disk / ".nbckpt", create=False)
    assert [record["kind"] for record in other.refresh()] == ["event"]
    other.close()
    (disk / "filler").unlink()
    with pytest.raises(StoreError):
        store.close()


@pytest.mark.slow
def test_a_value_that_the_disk_does_not_take_leaves_a_failed_checkpoint(
    tmp_path: Path, disk: Path
) -> None:
    with Kernel(tmp_path, store=disk / ".nbckpt") as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%%checkpoint first\nfirst = 1")
        ran = said(kernel.run("%%checkpoint big\nimport os\nbig = os.urandom(4_000_000)"))
        log = said(kernel.run("%nbckpt log"))
        kernel.run("%%checkpoint tidy\nbig = len(big)")
        kernel.run("%%checkpoint later\nlater = 1")
    with Kernel(tmp_path, store=disk / ".nbckpt") as kernel:
        kernel.run("%load_ext nbckpt")
        later = said(kernel.run("%nbckpt log"))
        kernel.run("%resume")
        values = kernel.value("(first, big)")

    assert "checkpoint 'big' was NOT kept: the disk is full" in ran
    assert re.search("✗ big .* failed: not written", log)
    assert re.search("✗ big .* failed: not written", later)
    assert values == "(1, 4000000)"
    assert is_whole(disk)


def test_what_is_told_alike_is_counted(store: Store) -> None:
    writer = Writer("session", "notebook")
    writing = PendingWrites(store, Timeline(), writer, begin=lambda: None, emit=lambda _: None)
    for what in ["an answer of openai"] * 29 + ["the tag"]:
        refused: Future[None] = Future()
        refused.set_exception(StoreError("the disk is full"))
        writing.follow(what, refused)

    writing.settle()

    (told,) = writing.news
    assert told.startswith("an answer of openai (29 times) and the tag are NOT kept: the disk is")
