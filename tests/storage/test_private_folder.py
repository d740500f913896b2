"""A store is its owner's alone, and nothing in it leads elsewhere."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from nbckpt.errors import NbckptError, StoreError
from nbckpt.session.session import Session
from nbckpt.storage.folder import ROOMS
from nbckpt.storage.mark_repair import mend_mark
from nbckpt.storage.pruning import prune
from nbckpt.storage.query import relation
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention
from tests.running import environment

VALUE = "a" * 64


def modes(path: Path) -> dict[str, str]:
    """What others than the owner may do with each file and folder of a store."""
    found = [path, *path.rglob("*")]
    return {str(p.relative_to(path)): oct(stat.S_IMODE(p.lstat().st_mode)) for p in found}


def loosen(path: Path) -> None:
    """As an nbckpt of before made it."""
    for file in [path, *path.rglob("*")]:
        file.chmod(0o777 if file.is_dir() else 0o666)


def filled(path: Path) -> Store:
    store = Store.open(path)
    session = Session(store, {"x": 1, "big": bytes(range(256)) * 4096})
    session.checkpoint("one")
    store.append(
        [{"kind": "table", "value": VALUE, **store.tables.put(VALUE, "t", pd.DataFrame())}]
    )
    store.config.write("{}")
    store.wait()
    return store


def test_a_store_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        filled(tmp_path / "s").close()
    finally:
        os.umask(before)

    found = modes(tmp_path / "s")

    assert {"format.json", ".gitignore", "config.json", f"tables/{VALUE}.parquet"} <= set(found)
    assert {found[name] for name in found if (tmp_path / "s" / name).is_dir()} == {"0o700"}
    assert {found[name] for name in found if (tmp_path / "s" / name).is_file()} == {"0o600"}


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.append([{"kind": "event", "at": 1.0}]).result(),
        lambda store: store.put_blob([b"x"]),
        lambda store: store.config.write("{}"),
        lambda store: prune(store, Retention()),
    ],
    ids=["append", "put_blob", "write_config", "prune"],
)
def test_the_first_write_takes_from_others_what_they_may_do(tmp_path: Path, write: object) -> None:
    filled(tmp_path / "s").close()
    loosen(tmp_path / "s")
    store = Store.open(tmp_path / "s")

    read_only = {mode[-2:] for mode in modes(tmp_path / "s").values()}
    assert callable(write)
    write(store)
    store.close()

    assert read_only == {"77", "66"}
    assert {mode[-2:] for mode in modes(tmp_path / "s").values()} == {"00"}


def test_what_was_interrupted_on_the_way_is_done_by_the_next(tmp_path: Path) -> None:
    filled(tmp_path / "s").close()
    loosen(tmp_path / "s")
    (tmp_path / "s" / "journal").chmod(0o700)  # rooms before the folder itself

    store = Store.open(tmp_path / "s")
    store.append([{"kind": "event", "at": 1.0}]).result()
    store.close()

    assert {mode[-2:] for mode in modes(tmp_path / "s").values()} == {"00"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_store_with_a_link_in_place_of_a_room_is_refused(tmp_path: Path, room: str) -> None:
    filled(tmp_path / "s").close()
    (tmp_path / "s" / room).rename(tmp_path / "elsewhere")
    (tmp_path / "s" / room).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreError, match=f"{room} is a link, which a store does not follow"):
        Store.open(tmp_path / "s")


def test_a_prune_deletes_nothing_behind_a_link_that_came_later(tmp_path: Path) -> None:
    store = filled(tmp_path / "s")
    (tmp_path / "elsewhere").mkdir()
    precious = tmp_path / "elsewhere" / ".precious.tmp"
    precious.write_text("not the store's")
    (tmp_path / "s" / "packs").rename(tmp_path / "packs")
    (tmp_path / "s" / "packs").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreError, match="packs is a link"):
        prune(store, Retention())

    assert precious.exists()


def test_a_store_may_be_named_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "s")
    (tmp_path / "s").mkdir()

    filled(tmp_path / "link").close()

    again = Session(Store.open(tmp_path / "link"), {})
    again.resume()
    assert again.namespace["x"] == 1
    assert prune(again.store, Retention()).kept_checkpoints == 1


@pytest.mark.parametrize("what", ["link", "pipe", "folder"])
@pytest.mark.parametrize("file", ["format.json", "config.json", "packs", "journal", "tables"])
def test_what_is_no_plain_file_is_an_error_and_not_followed(
    tmp_path: Path, file: str, what: str
) -> None:
    filled(tmp_path / "s").close()
    path = tmp_path / "s" / file
    path = path if path.is_file() else min(path.iterdir())
    path.rename(tmp_path / "was")
    {
        "link": lambda: path.symlink_to(tmp_path / "was"),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
    }[what]()

    def look() -> None:
        store = Store.open(tmp_path / "s")
        store.config.text()
        store.refresh()
        assert not any("no plain file" in d or "a link" in d for d in store.damages)
        session = Session(store, {})
        session.resume()
        store.append([{"kind": "checkpoint"}])
        relation(store, session.timeline, "select * from variable('t')")

    with pytest.raises((NbckptError, AssertionError)):
        look()


def test_a_link_in_place_of_a_lock_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "s").close()
    (tmp_path / "s" / "locks" / "writing").unlink()
    (tmp_path / "s" / "locks" / "writing").symlink_to(tmp_path / "victim")

    store = Store.open(tmp_path / "s")
    with pytest.raises(StoreError, match="locks"):
        store.append([{"kind": "event", "at": 1.0}]).result()

    assert not (tmp_path / "victim").exists()


def test_a_mark_that_is_a_link_is_told(tmp_path: Path) -> None:
    filled(tmp_path / "s").close()
    (tmp_path / "s" / "format.json").rename(tmp_path / "was")
    (tmp_path / "s" / "format.json").symlink_to(tmp_path / "was")

    done = subprocess.run(
        [sys.executable, "-m", "nbckpt", "log", "--store", str(tmp_path / "s")],
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert done.returncode in (2, 3)
    assert "it is a link, which a store does not follow" in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_is_written_into_a_file_that_a_lock_is_another_name_of(tmp_path: Path) -> None:
    filled(tmp_path / "s").close()
    victim, lock = tmp_path / "victim", tmp_path / "s" / "locks" / "writing"
    victim.write_bytes(b"dear to me")
    lock.unlink()
    os.link(victim, lock)

    store = Store.open(tmp_path / "s")
    with pytest.raises(StoreError, match="other names"):
        prune(store, Retention(keep_last=1))

    assert victim.read_bytes() == b"dear to me"


def test_a_pipe_in_place_of_a_lock_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "s").close()
    (tmp_path / "s" / "locks" / "writing").unlink()
    os.mkfifo(tmp_path / "s" / "locks" / "writing")

    store = Store.open(tmp_path / "s")
    with pytest.raises(StoreError, match="no plain file"):
        store.append([{"kind": "event", "at": 1.0}]).result()


def test_what_is_damaged_is_not_moved_behind_a_link(tmp_path: Path) -> None:
    filled(tmp_path / "s").close()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "s" / ".damaged").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreError, match="link"):
        Store.open(tmp_path / "s")
    (tmp_path / "s" / "format.json").write_text("{")
    with pytest.raises(StoreError, match="link"):
        mend_mark(tmp_path / "s")

    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("file", ["format.json", "config.json", "journal/0.jsonl"])
def test_a_file_that_is_larger_than_memory_is_told_and_not_read(tmp_path: Path, file: str) -> None:
    filled(tmp_path / "s").close()
    with (tmp_path / "s" / file).open("ab") as grown:
        grown.truncate(1 << 40)  # with nothing in it, which costs nothing

    def look() -> None:
        store = Store.open(tmp_path / "s")
        store.config.text()
        store.refresh()
        assert [r["name"] for r in store.records("checkpoint")] == ["one"]
        raise StoreError(*store.damages)

    with pytest.raises(StoreError, match=r"holds more|longer than any"):
        look()
