from __future__ import annotations

import mmap
import random
import signal
import subprocess
import sys
import threading

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from nbckpt.runtime.dirty_pages.memory import (
    CHUNK_BYTES,
    WATCHED_BYTES,
    digest_of_blocks,
    digest_of_memory,
    look,
    remember,
)
from nbckpt.runtime.dirty_pages.watches import Watches
from tests.runtime.dirty_pages.ranges import MIB, anew, anonymous, known, needs_tracker, place_of

PAGE = mmap.PAGESIZE


@needs_tracker
def test_memory_that_nobody_wrote_is_known() -> None:
    view = memoryview(anonymous(2 * MIB))

    first = digest_of_memory(view)

    assert all(known(view))
    assert digest_of_memory(view) == first == anew(view)


@needs_tracker
def test_a_written_byte_makes_its_chunk_unknown_and_no_other() -> None:
    view = memoryview(anonymous(2 * MIB))
    digest_of_memory(view)

    view[5 * CHUNK_BYTES + 7] ^= 1

    assert known(view) == [index != 5 for index in range(8)]


@needs_tracker
def test_a_name_learnt_after_its_chunk_was_written_again_is_forgotten() -> None:
    view = memoryview(anonymous(2 * MIB))
    before = look(view)

    view[0] ^= 1
    before.learn(0, blake3(view[:CHUNK_BYTES]).digest())

    assert look(view).names[0] is None


@needs_tracker
def test_a_name_learnt_late_does_not_outlive_a_write_that_another_look_found() -> None:
    view = memoryview(anonymous(4 * MIB))
    part = view[: 2 * MIB]
    before = look(view)
    name = blake3(view[:CHUNK_BYTES]).digest()
    look(part)
    view[0] ^= 1

    look(part)
    before.learn(0, name)

    assert look(view).names[0] is None


@needs_tracker
def test_looking_at_one_view_hides_no_write_from_another() -> None:
    view = memoryview(anonymous(4 * MIB))
    left, right = view[: 3 * MIB + 5], view[MIB + 9 :]
    for one in (view, left, right):
        digest_of_memory(one)

    view[2 * MIB] ^= 1
    for one in (right, left, view):
        assert digest_of_memory(one) == anew(one)


writes = st.lists(st.tuples(st.integers(0, 4 * MIB - 1), st.integers(1, 3 * PAGE)), max_size=4)
spans = st.tuples(st.integers(0, 2 * MIB), st.integers(WATCHED_BYTES, 2 * MIB))
STANDING = memoryview(anonymous(4 * MIB))


@pytest.mark.slow
@given(st.lists(st.tuples(writes, st.booleans(), spans), min_size=1, max_size=12))
@settings(deadline=None, max_examples=40)
def test_what_is_known_is_what_is_there(
    rounds: list[tuple[list[tuple[int, int]], bool, tuple[int, int]]],
) -> None:
    for places, all_of_it, (start, length) in rounds:
        for at, count in places:
            part = STANDING[at : at + count]
            part[:] = bytes(byte ^ 0x5A for byte in part)
        if all_of_it and len(places) == 4:
            STANDING[:] = random.Random(start).randbytes(4 * MIB)
        view = STANDING[start : start + length]

        assert digest_of_memory(view) == anew(view)
        assert digest_of_memory(STANDING) == anew(STANDING)


@given(st.lists(st.integers(0, 400_000), max_size=12), st.integers(0, 3))
@settings(deadline=None, max_examples=30)
def test_bytes_in_pieces_have_the_digest_of_the_whole(lengths: list[int], seed: int) -> None:
    pieces = [random.Random(seed).randbytes(length) for length in lengths]
    whole = b"".join(pieces)

    found = digest_of_blocks(map(memoryview, pieces), len(whole))

    assert found == digest_of_memory(memoryview(whole))


def test_bytes_of_another_length_or_order_have_another_digest() -> None:
    data = bytes(2 * MIB)
    swapped = data[:-CHUNK_BYTES] + b"\1" * CHUNK_BYTES

    found = [
        digest_of_memory(memoryview(one))
        for one in (data, data[:-1], data + b"\0", swapped, swapped[::-1], data[:10], data[:11])
    ]

    assert len(set(found)) == len(found)


@needs_tracker
def test_a_derived_value_is_computed_again_only_after_a_write_to_what_it_is_made_of() -> None:
    view = memoryview(anonymous(2 * MIB))
    calls: list[str] = []

    def first_byte() -> int:
        calls.append("all")
        return view[0]

    def last_byte() -> int:
        calls.append("end")
        return view[-1]

    for _ in range(2):
        now = look(view)
        remember(view, "first", first_byte)
        now.remember("last", last_byte, 2 * MIB - 10, 2 * MIB)
    view[0] ^= 1
    now = look(view)

    assert now.remember("first", first_byte) == view[0]
    assert now.remember("last", last_byte, 2 * MIB - 10, 2 * MIB) == view[-1]
    assert calls == ["all", "end", "all"]


@needs_tracker
def test_values_of_one_memory_are_told_apart_by_key_and_range() -> None:
    view = memoryview(anonymous(2 * MIB))
    now = look(view)

    kept = [now.remember(key, lambda n=n: n, 0, stop) for n, (key, stop) in enumerate(PARTS)]
    again = [look(view).remember(key, lambda: -1, 0, stop) for key, stop in PARTS]

    assert kept == again == [0, 1, 2]


PARTS = [("a", CHUNK_BYTES), ("b", CHUNK_BYTES), ("a", 2 * CHUNK_BYTES)]


@needs_tracker
def test_what_must_not_be_watched_is_read_every_time() -> None:
    view = memoryview(anonymous(2 * MIB))

    digest_of_memory(view, watch=False)
    now = look(view, watch=False)
    now.remember("key", lambda: 1)

    assert not any(now.names)
    assert now.remember("key", lambda: 2) == 2


@needs_tracker
def test_memory_that_is_overwritten_every_time_is_left_alone_ever_longer() -> None:
    view = memoryview(anonymous(2 * MIB))
    armed = []

    for index in range(32):
        if look(view)._watch is not None:
            armed.append(index)
        view[:] = bytes([index]) * len(view)

    assert armed == [0, 2, 5, 10, 19, 28]


@needs_tracker
def test_memory_that_is_overwritten_no_longer_is_known_again() -> None:
    view = memoryview(anonymous(2 * MIB))
    for index in range(4):
        view[:] = bytes([index]) * len(view)
        digest_of_memory(view)

    for _ in range(3):
        digest_of_memory(view)

    assert all(known(view))


@needs_tracker
def test_many_watches_forget_the_one_that_was_looked_at_longest_ago() -> None:
    memory = anonymous(3 * MIB)
    place = place_of(memory)
    watches = Watches(max_watches=2)
    name = b"\1" * 32

    for at in (0, MIB, 0, 2 * MIB):
        found = watches.look(place + at, MIB)
        assert found
        found[0].names[0] = name
    left = [watches.look(place + at, MIB) for at in (0, 2 * MIB)]

    assert [found and found[2][0] for found in left] == [name, name]
    gone = watches.look(place + MIB, MIB)
    assert gone
    assert gone[2][0] is None


@needs_tracker
def test_few_watches_of_much_memory_are_many_too() -> None:
    memory = anonymous(4 * MIB)
    watches = Watches(max_chunks=12)

    for at, size in ((0, MIB), (MIB, 2 * MIB), (3 * MIB, MIB)):
        watches.look(place_of(memory) + at, size)

    assert len(watches._watches) == 2


@pytest.mark.slow
@needs_tracker
def test_no_write_is_lost_while_threads_write_and_look_all_the_time() -> None:
    view = memoryview(anonymous(8 * MIB))
    stop = threading.Event()
    wrong: list[int] = []

    def write(seed: int) -> None:
        numbers = random.Random(seed)
        while not stop.is_set():
            at = numbers.randrange(len(view))
            view[at] = (view[at] + 1) % 256

    def look_at(part: memoryview) -> None:
        while not stop.is_set():
            digest_of_memory(part)

    threads = [threading.Thread(target=write, args=(seed,)) for seed in (1, 2)]
    threads += [threading.Thread(target=look_at, args=(view[at : at + 3 * MIB],)) for at in (0, 7)]
    for thread in threads:
        thread.start()
    for _ in range(12):
        digest_of_memory(view)
    stop.set()
    for thread in threads:
        thread.join()

    for at in range(0, 5 * MIB, MIB):
        part = view[at : at + 3 * MIB]
        if digest_of_memory(part) != anew(part):
            wrong.append(at)
    assert digest_of_memory(view) == anew(view)
    assert not wrong


class Interrupted(Exception):
    pass


@needs_tracker
@pytest.mark.skipif(sys.platform == "win32", reason="no timers that interrupt")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file was open
def test_no_write_is_lost_when_a_look_is_interrupted() -> None:
    view = memoryview(anonymous(2 * MIB))
    numbers = random.Random(5)

    is_due = False  # a signal may come late: another thread of the process may have taken it

    def interrupt(*_: object) -> None:
        if is_due:
            raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    n_interrupted = 0
    try:
        for _ in range(3000):
            at = numbers.randrange(len(view))
            view[at] ^= 1
            try:
                is_due = True
                signal.setitimer(signal.ITIMER_REAL, numbers.uniform(1e-5, 1.2e-4))
                look(view)
                is_due = False
            except Interrupted:
                n_interrupted += 1
            is_due = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            now = look(view)
            assert now.names[at // CHUNK_BYTES] is None
            for index in range(8):
                now.learn(index, b"known")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert 0 < n_interrupted < 3000


SEEDED = """
import mmap
import random
from nbckpt.runtime.dirty_pages.memory import digest_of_memory, look
numbers = random.Random(7)
memory = mmap.mmap(-1, 3 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory[:] = numbers.randbytes(3 << 20)
view = memoryview(memory)
for _ in range(6):
    for _ in range(20):
        memory[numbers.randrange(len(memory))] ^= 1
    print(digest_of_memory(view).hex(), digest_of_memory(view[5:-3]).hex())
digest_of_memory(view)
print("known", sum(name is not None for name in look(view).names))
"""


def lines_of(switch: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SEEDED],
        env={"NBCKPT_PAGES": switch, "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_names_are_the_same_with_and_without_the_kernel_s_help() -> None:
    with_help, without = lines_of(""), lines_of("off")

    assert with_help[:-1] == without[:-1]
    assert len(set(without)) == 7
    assert without[-1] == "known 0"


@needs_tracker
def test_the_kernel_s_help_is_taken_where_it_is_not_switched_off() -> None:
    assert lines_of("")[-1] == "known 12"


@pytest.mark.parametrize("n_bytes", [0, 1, CHUNK_BYTES, WATCHED_BYTES - 1, WATCHED_BYTES])
def test_memory_of_any_size_has_a_digest(n_bytes: int) -> None:
    assert len(digest_of_memory(memoryview(bytes(n_bytes)))) == 32


AT_THE_END = """
import atexit
from nbckpt.runtime.dirty_pages.memory import digest_of_memory
view = memoryview(bytes(64 << 20))
atexit.register(lambda: print(digest_of_memory(view).hex()))
"""


def test_large_memory_has_a_digest_while_the_process_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END],
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == digest_of_memory(memoryview(bytes(64 * MIB))).hex()
