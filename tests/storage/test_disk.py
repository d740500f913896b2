"""What a full, read-only or failing disk does: an error that is seen, and nothing lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nbckpt.errors import StoreError
from nbckpt.storage.check import check
from nbckpt.storage.disk import read_at, refusal
from nbckpt.storage.new_files import create_beside
from nbckpt.storage.store import Store
from tests.mounts import mounted

MIB = 1 << 20


def some_bytes(size: int, seed: int = 0) -> bytes:
    return np.random.default_rng(seed).bytes(size)


def event(n: int) -> dict[str, object]:
    return {"kind": "event", "at": float(n), "n_of_test": n}


def numbers(store: Store) -> list[object]:
    return [record["n_of_test"] for record in store.refresh()]


def test_a_full_disk_is_an_error_and_the_store_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=8m", "tmpfs") as disk:
        store = Store.open(disk / "s")
        before = store.put_blob([some_bytes(MIB, 1)])
        store.append([event(1)]).result()
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(5 * MIB))

        with pytest.raises(StoreError, match=r"the disk is full: a write of 4,194,304 bytes to "):
            store.put_blob([some_bytes(4 * MIB, 2)])
        ballast.unlink()
        after = store.put_blob([some_bytes(4 * MIB, 2)])
        store.append([event(2)]).result()
        store.close()

        again = Store.open(disk / "s")
        assert numbers(again) == [1, 2]
        assert again.get_blob(before)[0] == some_bytes(MIB, 1)
        assert again.get_blob(after)[0] == some_bytes(4 * MIB, 2)
        assert check(again.path).ok
        again.close()


def test_of_many_blobs_all_are_stored_or_none(tmp_path: Path) -> None:
    small = [[some_bytes(100, n), some_bytes(70_000, n)] for n in range(5)]
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=8m", "tmpfs") as disk:
        store = Store.open(disk / "s")
        before = store.put_blob([some_bytes(MIB, 1)])
        added = store.added_bytes
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(5 * MIB))

        with pytest.raises(StoreError, match="the disk is full"):
            store.put_blobs([*small, [some_bytes(4 * MIB, 2)]])
        assert store.added_bytes == added
        ballast.unlink()
        digests = store.put_blobs(small)
        store.append([event(1)]).result()
        store.close()

        again = Store.open(disk / "s")
        assert again.get_blob(before)[0] == some_bytes(MIB, 1)
        for digest, parts in zip(digests, small, strict=True):
            assert list(map(bytes, again.get_blob(digest))) == parts
        assert check(again.path).ok
        again.close()


def test_many_blobs_have_the_digests_that_each_has_alone(tmp_path: Path) -> None:
    blobs = [[b""], [b"a", bytearray(b"b")], [b"a"], [b"a"], [some_bytes(MIB)], []]
    together, alone = Store.open(tmp_path / "one"), Store.open(tmp_path / "other")

    assert together.put_blobs(blobs) == [alone.put_blob(parts) for parts in blobs]
    assert together.put_blobs([]) == []
    together.close()
    alone.close()


def test_records_that_a_full_disk_refused_go_out_with_the_next(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=2m", "tmpfs") as disk:
        store = Store.open(disk / "s")
        store.append([event(1)]).result()
        ballast = disk / "ballast"
        with pytest.raises(OSError, match="No space"):
            ballast.write_bytes(bytes(3 * MIB))

        refused = store.append([{**event(2), "text": "x" * 100_000}])
        assert isinstance(refused.exception(), StoreError)
        with pytest.raises(StoreError, match="the disk is full"):
            store.wait()
        torn = Store.open(disk / "s")
        seen_while_full = numbers(torn)
        ballast.unlink()
        store.append([event(3)]).result()

        assert seen_while_full == [1]
        assert numbers(torn) == [2, 3]
        assert numbers(store) == [1, 2, 3]
        assert torn.damages == store.damages == []
        assert check(store.path).problems == ()
        store.close()
        torn.close()


@pytest.mark.slow
def test_bytes_that_a_failed_sync_may_have_lost_are_written_again(tmp_path: Path) -> None:
    """An image on a disk that fills up: its file system takes the bytes, and its sync fails."""
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=24m", "tmpfs") as small:
        image = small / "image"
        with image.open("wb") as file:
            file.truncate(64 * MIB)
        subprocess.run(["mkfs.ext2", "-q", "-F", str(image)], check=True)
        with mounted(tmp_path / "big", "-o", "loop", str(image)) as disk:
            store = Store.open(disk / "s")
            store.append([event(1)]).result()
            ballast = small / "ballast"
            with pytest.raises(OSError, match="No space"):
                ballast.write_bytes(bytes(30 * MIB))

            digest = store.put_blob([some_bytes(8 * MIB)])
            refused = store.append([{**event(2), "blob": digest}])
            error = refused.exception()
            ballast.unlink()
            store.append([event(3)]).result()
            with pytest.raises(StoreError):
                store.wait()
            os.sync()
            report = check(store.path)

            assert isinstance(error, StoreError)
            assert numbers(store) == [1, 2, 3]
            assert store.get_blob(digest)[0] == some_bytes(8 * MIB)
            assert report.ok, report.problems
            store.close()


def test_a_read_only_store_is_read_and_the_first_write_says_so(tmp_path: Path) -> None:
    writer = Store.open(tmp_path / "s")
    digest = writer.put_blob([b"kept"])
    writer.append([event(1)]).result()
    writer.close()

    with mounted(tmp_path / "ro", "--bind", str(tmp_path / "s")):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(tmp_path / "ro")], check=True)
        store = Store.open(tmp_path / "ro")

        assert numbers(store) == [1]
        assert bytes(store.get_blob(digest)[0]) == b"kept"
        assert check(store.path).ok
        with pytest.raises(StoreError, match=r"ro.* cannot be written: read-only file system"):
            store.put_blob([b"new"])
        with pytest.raises(StoreError, match="cannot be written"):
            store.append([event(2)]).result()
        with pytest.raises(StoreError, match="cannot be written"):
            store.close()


def test_a_store_cannot_be_made_on_a_read_only_disk(tmp_path: Path) -> None:
    with (
        mounted(tmp_path / "ro", "-t", "tmpfs", "-o", "ro", "tmpfs") as disk,
        pytest.raises(StoreError, match="cannot be written: read-only file system"),
    ):
        Store.open(disk / "s")


def test_a_file_beside_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def die_half_way() -> None:
        with create_beside(path) as beside:
            beside.write(b"half")
            message = "died"
            raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="died"):
        die_half_way()

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_reading_past_the_end_gives_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    fd = os.open(path, os.O_RDONLY)

    found = [read_at(fd, 5, 0), read_at(fd, 9, 2), read_at(fd, 1, 5)]
    os.close(fd)

    assert found == [b"12345", b"345", b""]


def test_any_other_refusal_names_the_path_and_the_reason() -> None:
    error = refusal(OSError(5, "Input/output error"), Path("store"))

    assert str(error) == "store cannot be written: input/output error"


def test_lines_that_a_failed_sync_may_have_lost_are_written_again(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=24m", "tmpfs") as small:
        image = small / "image"
        with image.open("wb") as file:
            file.truncate(64 * MIB)
        subprocess.run(["mkfs.ext2", "-q", "-F", str(image)], check=True)
        with mounted(tmp_path / "big", "-o", "loop", str(image)) as disk:
            store = Store.open(disk / "s")
            store.append([event(1)]).result()
            ballast = small / "ballast"
            with pytest.raises(OSError, match="No space"):
                ballast.write_bytes(bytes(30 * MIB))

            error = store.append([{**event(2), "text": some_bytes(4 * MIB).hex()}]).exception()
            ballast.unlink()
            store.append([event(3)]).result()
            with pytest.raises(StoreError):
                store.close()
        with mounted(tmp_path / "big", "-o", "loop", str(image)) as disk:
            again = Store.open(disk / "s")
            records = again.refresh()

            assert isinstance(error, StoreError)
            assert [record["n_of_test"] for record in records] == [1, 2, 3]
            assert records[1]["text"] == some_bytes(4 * MIB).hex()
            assert again.damages == []
            again.close()
