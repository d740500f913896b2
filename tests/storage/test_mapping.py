"""Ranges of files become one piece of memory, mapped where they can be."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbckpt.storage.mapping import MAX_RUNS, Run, gather, join_runs

PAGE = 4096
CHUNK = 256 << 10


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[int, bytes]]:
    data = bytes(i * 7 % 251 for i in range(PAGE)) * (3 * CHUNK // PAGE)
    data = b"".join(bytes([n]) + data[n * PAGE + 1 : (n + 1) * PAGE] for n in range(192))
    (tmp_path / "file").write_bytes(data)
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    yield fd, data
    os.close(fd)


def is_mapped(memory: memoryview) -> bool:
    """Whether the kernel says that these addresses are those of a file."""
    import ctypes

    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        if start <= address < end:
            return line.endswith("file")
    return False


linux = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc")


def test_runs_that_follow_each_other_become_one() -> None:
    runs = [Run(3, 0, 10), Run(3, 10, 5), Run(4, 15, 5), Run(4, 0, 1)]

    assert join_runs(runs) == [Run(3, 0, 15), Run(4, 15, 5), Run(4, 0, 1)]


@linux
def test_pages_in_another_order_are_mapped_as_one_piece(file: tuple[int, bytes]) -> None:
    fd, data = file

    memory = gather([Run(fd, 2 * CHUNK, CHUNK), Run(fd, 0, CHUNK), Run(fd, CHUNK, 100)])

    assert is_mapped(memory)
    assert memory == data[2 * CHUNK :] + data[:CHUNK] + data[CHUNK : CHUNK + 100]


@linux
@pytest.mark.parametrize(
    "cut", [[(64, CHUNK)], [(0, CHUNK - 64), (CHUNK, CHUNK)], [(0, 3000)]], ids=str
)
def test_what_no_page_begins_with_is_read(
    file: tuple[int, bytes], cut: list[tuple[int, int]]
) -> None:
    fd, data = file

    memory = gather([Run(fd, offset, length) for offset, length in cut])

    assert not is_mapped(memory)
    assert memory == b"".join(data[offset : offset + length] for offset, length in cut)


@linux
def test_more_runs_than_a_process_should_map_are_read(file: tuple[int, bytes]) -> None:
    fd, data = file
    runs = [Run(fd, n % 2 * 2 * PAGE, PAGE) for n in range(MAX_RUNS + 1)]

    memory = gather(runs)

    assert not is_mapped(memory)
    assert memory[:PAGE] == data[:PAGE]
    assert memory[PAGE : 2 * PAGE] == data[2 * PAGE : 3 * PAGE]


@pytest.mark.slow
@linux
def test_what_the_kernel_will_not_map_is_read(tmp_path: Path) -> None:
    """A process that has nearly all the mappings that it may have."""
    (tmp_path / "file").write_bytes(bytes(range(256)) * 4096)
    script = """
        import mmap, os, sys
        from nbckpt.storage.mapping import Run, gather
        fd = os.open(sys.argv[1], os.O_RDONLY)
        data = os.pread(fd, 1 << 20, 0)
        runs = [Run(fd, n * 8192, 4096) for n in reversed(range(100))]
        gather(runs)
        held = []
        try:
            while True:
                held.append(mmap.mmap(-1, 4096, prot=mmap.PROT_READ << len(held) % 2))
        except OSError:
            del held[-60:]
        memory = gather(runs)
        del held
        assert memory == b"".join(data[r.offset : r.offset + 4096] for r in runs)
    """

    subprocess.run([sys.executable, "-c", textwrap.dedent(script), tmp_path / "file"], check=True)


def test_a_file_that_ends_too_soon_is_told_before_it_kills(file: tuple[int, bytes]) -> None:
    fd, data = file

    with pytest.raises(EOFError):
        gather([Run(fd, 0, len(data) + PAGE)])


def test_nothing_is_an_empty_piece() -> None:
    memory = gather([])

    assert len(memory) == 0
    assert not memory.readonly
