"""Bytes that a store may still grow by under a limit on its size."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.storage.batches import NoRoomError
from nbckpt.storage.writer import Writer

SHARE = 0.02
"""Of the time, at most, that is spent on asking the disk while there is room in plenty."""


class Room:
    """The size of a store as one of its sessions sees it: measured now and then, counted between.

    Parameters
    ----------
    writer
        Of this session; what others write is seen when it is measured again.
    """

    def __init__(self, path: Path, writer: Writer) -> None:
        self._path = path
        self._writer = writer
        self._size = 0  # when this session had added nothing
        self._not_before = 0.0

    @contextmanager
    def within(self, most: int | None, wanted: int) -> Iterator[int | None]:
        """The bytes that a blob may add, if the store is to have at most `most` then.

        Parameters
        ----------
        wanted
            What it adds if the store has nothing of it yet.

        Raises
        ------
        StoreError
            If it turns out not to fit.
        """
        if most is None:
            yield None
            return
        left = most - self._measured(fresh=False)
        if left < wanted:  # near the end it counts who else wrote, and what was pruned
            left = most - self._measured(fresh=True)
        try:
            yield left
        except NoRoomError:
            from nbckpt.text.units import bytes_text

            message = (
                f"the store has {bytes_text(most - left)} and may have no more than"
                f" {bytes_text(most)} (max_store_size): `nbckpt prune` makes room,"
                " `nbckpt config max_store_size SIZE` allows more"
            )
            raise StoreError(message) from None

    def _measured(self, *, fresh: bool) -> int:
        added, began = self._writer.added_bytes, time.monotonic()
        if fresh or began >= self._not_before:
            from nbckpt.storage.sizes import size_of

            self._size = size_of(self._path) + self._writer.waiting.waiting_bytes - added
            now = time.monotonic()
            self._not_before = now + (now - began) / SHARE
        return self._size + added
