"""Several processes on one encrypted store, deaths among them; prunes, exports, trust, and calls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nbckpt.cli import main
from nbckpt.session.maintenance.prune_request import prune_store
from nbckpt.session.session import Session
from nbckpt.storage.check import check
from nbckpt.storage.packs import find_frames, open_pack
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention
from tests.running import environment

WRITER = """
import sys
from pathlib import Path
from nbckpt.session.session import Session
from nbckpt.storage.store import Store

path, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
space = {"__name__": "__main__", "shared": bytes(range(256)) * 4000}
session = Session(Store.open(path), space, notebook=who)
for number in range(count):
    space["own"] = f"{who} {number}" * 50
    session.checkpoint(f"{who}-{number}")
    session.wait()
    print(number, flush=True)
"""


def writer(path: Path, who: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), who, str(count)],
        stdout=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip


@pytest.mark.slow
def test_two_write_one_dies_and_what_was_durable_is_there(key: str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    one, two = writer(path, "one", 15), writer(path, "two", 10_000)
    assert one.stdout
    assert two.stdout
    done = int([two.stdout.readline() for _ in range(12)][-1])
    two.send_signal(signal.SIGKILL)
    two.communicate()
    one.communicate()

    store = Store.open(path)
    names = {r["name"] for r in store.refresh() if r["kind"] == "checkpoint"}
    assert {f"one-{n}" for n in range(15)} | {f"two-{n}" for n in range(done + 1)} <= names
    assert check(store.path).ok
    assert not store.trust.untrusted()
    size = sum(p.stat().st_size for p in (path / "packs").iterdir())
    assert size < 2 * 1_024_000 + 500_000  # what both have is there once, or once each
    store.close()


def sealed_chunks(path: Path, store: Store) -> set[bytes]:
    """The sealed bytes of all chunks, as they lie on disk."""
    found = set()
    for pack in (path / "packs").glob("*.pack"):
        fd = open_pack(pack.parent, pack.stem)
        for frame in find_frames(fd, pack.stem, cipher=store.cipher):
            found |= {os.pread(fd, p.length, p.offset) for _, p in frame.chunks}
        os.close(fd)
    return found


def test_a_prune_copies_sealed_chunks_as_they_are(key: str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    space: dict[str, object] = {"__name__": "__main__", "kept": os.urandom(400_000)}
    session = Session(Store.open(path), space, notebook="n")
    for number in range(4):
        space["large"] = os.urandom(900_000)
        session.checkpoint(f"c{number}")
    session.wait()
    session.store.close()
    session = Session(Store.open(path), {"__name__": "__main__"}, notebook="n")
    before = sealed_chunks(path, session.store)

    pruned = prune_store(session.store, Retention(keep_last=1))

    assert len(pruned.checkpoints) == 3
    assert pruned.freed_bytes > 2_000_000
    after = sealed_chunks(path, session.store)
    assert len(after) > 5
    assert after <= before
    session.resume()
    assert (session.namespace["kept"], session.namespace["large"]) == (
        space["kept"],
        space["large"],
    )
    assert check(session.store.path).ok
    assert not session.store.trust.untrusted()


def test_another_user_with_the_key_sees_all_and_trusts_it_by_hand(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s"
    session = Session(Store.open(path), {"__name__": "__main__", "x": {1, 2}}, notebook="n")
    session.checkpoint("one")
    session.wait()
    session.store.close()
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "other"))

    store = Store.open(path)
    assert [r["name"] for r in store.refresh() if r["kind"] == "checkpoint"] == ["one"]
    assert store.trust.untrusted().checkpoints == 1
    store.close()
    assert main(["trust", "--yes", str(path)]) == 0

    store = Store.open(path)
    store.refresh()
    assert not store.trust.untrusted()
    store.close()
    assert main(["rekey", "--all", "--store", str(path)]) == 0
    again = Session(Store.open(path), {"__name__": "__main__"}, notebook="n")
    again.resume()
    assert again.namespace["x"] == {1, 2}
    assert not again.store.trust.untrusted()  # a vouch holds for what is in a line
    capsys.readouterr()


def test_an_export_is_encrypted_with_a_data_key_of_its_own(key: str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    session = Session(Store.open(path), {"__name__": "__main__", "x": "PLANTED"}, notebook="n")
    session.checkpoint("one")
    session.wait()
    session.store.close()

    assert main(["export", "one", str(tmp_path / "out"), "--store", str(path)]) == 0

    out = Store.open(tmp_path / "out")
    assert out.cipher is not None
    assert session.store.cipher is not None
    assert out.cipher.id != session.store.cipher.id
    assert check(out.path).ok
    for file in (tmp_path / "out").rglob("*"):
        assert not file.is_file() or b"PLANTED" not in file.read_bytes()


@pytest.mark.long
def test_writers_die_and_prunes_come_for_a_minute(key: str, tmp_path: Path) -> None:
    path, until, number = tmp_path / "s", time.monotonic() + 60, 0
    Store.open(path).close()
    while time.monotonic() < until:
        number += 1
        writers = [writer(path, f"w{number}{who}", 100) for who in "abc"]
        for process in writers:
            assert process.stdout
            process.stdout.readline()
        store = Store.open(path)
        prune_store(store, Retention(keep_last=20))
        for process in writers:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        assert check(store.path).ok
        store.close()
