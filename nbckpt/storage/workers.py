"""Threads that do a store's slow work in the order it was asked for."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from nbckpt.runtime.interrupts import allowed, whole

T = TypeVar("T")
PAUSE_S = 0.01


class Worker(Generic[T]):
    """One thread that works on what is queued, several items at a time.

    It is a daemon, so that it never keeps an interpreter alive; `close` finishes the queue. It
    starts with the first item.

    Parameters
    ----------
    work
        Gets the items; must not raise.
    at_most
        How many items one call of `work` gets; None: all that are there.
    niceness
        Added to the thread's own, where threads have one (Linux).
    """

    def __init__(
        self,
        name: str,
        work: Callable[[list[T]], None],
        *,
        at_most: int | None = None,
        niceness: int = 0,
    ) -> None:
        self._name = name
        self._work = work
        self._at_most = at_most
        self._niceness = niceness
        self._ready = threading.Condition()
        self._queue: list[T] = []
        self._closing = False
        self._thread: threading.Thread | None = None

    @whole
    def submit(self, item: T) -> None:
        """Queue an item.

        Raises
        ------
        RuntimeError
            If the worker is closed.
        """
        with self._ready:
            if self._closing:
                message = "closed"
                raise RuntimeError(message)
            self._queue.append(item)
            try:
                if self._thread is None:
                    self._start()
                self._ready.notify()
            except MemoryError:
                if self._queue and self._queue[-1] is item:
                    self._queue.pop()
                raise

    @whole
    def close(self) -> None:
        """Finish the queue and stop."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            with allowed():
                self._thread.join()

    @whole
    def drop(self) -> list[T]:
        """Take back what has not begun."""
        with self._ready:
            items, self._queue = self._queue, []
        return items

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is exiting and allows no new thread
            self._work([self._queue.pop()])
        else:
            self._thread = thread

    def _run(self) -> None:
        if self._niceness and sys.platform == "linux":  # elsewhere a process, not a thread
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._niceness)
        while items := self._take():
            self._do(items)
            del items

    def _do(self, items: list[T]) -> None:
        while True:
            try:
                return self._work(items)
            except MemoryError:  # it had none to begin with: what is at work raises nothing
                time.sleep(PAUSE_S)

    def _take(self) -> list[T]:
        while True:
            try:
                with self._ready:
                    while not self._queue and not self._closing:
                        self._ready.wait()
                    items = self._queue[: self._at_most]
                    del self._queue[: self._at_most]
                    return items
            except MemoryError:  # nothing was taken; nobody else would take it
                time.sleep(PAUSE_S)
