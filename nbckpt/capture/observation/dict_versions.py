"""Dicts, out of many, that were written to since the last look: found in about ten microseconds.

Notes
-----
Up to 3.13 CPython gives a dict another version tag at each change. The tags of all dicts are read
in one go: by NumPy, if the user has imported it, from an array that lies over the whole address
space, in the order of the addresses; else by `bytes.join` of one view per tag. Where there is no
tag (3.14, other Pythons) the number of entries is read instead, which does not tell that a key
was bound again.
"""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Sequence
from typing import Any

from nbckpt.fingerprint.user_names import Own
from nbckpt.runtime.dict_version import WORD, offset_of_length, offset_of_version

_FIRST, _WORDS = 0x1000, 1 << 44  # 128 TB: user space with 48 bits
_CHUNK = 64 * WORD


class DictVersions(Own):
    """Tells which dicts were written to.

    Attributes
    ----------
    tells_rebinding
        Whether a key that is bound again is seen; else only keys that came or went.
    """

    def __init__(self) -> None:
        tag = offset_of_version()
        self.tells_rebinding = tag is not None
        self._offset = offset_of_length() if tag is None else tag
        self._dicts: list[dict[Any, Any]] = []  # held: their memory is read
        self._addresses = array("q")
        self._views: list[memoryview] = []
        self._last = b""
        self._gathered: _Gathered | None = None
        self._n_gathered = -1

    def __len__(self) -> int:
        return len(self._dicts)

    def add(self, table: dict[Any, Any]) -> int:
        """Follow a dict from now on; its number, counted from 0."""
        self._dicts.append(table)
        if self._offset is not None:
            address = id(table) + self._offset
            self._addresses.append(address)
            if "numpy" not in sys.modules:
                self._views.append(_view(address))
        return len(self._dicts) - 1

    def copy(self) -> DictVersions:
        """The same, which goes on by itself."""
        copy = DictVersions()
        copy._dicts, copy._addresses = self._dicts.copy(), self._addresses[:]
        copy._last = self._words()
        return copy

    def part(self, numbers: Sequence[int]) -> DictVersions:
        """Some of the dicts, in this order; what has changed since the last look is not known."""
        part, last = DictVersions(), memoryview(self._words()).cast("q")
        part._dicts = [self._dicts[n] for n in numbers]
        part._addresses = array("q", (self._addresses[n] for n in numbers))
        part._last = array("q", (last[n] for n in numbers)).tobytes()
        return part

    def _words(self) -> bytes:
        """The versions of all dicts at the last look."""
        return self._last if self._gathered is None else self._gathered.last()

    def changed(self) -> list[int]:
        """Numbers of the dicts that were written to since the last call, and of new ones."""
        if self._offset is None:
            return list(range(len(self._dicts)))
        np = sys.modules.get("numpy")
        if np is not None and hasattr(np, "uint64") and self._gathers(np):
            assert self._gathered is not None
            return self._gathered.changed()
        for address in self._addresses[len(self._views) :]:
            self._views.append(_view(address))
        now, last = b"".join(self._views), self._last
        self._last = now
        return _differing(now, last)

    def _gathers(self, np: Any) -> bool:
        """Have NumPy read the words of all dicts, if these lie where they usually do."""
        if self._n_gathered != len(self._addresses):
            last = self._words()
            self._n_gathered, self._gathered, self._last = len(self._addresses), None, last
            at = (np.array(self._addresses, dtype=np.int64) - _FIRST) // WORD
            if len(at) and at.min() >= 0 and at.max() < _WORDS:
                self._gathered = _Gathered(np, at, last)
        return self._gathered is not None


class _Gathered:
    """Words of memory that NumPy reads, in the order in which they lie there."""

    def __init__(self, np: Any, places: Any, last: bytes) -> None:
        self._np = np
        self._space = np.asarray(_Space())
        self._order = np.argsort(places, kind="stable")
        self._places = places[self._order]
        known = np.full(len(places), np.iinfo(np.uint64).max, dtype=np.uint64)  # no tag of a dict
        known[: len(last) // WORD] = np.frombuffer(last, dtype=np.uint64)
        self._last = known[self._order]

    def changed(self) -> list[int]:
        """Numbers of the words that are others than before."""
        now = self._space.take(self._places, mode="clip")
        found = self._np.flatnonzero(now != self._last)
        self._last = now
        numbers: list[int] = self._order[found].tolist()
        return sorted(numbers)

    def last(self) -> bytes:
        """Versions that were read last, in the order of the numbers."""
        words = self._np.empty_like(self._last)
        words[self._order] = self._last
        return bytes(words.tobytes())


def _differing(now: bytes, last: bytes) -> list[int]:
    """Numbers of the words that differ."""
    if now == last:
        return []
    found: list[int] = []
    for start in range(0, len(now), _CHUNK):
        chunk = now[start : start + _CHUNK]
        if chunk != last[start : start + _CHUNK]:
            words = range(start, start + len(chunk), WORD)
            found += [w // WORD for w in words if now[w : w + WORD] != last[w : w + WORD]]
    return found


class _Space:
    """All memory as an array of words; only what is known to be there is ever read of it."""

    __array_interface__ = {  # noqa: RUF012  # NumPy asks for a dict
        "data": (_FIRST, True),
        "shape": (_WORDS,),
        "typestr": "<u8" if sys.byteorder == "little" else ">u8",
        "version": 3,
    }


def _view(address: int) -> memoryview:
    return memoryview((ctypes.c_char * WORD).from_address(address)).cast("B")
