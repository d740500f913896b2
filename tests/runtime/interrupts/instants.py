"""Every instant at which Python may raise an interrupt in our code, and one raised there.

The interpreter looks for signals when a function begins, when a loop goes round, and after a call.
A trace of opcodes comes by all of these in turn, so that the n-th can be asked for.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dis
import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import nbckpt
from nbckpt.runtime import interrupts

_OURS = str(Path(nbckpt.__file__).parent)
_AROUND = {str(module.__file__) for module in (contextlib, threading, concurrent.futures._base)}
_LOOKING = ("RESUME", "JUMP_BACKWARD", "CALL", "POP_JUMP_BACKWARD")
_SKIPPED = str(Path(interrupts.__file__))

Where = tuple[CodeType, int]


class Instants:
    """Counts the instants of a block on this thread; at one of them SIGINT comes.

    Parameters
    ----------
    at
        Which; None: none.
    again
        So many instants after the first it comes once more; None: once is enough.
    """

    def __init__(self, at: int | None = None, again: int | None = None) -> None:
        self.count = 0
        self.places: dict[Where, int] = {}
        self.hit: Where | None = None
        self._wanted = set() if at is None else {at}
        if at is not None and again is not None:
            self._wanted.add(at + again)
        self._looks: dict[CodeType, frozenset[int]] = {}

    def run(self, act: Callable[[], Any]) -> Any:
        """What `act` gives, or raises."""
        before, collects = sys.gettrace(), gc.isenabled()
        gc.disable()  # what the collector calls (Hypothesis has something there) loses interrupts
        sys.settrace(self._called)
        try:
            return act()
        finally:
            sys.settrace(before)
            if collects:
                gc.enable()

    def _called(self, frame: FrameType, event: str, _: object) -> Any:
        name = frame.f_code.co_filename
        if not (name.startswith(_OURS) or name in _AROUND):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        last = [-1]  # what this frame did before: after that the interpreter looks
        looks = self._looks.get(frame.f_code)
        if looks is None:
            looks = self._looks[frame.f_code] = _looking(frame.f_code)

        def step(frame: FrameType, event: str, _: object) -> Any:
            if event == "opcode":
                if last[0] in looks:
                    self._instant(frame)
                last[0] = frame.f_lasti
            return step

        return step

    def _instant(self, frame: FrameType) -> None:
        at, self.count = self.count, self.count + 1
        where = (frame.f_code, frame.f_lasti)
        self.places.setdefault(where, at)
        if at in self._wanted:
            self.hit = where
            signal.raise_signal(signal.SIGINT)

    def told(self) -> str:
        """Where the interrupt came."""
        if self.hit is None:
            return "nowhere"
        code, offset = self.hit
        lines = [
            line for start, _, line in code.co_lines() if start is not None and start <= offset
        ]
        return f"{Path(code.co_filename).name}:{lines[-1]} in {code.co_qualname}"


def each_instant(act: Callable[[], Any]) -> Iterator[Instants]:
    """Run it once for each of its instants, with an interrupt there."""
    for counted in (Instants(), Instants()):  # the first time it may import
        counted.run(act)
    for at in range(counted.count):
        instants = Instants(at)
        with pytest.raises(KeyboardInterrupt):
            instants.run(act)
        yield instants


@contextlib.contextmanager
def streams_apart() -> Iterator[None]:
    """Have IPython be interrupted, too: what it puts into stdout and stderr may stay there."""
    with contextlib.redirect_stdout(StringIO()), contextlib.redirect_stderr(StringIO()):
        yield


def _looking(code: CodeType) -> frozenset[int]:
    """Offsets of the instructions after which the interpreter looks for signals."""
    return frozenset(
        step.offset for step in dis.get_instructions(code) if step.opname.startswith(_LOOKING)
    )
