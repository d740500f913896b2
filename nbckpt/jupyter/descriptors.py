"""Output of child processes and C code, which a kernel reads from its file descriptors."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

PATIENCE_S = 0.05
"""For what is on its way when a cell ends."""


def is_watched(stream: Any) -> bool:
    """True if what is written to the file descriptor of a stream is written to the stream."""
    return getattr(stream, "_fid", None) is not None and bool(
        getattr(stream, "_should_watch", False)
    )


def drain(streams: Iterable[Any]) -> None:
    """Return when what was printed so far has been written to the streams, if that is soon."""
    streams = list(streams)
    if not streams:
        return
    _flush_c()
    deadline = time.monotonic() + PATIENCE_S
    for stream in streams:
        is_late = False
        while time.monotonic() < deadline and _waiting(stream):
            is_late = True
            time.sleep(0.0005)
        if is_late:  # it was read, and is written in a moment
            time.sleep(0.002)


def _waiting(stream: Any) -> int:
    """Bytes that the kernel has not yet read."""
    import fcntl
    import termios

    try:
        answer = fcntl.ioctl(stream._fid, termios.FIONREAD, b"\0" * 4)  # noqa: SLF001
    except (OSError, ValueError):
        return 0
    return int.from_bytes(answer, sys.byteorder)


def _flush_c() -> None:
    """Have C code print what it holds back; where nobody loaded any, nothing does."""
    if "ctypes" in sys.modules:
        import ctypes

        ctypes.CDLL(None).fflush(None)
