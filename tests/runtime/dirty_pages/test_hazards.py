"""What programs do to memory behind everybody's back. A stale name would be a wrong restore."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbckpt.runtime.dirty_pages import mappings
from nbckpt.runtime.dirty_pages.mappings import is_private, trust_file
from nbckpt.runtime.dirty_pages.memory import digest_of_memory
from nbckpt.storage.mapping import Run, gather
from tests.runtime.dirty_pages.ranges import (
    MIB,
    anew,
    anonymous,
    at,
    known,
    needs_tracker,
    place_of,
)

PAGE = mmap.PAGESIZE


@pytest.fixture(scope="module")
def libc() -> Any:
    """The C library's allocator and `mremap`."""
    libc = ctypes.CDLL(None, use_errno=True)
    for name, kinds in {
        "malloc": [ctypes.c_size_t],
        "realloc": [ctypes.c_void_p, ctypes.c_size_t],
        "free": [ctypes.c_void_p],
    }.items():
        getattr(libc, name).argtypes = kinds
        getattr(libc, name).restype = ctypes.c_void_p
    return libc


@pytest.fixture
def content(tmp_path: Path) -> Path:
    path = tmp_path / "content"
    path.write_bytes(os.urandom(2 * MIB))
    return path


def mapped(path: Path, flags: int) -> mmap.mmap:
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0, flags=flags)


def trust(path: Path, memory: mmap.mmap) -> None:
    with path.open("rb") as file:
        trust_file(file.fileno(), place_of(memory))


def overwrite(path: Path, offset: int, data: bytes) -> None:
    """As another process would."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


@needs_tracker
@pytest.mark.parametrize("n_bytes", [4 * PAGE, 2 * MIB, 4 * MIB])
@pytest.mark.parametrize("advice", ["MADV_HUGEPAGE", "MADV_NOHUGEPAGE"])
def test_pages_that_were_dropped_are_not_known(advice: str, n_bytes: int) -> None:
    memory = mmap.mmap(-1, 8 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(getattr(mmap, advice))
    memory[:] = b"x" * (8 * MIB)
    view = memoryview(memory)
    digest_of_memory(view)
    assert all(known(view))

    memory.madvise(mmap.MADV_DONTNEED, 2 * MIB, n_bytes)

    assert view[2 * MIB] == 0
    assert digest_of_memory(view) == anew(view)


@needs_tracker
def test_new_memory_at_an_old_address_is_not_known(libc: Any) -> None:
    size = 64 * MIB  # more than malloc ever takes from its heap
    old = libc.malloc(size)
    ctypes.memset(old, 1, size)
    digest_of_memory(at(old, size))
    libc.free(old)

    new = libc.malloc(size)
    view = at(new, size)

    assert new == old
    assert digest_of_memory(view) == anew(view)
    libc.free(new)


@pytest.mark.slow
@needs_tracker
def test_memory_that_moved_or_grew_is_not_known(libc: Any) -> None:
    place = libc.malloc(64 * MIB)
    ctypes.memset(place, 1, 64 * MIB)
    digest_of_memory(at(place, 64 * MIB))

    for size in (128 * MIB, 256 * MIB, 64 * MIB):
        place = libc.realloc(place, size)
        view = at(place, size)
        ctypes.memset(place + size // 2, size % 251, 10)
        assert digest_of_memory(view) == anew(view)
        assert digest_of_memory(view[: 8 * MIB]) == anew(view[: 8 * MIB])
    libc.free(place)


@needs_tracker
def test_what_the_kernel_writes_for_a_read_is_seen(content: Path) -> None:
    view = memoryview(anonymous(2 * MIB))
    digest_of_memory(view)
    assert all(known(view))

    with content.open("rb", buffering=0) as file:
        file.readinto(view[MIB + PAGE : MIB + PAGE + 10])

    assert known(view) == [index != 4 for index in range(8)]
    assert digest_of_memory(view) == anew(view)


@needs_tracker
def test_the_first_and_last_byte_of_memory_that_begins_inside_a_page_are_seen() -> None:
    whole = memoryview(anonymous(4 * MIB))
    view = whole[PAGE + 3 : PAGE + 3 + 2 * MIB + 5]

    for place in (0, len(view) - 1):
        digest_of_memory(view)
        view[place] ^= 1
        assert not known(view)[0 if place == 0 else -1]
        assert digest_of_memory(view) == anew(view)


# Memory of others


def test_shared_memory_is_never_trusted(content: Path) -> None:
    memory = mapped(content, mmap.MAP_SHARED)
    view = memoryview(memory)
    digest_of_memory(view)

    overwrite(content, 5000, b"other")

    assert not any(known(view))
    assert bytes(view[5000:5005]) == b"other"
    assert digest_of_memory(view) == anew(view)


def test_a_memory_map_of_a_file_is_never_trusted(content: Path) -> None:
    for mode in ("r+", "r", "c"):
        array = np.memmap(content, mode=mode, dtype="u1")
        view = memoryview(array).cast("B")
        digest_of_memory(view)

        overwrite(content, 9000, mode.encode() * 3)

        assert not any(known(view))
        assert digest_of_memory(view) == anew(view)


def test_memory_that_a_gpu_writes_to_by_itself_is_never_trusted() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    pinned = torch.zeros(2 * MIB, dtype=torch.uint8, pin_memory=True)
    view = memoryview(pinned.numpy())
    digest_of_memory(view)

    pinned.copy_(torch.full((2 * MIB,), 7, dtype=torch.uint8, device="cuda"), non_blocking=True)
    torch.cuda.synchronize()

    assert not any(known(view))
    assert view[5] == 7
    assert digest_of_memory(view) == anew(view)


@needs_tracker
def test_a_private_map_of_a_trusted_file_is_known(content: Path) -> None:
    memory = mapped(content, mmap.MAP_PRIVATE)
    view = memoryview(memory)
    trust(content, memory)
    digest_of_memory(view)
    assert all(known(view))

    view[3 * PAGE] ^= 1

    assert known(view) == [index != 0 for index in range(8)]
    assert digest_of_memory(view) == anew(view)


@needs_tracker
def test_memory_that_a_store_brings_back_is_known(tmp_path: Path) -> None:
    path = tmp_path / "pack"
    path.write_bytes(os.urandom(4 * MIB))
    half = MIB // 2
    with path.open("rb") as file:
        runs = [Run(file.fileno(), at * MIB + half, half) for at in (3, 1, 2, 0)]
        view = gather(runs)
    digest_of_memory(view)
    assert all(known(view))

    view[half] ^= 1

    assert known(view) == [index != 2 for index in range(8)]
    assert digest_of_memory(view) == anew(view)


@needs_tracker
def test_trust_is_in_a_file_and_not_in_an_address(content: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(bytes(2 * MIB))
    memory = mapped(content, mmap.MAP_PRIVATE)
    trust(content, memory)
    place = place_of(memory)
    memory.close()

    again = mapped(other, mmap.MAP_PRIVATE)

    assert place_of(again) == place
    assert is_private(place, place + 2 * MIB)[0] is False


@needs_tracker
def test_a_page_of_a_file_that_shows_the_file_again_is_not_known(content: Path) -> None:
    memory = mapped(content, mmap.MAP_PRIVATE)
    view = memoryview(memory)
    trust(content, memory)
    for place in (0, PAGE, 5 * PAGE):
        view[place] ^= 1
    digest_of_memory(view)
    view[PAGE] ^= 2
    digest_of_memory(view)

    memory.madvise(mmap.MADV_DONTNEED, PAGE, 2 * PAGE)

    assert digest_of_memory(view) == anew(view)


@needs_tracker
def test_a_page_that_shows_the_file_again_is_unknown_to_every_view(content: Path) -> None:
    memory = mapped(content, mmap.MAP_PRIVATE)
    view = memoryview(memory)
    trust(content, memory)
    part = view[: MIB + 5]
    digest_of_memory(view)
    digest_of_memory(part)
    view[PAGE] ^= 1
    digest_of_memory(view)  # which takes the kernel's mark away
    digest_of_memory(part)

    memory.madvise(mmap.MADV_DONTNEED, PAGE, PAGE)

    assert digest_of_memory(part) == anew(part)
    assert digest_of_memory(view) == anew(view)


def test_mappings_are_the_same_by_either_way_of_asking(content: Path) -> None:
    memories = [anonymous(2 * MIB), mapped(content, mmap.MAP_SHARED)]
    memories += [mapped(content, mmap.MAP_PRIVATE)]

    for memory in memories:
        start = place_of(memory)
        read = list(mappings._read(start, start + 2 * MIB))
        asked = list(mappings._mappings(start, start + 2 * MIB))
        assert asked == read
        assert read
    assert place_of(memories[1])
    assert [is_private(place_of(m), place_of(m) + 2 * MIB)[0] for m in memories] == [
        sys.platform == "linux",
        False,
        False,
    ]


def test_a_range_with_a_gap_is_no_private_memory(libc: Any) -> None:
    memory = anonymous(4 * MIB)
    start = place_of(memory)
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    gap = start + MIB, MIB
    # Mapped again at the end, so that closing the whole unmaps nobody else's memory.
    libc.munmap(*gap)
    found = is_private(start, start + 4 * MIB)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    assert libc.mmap(*gap, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10, -1, 0) == gap[0]

    assert found[0] is False


# Forks

FORKS = """
import mmap, os, sys
from nbckpt.runtime.dirty_pages.memory import digest_of_memory, look
from nbckpt.runtime.dirty_pages.tracker import tracker_of_process

def anew(view):
    return digest_of_memory(view, watch=False)

memory = mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory[:] = b"x" * len(memory)
view = memoryview(memory)
first = digest_of_memory(view)
parents = tracker_of_process()
child = os.fork()
if child == 0:
    ok = not any(look(view).names)
    ok = ok and digest_of_memory(view) == first
    ok = ok and (parents is None or tracker_of_process() not in (None, parents))
    memory[70000] = 1
    ok = ok and digest_of_memory(view) == anew(view) != first
    ok = ok and (parents is None or None not in look(view).names)
    os._exit(0 if ok else 1)
assert os.waitpid(child, 0)[1] == 0, "child"
assert parents is None or None not in look(view).names
child = os.fork()
if child == 0:
    sys.stdin.read()
    os._exit(0)
memory[9] = 1
assert look(view).names[0] is None
assert digest_of_memory(view) == anew(view) != first
sys.stdin.close()
os.kill(child, 9)
os.waitpid(child, 0)
shared = mmap.mmap(-1, 2 << 20)
view = memoryview(shared)
first = digest_of_memory(view)
child = os.fork()
if child == 0:
    shared[5000] = 1
    os._exit(0)
os.waitpid(child, 0)
assert digest_of_memory(view) == anew(view) != first
print("done")
"""


@pytest.mark.parametrize("switch", ["", "off"])
def test_a_fork_shares_no_knowledge_and_takes_none_away(switch: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS],
        env={"NBCKPT_PAGES": switch, "PYTHONPATH": ":".join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stdout == "done\n", done.stderr


CLOSED = """
import os
from nbckpt.runtime.dirty_pages.memory import digest_of_memory, look
memory = bytearray(2 << 20)
view = memoryview(memory)
digest_of_memory(view)
os.closerange(3, 1000)
files = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
memory[5] = 1
assert digest_of_memory(view) == digest_of_memory(view, watch=False)
assert not any(look(view).names)
print("done")
"""


def test_a_program_that_closes_all_descriptors_gets_true_digests() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLOSED],
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "done\n", done.stderr


REFUSED = """
import ctypes, struct, sys
from nbckpt.runtime.dirty_pages.memory import digest_of_memory, look
from nbckpt.runtime.dirty_pages.tracker import tracker_of_process

number = {"x86_64": 323, "aarch64": 282}[sys.argv[1]]
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0
view = memoryview(bytearray(2 << 20))
before = digest_of_memory(view)
view[5] = 1
assert tracker_of_process() is None
assert digest_of_memory(view) == digest_of_memory(view, watch=False) != before
assert not any(look(view).names)
print("done")
"""


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64") or sys.platform != "linux",
    reason="only Linux has filters of system calls",
)
def test_where_the_kernel_is_told_to_refuse_everything_is_read() -> None:
    done = subprocess.run(
        [sys.executable, "-c", REFUSED, platform.machine()],
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "done\n", done.stderr
