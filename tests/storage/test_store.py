"""A store gives back what was put into it, to its own process and to others."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial
from pathlib import Path
from pickle import PickleBuffer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.digests import digest_of
from nbckpt.errors import BlobNotFoundError, StoreError
from nbckpt.storage.check import check
from nbckpt.storage.journal import is_live
from nbckpt.storage.store import Store

MIB = 1 << 20
sizes = st.one_of(
    st.integers(0, 300),
    st.sampled_from([4096, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 600_000]),
)
seeds = st.integers(0, 5)
part_lists = st.lists(st.tuples(sizes, seeds, st.booleans()), max_size=5)


def some_bytes(size: int, seed: int = 0) -> bytes:
    """Bytes that do not repeat."""
    import numpy as np

    return np.random.default_rng(seed).bytes(size)


def pack_bytes(store: Store) -> int:
    return sum(path.stat().st_size for path in (store.path / "packs").iterdir())


def event(n: int) -> dict[str, object]:
    return {"kind": "event", "at": float(n), "n_of_test": n}


@pytest.mark.slow
@given(part_lists)
def test_a_blob_comes_back_as_it_was_put(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, int, bool]]
) -> None:
    path = tmp_path_factory.mktemp("store") / "s"
    parts = [some_bytes(size, seed) for size, seed, _ in drawn]
    buffers = [
        data if readonly else bytearray(data)
        for data, (_, _, readonly) in zip(parts, drawn, strict=True)
    ]
    store = Store.open(path)

    digest = store.put_blob(buffers)
    at_once = [(bytes(part), part.readonly) for part in store.get_blob(digest)]
    store.append([]).result()
    store.close()
    later = Store.open(path, create=False)
    after_death = [(bytes(part), part.readonly) for part in later.get_blob(digest)]

    expected = [(data, readonly) for data, (_, _, readonly) in zip(parts, drawn, strict=True)]
    assert at_once == after_death == expected
    assert later.blobs.size(digest) == sum(map(len, parts))
    assert later.blobs.has(digest)
    later.close()


@pytest.mark.slow
@given(part_lists, part_lists)
def test_equal_digests_mean_equal_parts(
    tmp_path_factory: pytest.TempPathFactory,
    one: list[tuple[int, int, bool]],
    other: list[tuple[int, int, bool]],
) -> None:
    store = Store.open(tmp_path_factory.mktemp("store") / "s")
    first = [(some_bytes(size, seed), flag) for size, seed, flag in one]
    second = [(some_bytes(size, seed), flag) for size, seed, flag in other]

    digests = [
        store.put_blob([data if flag else bytearray(data) for data, flag in parts])
        for parts in (first, second)
    ]

    assert (digests[0] == digests[1]) == (first == second)
    store.close()


def test_the_same_bytes_are_stored_once_across_blobs_and_sessions(tmp_path: Path) -> None:
    data = some_bytes(3 * MIB)
    first = Store.open(tmp_path / "s")
    first.put_blob([b"stream", data])
    first.append([]).result()
    before = pack_bytes(first)

    first.put_blob([b"another stream", data])
    second = Store.open(tmp_path / "s")
    second.put_blob([b"third stream", data])
    second.append([]).result()
    first.append([]).result()

    assert pack_bytes(second) - before < 20_000
    first.close()
    second.close()


def test_one_changed_element_costs_one_chunk_and_is_still_mapped(store: Store) -> None:
    data = bytearray(some_bytes(8 * MIB))
    store.put_blob([data])
    store.append([]).result()
    before = pack_bytes(store)

    data[3 * MIB + 17] ^= 1
    digest = store.put_blob([data])
    store.append([]).result()
    (part,) = store.get_blob(digest)

    assert pack_bytes(store) - before < 300_000
    assert bytes(part) == data
    assert type(part.obj).__name__ == "mmap"


def test_a_big_part_that_is_changed_leaves_its_file_as_it_is(store: Store) -> None:
    data = some_bytes(MIB)
    digest = store.put_blob([bytearray(data)])
    store.append([]).result()

    (part,) = store.get_blob(digest)
    part[:] = bytes(len(part))
    (again,) = store.get_blob(digest)

    assert not part.readonly
    assert bytes(again) == data


def test_a_buffer_may_change_as_soon_as_it_was_put(store: Store) -> None:
    data = bytearray(some_bytes(MIB))
    before = bytes(data)

    digest = store.put_blob([data])
    data[:] = bytes(len(data))

    assert bytes(store.get_blob(digest)[0]) == before


@pytest.mark.slow
def test_a_buffer_that_another_thread_changes_never_damages_the_store(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    data = bytearray(some_bytes(4 * MIB))
    stop = threading.Event()

    def scribble() -> None:
        n = 0
        while not stop.is_set():
            n += 1
            data[:: 1 << 16] = bytes([n % 251]) * 64

    scribbler = threading.Thread(target=scribble)
    scribbler.start()
    digests = [store.put_blob([data]) for _ in range(20)]
    stop.set()
    scribbler.join()
    store.append([]).result()
    report = check(store.path)
    store.close()

    fresh = Store.open(tmp_path / "s")
    sizes = {len(fresh.get_blob(digest)[0]) for digest in digests}
    assert report.ok
    assert sizes == {4 * MIB}
    fresh.close()


def test_fortran_order_and_empty_arrays_are_put_without_a_copy(store: Store) -> None:
    import numpy as np

    fortran = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    empty = np.zeros((0, 3))

    digest = store.put_blob([PickleBuffer(fortran), PickleBuffer(empty)])

    assert [bytes(part) for part in store.get_blob(digest)] == [fortran.tobytes("F"), b""]


@pytest.mark.slow
def test_many_repeated_chunks_come_back(store: Store) -> None:
    zeros = bytes(300 * MIB)

    digest = store.put_blob([zeros])
    (part,) = store.get_blob(digest)

    assert pack_bytes(store) < MIB
    assert len(part) == len(zeros)
    assert not any(part[:: 1 << 12])


@pytest.mark.slow
def test_a_full_pack_is_followed_by_another(store: Store) -> None:
    big = some_bytes(257 * MIB)

    digests = [store.put_blob([big]), store.put_blob([b"small"]), store.put_blob([b"smaller"])]
    store.append([]).result()
    later = store.put_blob([b"later"])
    store.append([]).result()

    assert len(list((store.path / "packs").iterdir())) == 2
    assert store.get_blob(digests[0])[0] == big
    assert [bytes(store.get_blob(d)[0]) for d in [*digests[1:], later]] == [
        b"small",
        b"smaller",
        b"later",
    ]
    assert check(store.path).ok


def test_an_unknown_digest_is_not_found(store: Store) -> None:
    unknown = digest_of(b"never put")

    with pytest.raises(BlobNotFoundError, match=unknown[:12]):
        store.get_blob(unknown)

    assert not store.blobs.has(unknown)


def test_the_name_of_a_chunk_is_not_the_name_of_a_blob(store: Store) -> None:
    store.put_blob([b"a chunk"])

    with pytest.raises(BlobNotFoundError, match="no blob"):
        store.get_blob(digest_of(b"a chunk"))


def test_records_come_back_in_order_and_only_once(store: Store) -> None:
    store.append([event(1), event(2)]).result()
    first = store.refresh()
    store.append([event(3)]).result()

    assert first == [event(1), event(2)]
    assert store.refresh() == [event(3)]
    assert store.refresh() == []
    assert [*store.records("event")] == [event(1), event(2), event(3)]


def test_another_session_sees_what_is_durable_and_the_bytes_it_names(tmp_path: Path) -> None:
    writer = Store.open(tmp_path / "s")
    reader = Store.open(tmp_path / "s")
    reader.refresh()

    digest = writer.put_blob([b"bytes"])
    writer.append([{**event(1), "blob": digest}]).result()
    (record,) = reader.refresh()

    assert bytes(reader.get_blob(record["blob"])[0]) == b"bytes"
    writer.close()
    reader.close()


def test_records_of_all_journals_are_ordered_by_time(tmp_path: Path) -> None:
    one, other = Store.open(tmp_path / "s"), Store.open(tmp_path / "s")
    one.append([event(1), event(4)]).result()
    other.append([event(2), event(3)]).result()

    third = Store.open(tmp_path / "s")

    assert [record["n_of_test"] for record in third.refresh()] == [1, 2, 3, 4]
    for store in (one, other, third):
        store.close()


def test_a_clock_that_was_set_back_does_not_reorder_a_journal(store: Store) -> None:
    store.append([event(5), event(2), event(7)]).result()

    assert [record["n_of_test"] for record in store.refresh()] == [5, 2, 7]


def test_a_record_that_is_not_synced_is_still_written(store: Store) -> None:
    store.append([event(1)], durable=False).result()
    other = Store.open(store.path)

    assert other.refresh() == [event(1)]
    assert store.refresh() == [event(1)]
    other.close()


def test_a_number_that_json_cannot_say_is_refused_at_once(store: Store) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.append([{"kind": "event", "at": float("nan")}])


def test_lone_surrogates_survive_in_records(store: Store) -> None:
    record = {"kind": "event", "at": 1.0, "source": "x = '\ud800'"}

    store.append([record]).result()

    assert store.refresh() == [record]


def test_a_job_runs_after_what_was_queued_before_it(store: Store) -> None:
    seen: list[bool] = []
    commit = store.append([event(1)])

    store.queue.in_background(lambda: seen.append(commit.done())).result()

    assert seen == [True]


def test_a_commit_does_not_wait_for_a_slow_job(store: Store) -> None:
    go_on = threading.Event()
    job = store.queue.in_background(lambda: go_on.wait(30) and None)

    store.append([event(1)]).result(timeout=20)

    assert not job.done()
    go_on.set()
    job.result()


def test_a_failed_job_is_raised_by_wait_once(store: Store) -> None:
    def fail() -> None:
        message = "no table"
        raise StoreError(message)

    store.queue.in_background(fail)

    with pytest.raises(StoreError, match="no table"):
        store.wait()
    store.wait()


def test_wait_says_what_is_unfinished(store: Store) -> None:
    go_on = threading.Event()
    store.queue.in_background(lambda: go_on.wait(30) and None)

    with pytest.raises(StoreError, match="still writing"):
        store.wait(timeout_s=0.01)

    go_on.set()
    store.wait()


def test_a_closed_store_refuses_writes_and_closes_twice(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")

    store.close()
    store.close()

    for write in (lambda: store.append([]), lambda: store.put_blob([b""])):
        with pytest.raises(StoreError, match="closed"):
            write()


def test_closing_finishes_what_is_queued(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    done: list[int] = []
    store.queue.in_background(lambda: done.append(1))
    store.append([event(1)])

    store.close()

    assert done == [1]
    assert Store.open(tmp_path / "s").refresh() == [event(1)]


def test_a_forgotten_store_finishes_what_is_queued(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    done = store.append([event(1)])

    del store
    gc.collect()
    done.result()

    assert Store.open(tmp_path / "s").refresh() == [event(1)]


def test_an_interpreter_that_exits_finishes_what_is_queued(tmp_path: Path) -> None:
    script = """
        import sys
        from pathlib import Path
        from nbckpt.storage.store import Store
        store = Store.open(Path(sys.argv[1]))
        digest = store.put_blob([b"x" * 1_000_000])
        for n in range(50):
            store.append([{"kind": "event", "at": float(n), "blob": digest}])
    """

    subprocess.run([sys.executable, "-c", textwrap.dedent(script), tmp_path / "s"], check=True)

    store = Store.open(tmp_path / "s")
    assert len(store.refresh()) == 50
    assert check(store.path).problems == ()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_writes_files_of_its_own(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    digest = store.put_blob([b"of the parent"])
    store.append([event(1)]).result()
    unsealed = store.put_blob([b"not durable yet"])

    child = os.fork()
    if child == 0:
        try:
            parent_is_read = bytes(store.get_blob(digest)[0]) == b"of the parent"
            own = store.put_blob([b"not durable yet", b"of the child"])
            store.append([{**event(2), "blob": own}]).result(timeout=30)
            os._exit(0 if parent_is_read and store.blobs.has(own) else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    store.append([{**event(3), "blob": unsealed}]).result()

    assert os.waitstatus_to_exitcode(status) == 0
    assert [record["n_of_test"] for record in store.refresh()] == [1, 2, 3]
    assert len(list((store.path / "journal").iterdir())) == 2
    assert check(store.path).ok
    store.close()


def _hold(begun: threading.Event, may_end: threading.Event) -> None:
    begun.set()
    may_end.wait(30)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_lets_go_of_a_store_that_only_its_queue_holds(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    store.append([event(1)]).result()
    (journal,) = (store.path / "journal").iterdir()
    begun, may_end = threading.Event(), threading.Event()
    job = store.queue.in_background(partial(_hold, begun, may_end))
    assert begun.wait(30)
    del store
    gc.collect()
    parent_is_done, child_ends = os.pipe(), os.pipe()

    child = os.fork()
    if child == 0:
        os.read(parent_is_done[0], 1)
        os.write(child_ends[1], b"1" if is_live(journal) else b"0")
        os._exit(0)
    may_end.set()
    job.result(30)
    del job
    gc.collect()
    deadline = time.monotonic() + 30
    while is_live(journal) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.write(parent_is_done[1], b"1")

    assert os.read(child_ends[0], 1) == b"0"
    os.waitpid(child, 0)


def test_opening_imports_no_heavy_package() -> None:
    script = """
        import sys
        import nbckpt.storage.query, nbckpt.storage.check, nbckpt.storage.parquet_files
        heavy = {"duckdb", "pandas", "pyarrow", "numpy", "polars", "IPython"}
        sys.exit(repr(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)
    """

    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
