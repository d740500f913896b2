"""What is put comes back, in whatever form it lies; many threads are as good as one."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from nbckpt.errors import StoreError
from nbckpt.storage import large_parts
from nbckpt.storage.blobs import digest_of_parts
from nbckpt.storage.check import check
from nbckpt.storage.index_frames import RAW, ZEROS, ZSTD, Place
from nbckpt.storage.packs import PackWriter, find_frames
from nbckpt.storage.parallel import Pieces, each
from nbckpt.storage.store import Store

MIB = 1 << 20
CHUNK = 256 << 10

pieces = st.one_of(
    st.binary(max_size=100),
    st.builds(bytes, st.sampled_from([10, 70_000, CHUNK, 3 * CHUNK, 5 * MIB])),
    st.builds(os.urandom, st.sampled_from([1000, 5000, 70_000, CHUNK, 5 * MIB])),
    st.builds(lambda n: b"the same again " * n, st.sampled_from([10, 500, 30_000])),
)
contents = st.lists(pieces, max_size=4).map(b"".join)


def codecs_of(path: Path) -> set[int]:
    codecs = set()
    for pack in (path / "packs").iterdir():
        fd = os.open(pack, os.O_RDONLY)
        codecs |= {p.codec for frame in find_frames(fd, pack.stem) for _, p in frame.chunks}
        os.close(fd)
    return codecs


def pack_bytes(store: Store) -> int:
    return sum(path.stat().st_size for path in (store.path / "packs").iterdir())


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.tuples(contents, st.booleans()), max_size=4))
def test_any_parts_come_back(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[bytes, bool]]
) -> None:
    path = tmp_path_factory.mktemp("store") / "s"
    parts = [data if fixed else bytearray(data) for data, fixed in drawn]
    store = Store.open(path)

    digest = store.put_blob(parts)
    store.append([{"kind": "event", "at": 1.0, "blob": digest}]).result()
    store.close()
    later = Store.open(path, create=False)

    assert [bytes(part) for part in later.get_blob(digest)] == [data for data, _ in drawn]
    assert digest == digest_of_parts(parts)
    assert check(later.path).problems == ()
    later.close()


def test_text_is_compressed_noise_is_not_and_zeros_take_no_room(tmp_path: Path) -> None:
    for name, part, codec, most in [
        ("text", b"all work and no play " * 3000, ZSTD, 8000),
        ("noise", os.urandom(60_000), RAW, 64_000),
        ("zeros", bytearray(100 * MIB), ZEROS, 6000),
    ]:
        store = Store.open(tmp_path / name)
        store.put_blob([part])
        store.append([]).result()

        assert codec in codecs_of(store.path)
        assert pack_bytes(store) < most
        store.close()


def test_zeros_among_other_chunks_are_mapped_with_them(store: Store) -> None:
    data = bytearray(os.urandom(CHUNK) + bytes(2 * CHUNK) + os.urandom(CHUNK) + bytes(1000))
    digest = store.put_blob([b"", data])

    _, part = store.get_blob(digest)

    assert type(part.obj).__name__ == "mmap"
    assert part == data
    part[CHUNK : 2 * CHUNK] = b"x" * CHUNK
    assert store.get_blob(digest)[1] == data


@pytest.mark.slow
def test_a_large_part_lies_in_one_piece_whatever_thread_wrote_it(store: Store) -> None:
    data = bytearray(os.urandom(40 * MIB))
    digest = store.put_blob([b"", data])
    store.append([]).result()

    (pack,) = (store.path / "packs").iterdir()
    fd = os.open(pack, os.O_RDONLY)
    (frame,) = find_frames(fd, pack.stem)
    os.close(fd)

    offsets = [place.offset for _, place in frame.chunks if place.length == CHUNK]
    assert offsets == list(range(4096, 4096 + 40 * MIB, CHUNK))
    assert store.get_blob(digest)[1] == data


def test_what_was_not_written_since_is_not_read_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytearray(os.urandom(32 * MIB))
    first = store.put_blob([b"", data])
    store.put_blob([b"", data])  # the first look at new memory may not have been kept
    hashed: list[int] = []
    monkeypatch.setattr(
        large_parts, "blake3", lambda chunk: hashed.append(len(chunk)) or blake3(chunk)
    )

    again = store.put_blob([b"", data])
    seen = sum(hashed)
    data[7 * MIB] ^= 1
    changed = store.put_blob([b"", data])

    if seen > 32 * MIB:
        pytest.skip("this kernel does not tell which pages were written")
    assert again == first
    assert sum(hashed) < 3 * MIB
    assert changed == digest_of_parts([b"", bytearray(data)])


def test_a_restored_array_is_put_back_without_a_look_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path / "s")
    digest = store.put_blob([b"", bytearray(os.urandom(32 * MIB))])
    store.append([]).result()
    store.close()
    store = Store.open(tmp_path / "s")
    _, part = store.get_blob(digest)
    hashed: list[int] = []
    monkeypatch.setattr(
        large_parts, "blake3", lambda chunk: hashed.append(len(chunk)) or blake3(chunk)
    )

    again = store.put_blob([b"", part])

    assert again == digest
    if sum(hashed) > 32 * MIB:
        pytest.skip("this kernel does not tell which pages were written")
    assert sum(hashed) < MIB
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("failing", [1, 7, 20])
def test_a_write_that_is_refused_in_any_thread_gives_the_room_back(
    store: Store, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    store.let_wait(0)  # all is written at once
    kept = store.put_blob([b"", bytearray(os.urandom(3 * MIB))])
    store.append([]).result()
    before = pack_bytes(store)
    writes = iter(range(1000))
    whole = PackWriter.write

    def write(self: PackWriter, place: Place, data: memoryview) -> None:
        if next(writes) == failing:
            raise OSError(28, "No space left on device")
        whole(self, place, data)

    monkeypatch.setattr(PackWriter, "write", write)
    data = bytearray(os.urandom(30 * MIB))
    with pytest.raises(StoreError, match="the disk is full"):
        store.put_blob([b"stream", data])
    room = pack_bytes(store)
    monkeypatch.undo()
    threads = [t.name for t in threading.enumerate() if t.name == "nbckpt-chunks"]
    digest = store.put_blob([b"stream", data])
    store.append([{"kind": "event", "at": 1.0, "blob": d} for d in (kept, digest)]).result()

    assert room == before
    assert threads == []
    assert store.get_blob(digest)[1] == data
    assert check(store.path).problems == ()


def test_an_interrupt_leaves_no_chunk_that_was_not_written(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.let_wait(0)
    data = bytearray(os.urandom(20 * MIB))

    def interrupted(self: PackWriter, place: Place, data: memoryview) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(PackWriter, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.put_blob([b"", data])
    monkeypatch.undo()
    digest = store.put_blob([b"", data])
    store.append([{"kind": "event", "at": 1.0, "blob": digest}]).result()

    assert store.get_blob(digest)[1] == data
    assert check(store.path).problems == ()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_puts_and_reads_large_parts_with_threads_of_its_own(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    data = bytearray(os.urandom(20 * MIB))
    digest = store.put_blob([b"", data])
    store.append([{"kind": "event", "at": 1.0, "blob": digest}]).result()

    child = os.fork()
    if child == 0:
        try:
            data[3 * MIB] ^= 1
            own = store.put_blob([b"", data])
            store.append([{"kind": "event", "at": 2.0, "blob": own}]).result(60)
            sound = store.get_blob(own)[1] == data and store.get_blob(digest)[1] != data
            os._exit(0 if sound else 3)
        finally:
            os._exit(4)
    _, status = os.waitpid(child, 0)
    later = Store.open(tmp_path / "s", create=False)

    assert os.waitstatus_to_exitcode(status) == 0
    assert [r["at"] for r in later.refresh() if r["kind"] == "event"] == [1.0, 2.0]
    assert check(later.path).problems == ()
    later.close()
    store.close()


def test_each_piece_is_given_once() -> None:
    done: list[int] = []

    def work(pieces: Pieces) -> None:
        while (number := pieces.take()) is not None:
            done.append(number)

    each(2000, work, threads=4)

    assert sorted(done) == list(range(2000))


def test_a_thread_that_fails_stops_and_wakes_the_others() -> None:
    woken = threading.Event()
    others: list[int] = []

    def work(pieces: Pieces) -> None:
        while (number := pieces.take()) is not None:
            if number == 5:
                message = "the fifth"
                raise ValueError(message)
            if number > 5:
                assert woken.wait(30)
                others.append(number)

    with pytest.raises(ValueError, match="the fifth"):
        each(10_000, work, threads=4, when_failed=woken.set)

    assert len(others) < 4


def test_work_is_done_where_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        message = "can't create new thread at interpreter shutdown"
        raise RuntimeError(message)

    done: list[int | None] = []
    monkeypatch.setattr(threading.Thread, "start", refuse)

    each(3, lambda pieces: done.extend(pieces.take() for _ in range(4)), threads=4)

    assert done == [0, 1, 2, None]
