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

from nbckpt.interrupts import allowed, held

STACK_BYTES = 512 << 20
"""Of a thread that encodes what is nested deeply; memory only as far as it is used."""

LEVELS = 400_000
"""Of recursion on such a stack: a level took 350 bytes where it was measured."""

T = TypeVar("T")

_ONE_AT_A_TIME = threading.Lock()


def is_too_deep(error: BaseException | None) -> bool:
    """Whether an error says that the stack was too small."""
    return isinstance(error, RecursionError) or "recursion" in str(error)


def with_room(work: Callable[[], T]) -> T:
    """What `work` gives, called where there is room for a deep recursion.

    Raises
    ------
    Exception
        What `work` raises; a `RecursionError` if there is not room enough even so.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as error:
            done.set_exception(error)

    context = contextvars.copy_context()
    with held(), _ONE_AT_A_TIME:  # the limits are those of the process
        limit, stack = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
        try:
            thread = threading.Thread(target=run, name="nbckpt-deep", daemon=True)
            sys.setrecursionlimit(max(limit, LEVELS))
            thread.start()
            with allowed():
                thread.join()
        finally:
            sys.setrecursionlimit(limit)
            threading.stack_size(stack)
    return done.result()
