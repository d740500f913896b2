"""Names and derived values of large memory, found out again only where it was written.

A look comes first and the reading afterwards: a write that falls between is seen by the next look.
The other way round it would be lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar, cast

from blake3 import blake3

from nbckpt.runtime.dirty_pages.addresses import Place, place_of
from nbckpt.runtime.dirty_pages.devices import is_pinned_at
from nbckpt.runtime.dirty_pages.watches import (
    CHUNK_BYTES,
    MAX_VALUES,
    Watch,
    Watches,
)
from nbckpt.runtime.mapped_files import require_there

WATCHED_BYTES = 512 << 10
"""Smaller memory is hashed sooner than the kernel is asked."""

BATCH = 16
"""Chunks that a thread hashes at a time."""

MAX_THREADS = 8

__all__ = [
    "CHUNK_BYTES",
    "READS_ALL",
    "WATCHED_BYTES",
    "Look",
    "Place",
    "digest_of_blocks",
    "digest_of_memory",
    "digest_of_names",
    "is_as_known",
    "look",
    "look_at",
    "names_of_memory",
    "remember",
]

T = TypeVar("T")

READS_ALL: ContextVar[bool] = ContextVar("nbckpt_reads_all", default=False)
"""True while nothing that is known of memory counts: all that is looked at is read."""

_watches = Watches()


def _begin_anew() -> None:
    """In the child of a fork: nothing of its memory is watched yet."""
    global _watches  # noqa: PLW0603  # one for the process, like the kernel's own
    _watches = Watches()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


@dataclass(slots=True, eq=False)
class Look:
    """State of a range of memory as it is known at one moment.

    Attributes
    ----------
    names
        The BLAKE3 digest of each chunk of `CHUNK_BYTES`, counted from the begin of the range;
        None where it must be found out.
    """

    names: list[bytes | None]
    _all: Watches | None = None
    _watch: Watch | None = None
    _clock: int = 0

    def learn(self, index: int, name: bytes) -> None:
        """Take in the name of a chunk, found out after the look.

        It is forgotten if the chunk was written in between.
        """
        self.names[index] = name
        if self._watch is None or self._all is None:
            return
        with self._all.lock:
            if self._watch.written_at[index] <= self._clock:
                self._watch.names[index] = name

    def remember(
        self, key: Hashable, compute: Callable[[], T], start: int = 0, stop: int | None = None
    ) -> T:
        """`compute()`, or what it returned when nothing of the memory was written since.

        Parameters
        ----------
        key
            Tells what is computed from this memory; whatever the result depends on beside the
            bytes is part of it.
        compute
            Reads the memory.
        start, stop
            The bytes that it reads; all if not given.
        """
        if self._watch is None or self._all is None:
            return compute()
        last = self._watch.n_bytes if stop is None else stop
        chunks = range(start // CHUNK_BYTES, -(-last // CHUNK_BYTES))
        known = self._watch.values.get((key, start, stop))
        if known and self._watch.holds(chunks, known[0]):
            return cast(T, known[1])
        value = compute()
        if len(self._watch.values) >= MAX_VALUES:
            self._watch.values.clear()
        self._watch.values[key, start, stop] = (self._clock, value)
        return value

    @property
    def moment(self) -> tuple[Watch, int] | None:
        """Watch and clock by which looks are compared; None if nothing is watched."""
        return (self._watch, self._clock) if self._watch else None

    def is_unwritten_since(self, moment: tuple[Watch, int] | None) -> bool:
        """True if nothing was written between another look at the same place and this one."""
        if self._watch is None or moment is None or moment[0] is not self._watch:
            return False
        return self._watch.holds(range(len(self._watch.names)), moment[1])


def look(view: memoryview, *, watch: bool = True) -> Look:
    """Look at the bytes of `view`; writes from here on are seen by the next look.

    Parameters
    ----------
    view
        Contiguous bytes.
    watch
        False for memory that a device writes to, and for what is about to be freed. What CUDA has
        pinned is never watched.
    """
    return look_at(place_of(view), watch=watch)


def look_at(place: Place, *, watch: bool = True) -> Look:
    """`look` at bytes that the caller keeps alive."""
    is_watchable = watch and place.n_bytes >= WATCHED_BYTES and not READS_ALL.get()
    if is_watchable and not is_pinned_at(place.address):
        found = _watches.look(place.address, place.n_bytes)
        if found:
            watched, clock, names = found
            return Look(names, _watches, watched, clock)
    return Look([None] * -(-place.n_bytes // CHUNK_BYTES))


def is_as_known(view: memoryview, chunk: int) -> bool:
    """True if what is known of one chunk of `view` is so: it is read, whatever counts as unwritten.

    A thread that writes meanwhile is no contradiction.
    """
    require_there(view)
    known = look(view)
    data = view[chunk * CHUNK_BYTES : (chunk + 1) * CHUNK_BYTES]
    if known.names[chunk] in (None, blake3(data).digest()):
        return True
    again = look(view)
    return again.names[chunk] in (None, blake3(data).digest())


def remember(view: memoryview, key: Hashable, compute: Callable[[], T], *, watch: bool = True) -> T:
    """`compute()`, which reads `view`; again only if a page of it was written."""
    return look(view, watch=watch).remember(key, compute)


def digest_of_memory(view: memoryview, *, watch: bool = True) -> bytes:
    """The digest of the bytes of `view`; what is known of its chunks is not read again.

    The same for equal bytes wherever they lie, watched or not.

    Parameters
    ----------
    view
        Contiguous, as bytes.
    watch
        See `look`.
    """
    require_there(view)
    if view.nbytes < WATCHED_BYTES:
        return blake3(view).digest()
    return digest_of_names(names_of_memory(view, watch=watch), view.nbytes)


def names_of_memory(view: memoryview, *, watch: bool = True) -> list[bytes]:
    """The name of each chunk of `view`; what is known is not read again.

    Parameters
    ----------
    watch
        See `look`.
    """
    known = look(view, watch=watch)
    unknown = [index for index, name in enumerate(known.names) if name is None]
    for index, name in zip(unknown, _names(view, unknown), strict=True):
        known.learn(index, name)
    return cast(list[bytes], known.names)


def digest_of_blocks(blocks: Iterable[memoryview], n_bytes: int) -> bytes:
    """`digest_of_memory` of bytes that come in pieces, `n_bytes` in all."""
    if n_bytes < WATCHED_BYTES:
        hasher = blake3()
        for block in blocks:
            hasher.update(block)
        return hasher.digest()
    names: list[bytes | None] = []
    hasher, n_free = blake3(), CHUNK_BYTES
    for block in blocks:
        rest = block
        while rest:
            part, rest = rest[:n_free], rest[n_free:]
            hasher.update(part)
            n_free -= len(part)
            if n_free == 0:
                names.append(hasher.digest())
                hasher, n_free = blake3(), CHUNK_BYTES
    if n_free < CHUNK_BYTES:
        names.append(hasher.digest())
    return digest_of_names(names, n_bytes)


def digest_of_names(names: Sequence[bytes | None], n_bytes: int) -> bytes:
    """`digest_of_memory` of at least `WATCHED_BYTES`, all names of which are known."""
    return blake3(n_bytes.to_bytes(8, "little") + b"".join(cast(Sequence[bytes], names))).digest()


def _names(view: memoryview, indexes: Sequence[int]) -> list[bytes]:
    """The names of some chunks, by several threads if they are many."""
    require_there(view)
    batches = [indexes[at : at + BATCH] for at in range(0, len(indexes), BATCH)]

    def names_of(batch: Sequence[int]) -> list[bytes]:
        places = (index * CHUNK_BYTES for index in batch)
        return [blake3(view[at : at + CHUNK_BYTES]).digest() for at in places]

    n_threads = min(len(batches), os.cpu_count() or 1, MAX_THREADS)
    # Threads of its own, for as long as it takes: a pool that waits would not survive a fork.
    # At the end of the process no thread starts any more.
    with suppress(RuntimeError):
        if n_threads > 1:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(n_threads) as pool:
                return [name for names in pool.map(names_of, batches) for name in names]
    return [name for batch in batches for name in names_of(batch)]
