"""A pack describes itself: what a batch closed is found, torn or damaged around it as may be."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from nbckpt.errors import BlobNotFoundError, FormatError
from nbckpt.storage.check import check
from nbckpt.storage.index_frames import FRAME_MAGIC, read_frame
from nbckpt.storage.packs import HEADER, align, find_frames
from nbckpt.storage.store import Store

RISING = bytes(range(256))  # nothing compresses it


def store_of(path: Path, blobs: list[bytes]) -> tuple[list[str], Path]:
    """A store with one commit for each blob: their digests, and the one pack."""
    store = Store.open(path)
    digests = []
    for n, blob in enumerate(blobs):
        digests.append(store.put_blob([blob]))
        variable = {"name": f"v{n}", "blob": digests[-1]}
        record = {"kind": "checkpoint", "id": f"id{n}", "name": f"step {n}", "changed": [variable]}
        store.append([{**record, "created_at": float(n)}]).result()
    store.close()
    (pack,) = (path / "packs").iterdir()
    return digests, pack


def readable(path: Path, digests: list[str]) -> list[bytes | None]:
    store = Store.open(path)
    found: list[bytes | None] = []
    for digest in digests:
        try:
            found.append(bytes(store.get_blob(digest)[0]))
        except (FormatError, BlobNotFoundError):
            found.append(None)
    store.close()
    return found


@pytest.mark.slow
def test_a_pack_cut_at_any_byte_gives_every_batch_before_it(tmp_path: Path) -> None:
    blobs = [b"first", b"second" * 3, b"third"]
    digests, pack = store_of(tmp_path / "s", blobs)
    whole = pack.read_bytes()
    fd = os.open(pack, os.O_RDONLY)
    ends = [frame.offset + frame.length for frame in find_frames(fd, pack.stem)]
    os.close(fd)

    for length in range(HEADER.size, len(whole) + 1):
        pack.write_bytes(whole[:length])
        found = readable(tmp_path / "s", digests)

        durable = sum(end <= length for end in ends)
        assert found[:durable] == blobs[:durable]
        assert set(found[durable:]) <= {None, *blobs}


@pytest.mark.slow
def test_any_flipped_byte_is_told_or_concerns_nothing(tmp_path: Path) -> None:
    blobs = [b"first", b"second" * 30, b"third"]
    digests, pack = store_of(tmp_path / "s", blobs)
    whole = pack.read_bytes()

    for i in range(len(whole)):
        damaged = bytearray(whole)
        damaged[i] ^= 0x10
        pack.write_bytes(damaged)
        found = readable(tmp_path / "s", digests)
        store = Store.open(tmp_path / "s")
        report = check(store.path)
        store.close()

        assert all(got in (None, blob) for got, blob in zip(found, blobs, strict=True))
        if found != blobs:
            assert not report.ok
            assert pack.stem in "".join(map(str, report.problems))


def test_a_damaged_chunk_is_named_with_the_variable_that_it_costs(tmp_path: Path) -> None:
    digests, pack = store_of(tmp_path / "s", [RISING, RISING[::-1]])
    damaged = pack.read_bytes().replace(RISING[::-1], b"!" + RISING[-2::-1])
    pack.write_bytes(damaged)
    store = Store.open(tmp_path / "s")

    with pytest.raises(FormatError, match=rf"damaged: pack {pack.stem} at offset \d+; `nbckpt"):
        store.get_blob(digests[1])
    (problem,) = check(store.path).problems

    assert problem.kind == "damaged"
    assert "variable 'v1' of checkpoint 'step 1'" in problem.what
    store.close()


def test_what_was_found_damaged_is_stored_again(tmp_path: Path) -> None:
    (digest,), pack = store_of(tmp_path / "s", [RISING])
    pack.write_bytes(pack.read_bytes().replace(RISING, b"!" + RISING[1:]))
    store = Store.open(tmp_path / "s")
    with pytest.raises(FormatError):
        store.get_blob(digest)

    again = store.put_blob([RISING])
    store.append([]).result()

    assert again == digest
    assert readable(tmp_path / "s", [digest]) == [RISING]
    assert check(store.path).ok
    store.close()


def test_blobs_are_found_without_any_journal(tmp_path: Path) -> None:
    blobs = [b"first", b"second" * 100_000]
    digests, _ = store_of(tmp_path / "s", blobs)
    for journal in (tmp_path / "s" / "journal").iterdir():
        journal.unlink()

    assert readable(tmp_path / "s", digests) == blobs


def test_a_frame_leads_to_those_before_it(tmp_path: Path) -> None:
    blobs = [b"first", b"second", b"third"]
    digests, _ = store_of(tmp_path / "s", blobs)
    (journal,) = (tmp_path / "s" / "journal").iterdir()
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[-2:]))
    store = Store.open(tmp_path / "s")

    found = [bytes(store.get_blob(digest)[0]) for digest in digests]

    assert found == blobs
    assert store.damages == [f"journal {journal.name}, line 1: 5 lines before it are gone"]
    store.close()


def test_a_pack_that_is_gone_is_told(tmp_path: Path) -> None:
    digests, pack = store_of(tmp_path / "s", [b"first"])
    pack.unlink()
    store = Store.open(tmp_path / "s")

    with pytest.raises(BlobNotFoundError):
        store.get_blob(digests[0])
    report = check(store.path)

    assert {problem.kind for problem in report.problems} == {"missing"}
    assert any(pack.stem in damage for damage in store.damages)
    store.close()


@pytest.mark.parametrize(("at", "said"), [(8, "pack format 9"), (3, "does not begin as a pack")])
def test_a_pack_with_a_damaged_header_is_read_and_told(tmp_path: Path, at: int, said: str) -> None:
    digests, pack = store_of(tmp_path / "s", [b"first"])
    data = bytearray(pack.read_bytes())
    data[at] = 9
    pack.write_bytes(data)

    store = Store.open(tmp_path / "s")

    assert bytes(store.get_blob(digests[0])[0]) == b"first"
    assert [p.kind for p in check(store.path).problems] == ["damaged"]
    assert any(said in damage for damage in store.damages)
    store.close()


@pytest.mark.parametrize("at", [0, 20, 70, 115, 130, -1])
def test_a_damaged_index_frame_costs_no_chunk_but_those_whose_entries_are_hit(
    tmp_path: Path, at: int
) -> None:
    values = [b"first" * 9, b"second" * 9, b"third" * 9]
    digests, pack = store_of(tmp_path / "s", values)
    data = bytearray(pack.read_bytes())
    frame = data.rindex(FRAME_MAGIC)
    data[(frame + at) if at >= 0 else len(data) - 1] ^= 1
    pack.write_bytes(data)

    store = Store.open(tmp_path / "s")
    came_back = []
    for digest, value in zip(digests, values, strict=True):
        with suppress(FormatError, BlobNotFoundError):
            assert bytes(store.get_blob(digest)[0]) == value
            came_back.append(digest)

    assert len(came_back) >= (2 if at >= 64 else 3)
    assert not check(store.path).ok
    assert any("index at offset" in damage for damage in store.damages)
    store.close()


def test_of_a_chunk_that_is_damaged_another_copy_is_read(tmp_path: Path) -> None:
    value = bytes(range(256)) * 400
    one, other = Store.open(tmp_path / "s"), Store.open(tmp_path / "s")
    digest = one.put_blob([b"", value])
    other.put_blob([b"", value])
    one.append([{"kind": "event", "at": 1.0}]).result()
    other.append([{"kind": "event", "at": 1.0}]).result()
    packs = sorted((tmp_path / "s" / "packs").iterdir())
    one.close()
    other.close()

    for pack in packs:
        whole = pack.read_bytes()
        pack.write_bytes(whole.replace(value, value[:-1] + b"x"))
        store = Store.open(tmp_path / "s")
        assert bytes(store.get_blob(digest)[1]) == value
        store.close()
        pack.write_bytes(whole)

    assert len(packs) == 2


def test_a_frame_inside_a_variable_is_not_taken_for_one(tmp_path: Path) -> None:
    _, pack = store_of(tmp_path / "s", [b"first"])
    pack_as_value = pack.read_bytes()

    (digest,), outer = store_of(tmp_path / "t", [pack_as_value * 3])

    assert readable(tmp_path / "t", [digest]) == [pack_as_value * 3]
    fd = os.open(outer, os.O_RDONLY)
    frames = [frame.offset for frame in find_frames(fd, outer.stem)]
    assert read_frame(fd, outer.stem, 64) is None
    os.close(fd)
    assert len(frames) == 1


def test_align_gives_the_next_multiple() -> None:
    assert [align(n, 64) for n in (0, 1, 64, 65)] == [0, 64, 64, 128]
