"""Room for values that are nested more deeply than a thread's stack allows.

The pickler goes down a level of the machine's stack for each level of the value. Loading does not.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from nbckpt.runtime.interrupts import PIECE_S, allowed, held

STACK_BYTES = 512 << 20
"""Of a thread that encodes what is nested deeply; memory only as far as it is used."""

LEVELS = 400_000
"""Of recursion on such a stack: a level took 350 bytes where it was measured."""

T = TypeVar("T")


def is_too_deep(error: BaseException | None) -> bool:
    """True if an error says that the stack was too small."""
    return isinstance(error, RecursionError) or "recursion" in str(error)


def with_room(work: Callable[[], T]) -> T:
    """The result of `work`, called where there is room for a deep recursion.

    An interrupt ends the wait for it; the result of `work` is dropped then.

    Raises
    ------
    Exception
        Any that `work` raises; a `RecursionError` if there is not room enough even so.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as error:
            done.set_exception(error)
        finally:
            _limits.leave(thread)

    context = contextvars.copy_context()
    thread = threading.Thread(target=run, name="nbckpt-deep", daemon=True)
    with held():
        _limits.start(thread)
        while thread.is_alive():
            with allowed():
                thread.join(PIECE_S)
    return done.result()


class _Limits:
    """Those of the process, which are high as long as a thread is deep down.

    A thread that finds itself far below a limit that was lowered meanwhile has Python abort the
    process. So the last one to come up lowers it, and not who waits: an interrupt ends the wait.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._deep: set[threading.Thread] = set()
        self._before = 0

    def start(self, thread: threading.Thread) -> None:
        """Have a thread begin, with room; it calls `leave` at its end."""
        with self._lock:
            if not self._deep:
                self._before = sys.getrecursionlimit()
            self._deep.add(thread)
            sys.setrecursionlimit(max(self._before, LEVELS))
            stack = threading.stack_size(STACK_BYTES)
            try:
                thread.start()
            except Exception:  # there is no thread, nor memory for one
                self._come_up(thread)
                raise
            finally:
                threading.stack_size(stack)

    def leave(self, thread: threading.Thread) -> None:
        """Have the limit be as before, unless another is still deep down."""
        with self._lock:
            self._come_up(thread)

    def _come_up(self, thread: threading.Thread) -> None:
        self._deep.discard(thread)
        if not self._deep:
            sys.setrecursionlimit(self._before)


_limits = _Limits()
