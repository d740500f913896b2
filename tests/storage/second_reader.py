"""A second reader of stores, written from `FORMAT.md` alone: it imports nothing of nbckpt or NumPy.

It lists the checkpoints of a plain store and brings back plain values and arrays.
"""

from __future__ import annotations

import io
import itertools
import json
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import zstandard
from blake3 import blake3

Record = dict[str, Any]
FRAME_MAGIC = b"\x93NBINDEX\xf1\x0a\x0d\x1a\x9e\x00\x07\xc4"
FORMER_PACK = b"\x93NBPACK\n"
SUM_TAIL = len(',"sum":"0123456789abcdef"}')
MAC_TAIL = len(',"mac":""') + 32


class DType:
    """What NumPy pickles of a dtype: a kind with a size, and then the order of its bytes."""

    def __init__(self, text: str, *_: object) -> None:
        self.text = text
        self.order = "|"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]


class Array(NamedTuple):
    """An array as its bytes, in the order `"C"` or `"F"`."""

    data: bytes
    dtype: str
    shape: tuple[int, ...]
    order: str = "C"


def array(data: Any, dtype: DType, shape: tuple[int, ...], order: str, _: bool) -> Array:
    return Array(bytes(data), dtype.order + dtype.text, shape, order)


def empty_array(dtype: DType, shape: tuple[int, ...], writeable: bool) -> Array:
    return array(b"", dtype, shape, "C", writeable)


def array_view(
    memory: Any, offset: int, shape: tuple[int, ...], dtype: DType, strides: Any, writeable: bool
) -> Array:
    data = memory.data if isinstance(memory, Array) else bytes(memory)
    places = (
        offset + sum(i * stride for i, stride in zip(index, strides, strict=True))
        for index in itertools.product(*map(range, shape))
    )
    size = int(dtype.text[1:]) * (4 if dtype.text[0] == "U" else 1)
    return array(b"".join(data[p : p + size] for p in places), dtype, shape, "C", writeable)


STORED = {"array": array, "empty_array": empty_array, "array_view": array_view}
GLOBALS = {("nbckpt", "stored"): STORED.__getitem__, ("numpy", "dtype"): DType}


class Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return GLOBALS[module, name]


def rank(record: Record) -> tuple[bool, bool, float]:
    return record["trusted"], "carried" in record, record.get("at", 0.0)


class Store:
    """A store at a path, read for a user with a key, or for nobody."""

    def __init__(self, path: Path, users_key: bytes | None) -> None:
        self.path = path
        mark = json.loads((path / "format.json").read_bytes())
        if mark.get("nbckpt") != 1 or "encryption" in mark:
            raise ValueError(mark)
        self._id = mark.get("id", "")
        self._key = users_key
        self.records = self._counting()
        self._chunks: dict[bytes, tuple[str, int, int, int, int]] = {}
        for record in self.records:
            if record["kind"] == "batch":
                self._take_frames(record["pack"], record["frame"])

    def _lines(self, journal: Path) -> Iterator[Record]:
        *lines, _ = journal.read_bytes().split(b"\n")  # the last one is unfinished, or empty
        of = f" of {self._id}" if self._id else ""
        name = f"nbckpt journal {journal.stem}{of}".encode()
        key = self._key and blake3(name, key=self._key).digest()
        for line in lines:
            text = line[:-SUM_TAIL]
            if line[-SUM_TAIL:] != b',"sum":"%b"}' % blake3(text).hexdigest()[:16].encode():
                continue
            signed = text[:-MAC_TAIL]
            mac = blake3(signed, key=key).hexdigest()[:32] if key else ""
            trusted = bool(mac) and text.endswith(b',"mac":"%b"' % mac.encode())
            yield {**json.loads(line), "trusted": trusted}

    def _counting(self) -> list[Record]:
        paths = sorted((self.path / "journal").glob("[!.]*.jsonl"))
        journals = {path.stem: list(self._lines(path)) for path in paths}
        prunes = [r[0] for r in journals.values() if r and r[0]["kind"] == "prune"]
        replaced = {name for prune in prunes for name in prune["replaces"]}
        pruned = {i for prune in prunes for i in prune["pruned"]}
        timed = []
        for name, records in journals.items():
            latest = 0.0
            for record in records if name not in replaced else ():
                latest = max(latest, record.get("at", record.get("created_at", 0.0)))
                if record["kind"] not in ("checkpoint", "recording") or record["id"] not in pruned:
                    timed.append((latest, record))
        return [record for _, record in sorted(timed, key=lambda pair: pair[0])]

    @property
    def checkpoints(self) -> dict[str, Record]:
        """Id → record of each checkpoint that counts, oldest first."""
        found: dict[str, Record] = {}
        for record in self.records:
            if record["kind"] == "checkpoint":
                found[record["id"]] = max(found.get(record["id"], record), record, key=rank)
        return found

    def manifest(self, checkpoint: str | None) -> dict[str, Record]:
        """Name → variable, with the trust of the record that it stands in."""
        record = self.checkpoints.get(checkpoint or "")
        if record is None:
            return {}
        found = self.manifest(record.get("parent"))
        for variable in (*record.get("carried", ()), *record.get("changed", ())):
            trusted = record["trusted"] and not variable.get("untrusted")
            found[variable["name"]] = {**variable, "trusted": trusted}
        return {n: v for n, v in found.items() if n not in record.get("removed", ())}

    def value(self, checkpoint: str, name: str) -> Any:
        """The value of a variable."""
        variable = self.manifest(checkpoint)[name]
        if not variable["trusted"]:
            raise PermissionError(name)
        first, *others = self.blob(variable["blob"])
        magic, count = struct.unpack_from("<4sI", first)
        assert magic == b"NBST"
        start = 8 + 8 * count
        whole = b""
        sizes = struct.iter_unpack("<Q", first[8:start])
        for (size,), payload in zip(sizes, others[:count], strict=True):
            whole += first[start : start + size] + payload
            start += size
        stream = io.BytesIO(whole + first[start:])
        return Unpickler(stream, buffers=others[count:]).load()[name]

    def _take_frames(self, pack: str, offset: int) -> None:
        data = (self.path / "packs" / f"{pack}.pack").read_bytes()
        assert not data.startswith(FORMER_PACK)
        while offset:
            magic, own, previous, _, count = struct.unpack_from("<16sQQQI", data, offset)
            end = offset + 64 + 48 * count
            whole = blake3(data[offset:end]).digest() == data[end : end + 32]
            if magic != FRAME_MAGIC or own != offset or not whole:
                return
            for entry in struct.iter_unpack("<32sQIB3s", data[offset + 64 : end]):
                self._chunks[entry[0]] = (pack, *entry[1:4], int.from_bytes(entry[4], "little"))
            offset = previous

    def _chunk(self, name: bytes) -> bytes:
        pack, at, length, codec, size = self._chunks[name]
        with (self.path / "packs" / f"{pack}.pack").open("rb") as file:
            file.seek(at)
            stored = file.read(length)
        data = [lambda: stored, lambda: zstandard.decompress(stored), lambda: bytes(size)][codec]()
        assert blake3(data).digest() == name
        return data

    def blob(self, digest: str) -> list[bytes]:
        """The parts of a blob."""
        root = self._chunk(bytes.fromhex(digest))
        magic, n_parts = struct.unpack_from("<4sI", root)
        assert magic == b"NBTR"
        parts, at = [], 8
        for _ in range(n_parts):
            size, flags, n_names = struct.unpack_from("<QBI", root, at)
            names = root[at + 13 : at + 13 + 32 * n_names]
            at += 13 + 32 * n_names
            part = self._joined(self._joined(names) if flags & 2 else names)
            assert len(part) == size
            parts.append(part)
        return parts

    def _joined(self, names: bytes) -> bytes:
        return b"".join(self._chunk(names[i : i + 32]) for i in range(0, len(names), 32))
