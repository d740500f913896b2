"""Threads and tasks that ask, of this process or of a child: a call may prolong their waiting."""

from __future__ import annotations

import sys
import threading
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import asyncio


class ChildAsker:
    """A thread, or a task, of a child process, for which a thread of this one asks.

    Attributes
    ----------
    thread
        Tells its thread from all others, of all processes.
    is_task
        Whether it is a task of asyncio.
    context
        In which its calls begin: what is known of who began them is of this thread or task alone.
    """

    def __init__(self, thread: object, *, is_task: bool) -> None:
        self.thread = thread
        self.is_task = is_task
        self.context = copy_context()
        self.context.run(_asker.set, self)


class TaskNumbers:
    """A number for each task, from 1 on; that of one which has ended is no other's."""

    def __init__(self) -> None:
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._last = 0
        self._lock = threading.Lock()

    def of(self, task: object) -> int:
        """The number of a task, the next one if it has none."""
        with self._lock:
            if (number := self._numbers.get(task)) is None:
                self._last += 1
                number = self._numbers[task] = self._last
            return number


_asker: ContextVar[ChildAsker | None] = ContextVar("nbckpt_asker", default=None)


def asking_thread() -> object:
    """Something equal for calls of one thread, and of that alone."""
    asker = _asker.get()
    return threading.get_ident() if asker is None else asker.thread


def is_of_child() -> bool:
    """True if a thread asks for a child process."""
    return _asker.get() is not None


def running_task() -> object:
    """The task that asks; None outside of asyncio."""
    if (asker := _asker.get()) is not None:
        return asker if asker.is_task else None
    return current_task()


def current_task() -> asyncio.Task[Any] | None:
    """The task of asyncio that runs; None outside of them, and where nobody uses asyncio."""
    if (library := sys.modules.get("asyncio")) is None:
        return None
    try:
        found: asyncio.Task[Any] | None = library.current_task()
    except (AttributeError, RuntimeError):  # it is being loaded, or no loop runs in this thread
        return None
    return found
