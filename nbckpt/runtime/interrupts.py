"""An interrupt waits while something is half done, and comes at once where it may take long.

What binds names, moves a branch and remembers where the session stands does all of it or nothing:
it is `held`. Inside of that, code of the user's and waits for the disk are `allowed` to be
interrupted. Only the main thread is ever interrupted, so elsewhere all this does nothing.

Notes
-----
Python runs signal handlers on the main thread alone, whichever thread the system gives a signal to,
so blocking signals there would hold back nothing. Instead the handler is another one meanwhile. It
stays while something is allowed: an interrupt that comes through ends what is allowed before it is
raised, and no second one breaks what cleans up after the first. What a finalizer raises is lost, so
one that comes in a `__del__` that runs in such a block waits until that is over.
"""

from __future__ import annotations

# As C has them: `signal` makes members of enumerations, which takes ten times as long, and each
# block that holds asks for six.
import _signal  # type: ignore[import-not-found]  # typeshed has none
import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from functools import wraps
from threading import get_ident
from types import FrameType, TracebackType
from typing import ParamSpec, TypeAlias, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Handler: TypeAlias = Callable[[int, FrameType | None], object]

_SIGNALS = [
    int(getattr(signal, name)) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name)
]
"""Those whose handlers, by custom, raise."""

PIECE_S = 0.05
"""Seconds that one piece of a wait takes; until it ends, the wait takes no note of an interrupt.

Nor does Python take note of one that comes just before a wait begins: no piece may be long.
"""

PATIENCE = 3
"""The so-manieth of those who ask while something is held comes through: it may hang."""


class held:  # noqa: N801  # reads as a state: with held():
    """In the block no interrupt comes; what came meanwhile comes at its end.

    Parameters
    ----------
    firmly
        Nor does one come where it is `allowed` in it: what is undone is undone.
    """

    __slots__ = ("_firmly", "_holds", "_was_open")  # to set them asks for no memory

    def __init__(self, *, firmly: bool = False) -> None:
        self._firmly = firmly

    def __enter__(self) -> None:
        # Within a block that holds already, this one changes nothing.
        self._holds = (self._firmly or not _gate.is_shut) and _is_main()
        if self._holds:
            self._was_open = _gate.shut()
            _gate.firm += self._firmly

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._holds:
            _gate.firm -= self._firmly
            _gate.leave(error, was_open=self._was_open)


class allowed:  # noqa: N801  # as above
    """In the block an interrupt comes at once, though it is within one where none comes."""

    __slots__ = ("_is_within", "_was_open")

    def __enter__(self) -> None:
        self._is_within = _gate.depth > 0 and not _gate.firm and _is_main()
        if self._is_within:
            self._was_open = _gate.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_within:
            _gate.is_open = self._was_open


class Turn:
    """A lock that one thread has at once, and as often as it likes.

    Where it is had no interrupt comes, as where one is `held`; one that comes in time ends the
    wait for it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have it, for the block."""
        with held():
            while not self._lock.acquire(timeout=PIECE_S):
                breathe()
            try:
                yield
            finally:
                self._lock.release()


def whole(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """`function`, which no interrupt leaves half done."""

    @wraps(function)
    def guarded(*args: _P.args, **named: _P.kwargs) -> _R:
        if _gate.is_shut and _is_main():  # it is held already
            return function(*args, **named)
        with held():
            return function(*args, **named)

    return guarded


def breathe() -> None:
    """Have an interrupt that waits come here: what was begun is undone by who catches it."""
    if _gate.waiting:
        with allowed():
            pass


def result_of(future: Future[_R], timeout_s: float | None = None) -> _R:
    """``future.result(timeout_s)``, which an interrupt ends without harm to the future.

    Python's own may leave the future locked, and who is to give the result waits for ever.
    """
    with held():
        if not wait_for(future, timeout_s):
            breathe()
        return future.result(0)


def error_of(future: Future[_R], timeout_s: float | None = None) -> BaseException | None:
    """``future.exception(timeout_s)``, as `result_of`."""
    with held():
        if not wait_for(future, timeout_s):
            breathe()
        return future.exception(0)


@whole
def wait_for(future: Future[_R], timeout_s: float | None = None) -> bool:
    """True if it is done; False when the time is over, or as soon as an interrupt waits."""
    if not _is_main():
        timeouts: Iterable[float | None] = [timeout_s]
    elif timeout_s is None:
        timeouts = itertools.repeat(PIECE_S)
    else:
        timeouts = [PIECE_S] * int(timeout_s / PIECE_S) + [timeout_s % PIECE_S]
    for piece_s in timeouts:
        with suppress(TimeoutError, CancelledError):
            future.exception(piece_s)
        if future.done() or (_gate.waiting and _is_main()):
            break
    return future.done()


def _is_main() -> bool:
    return get_ident() == _gate.main_thread


class _Gate:
    """A gate that interrupts have to pass. Used by the main thread alone.

    Attributes
    ----------
    depth
        Number of blocks that hold.
    firm
        Number of those that hold even where something is allowed.
    is_open
        True if an interrupt may pass in the innermost one.
    waiting
        Signals that came while none might.
    main_thread
        Identifier of the main thread, remembered because it is needed often.
    """

    def __init__(self) -> None:
        self.main_thread = threading.main_thread().ident
        self.depth = 0
        self.firm = 0
        self.is_open = True
        self.waiting: list[int] = []
        self._handlers: dict[int, _Handler] = {}
        self._owner: int | None = None
        self._own = self._came  # one object: a method is a new one each time

    @property
    def is_shut(self) -> bool:
        """True if a block holds, and nothing may pass in the innermost one."""
        return self.depth > 0 and not self.is_open

    def shut(self) -> bool:
        """Let nothing through; whether something might pass until now."""
        was_open = self.is_open or not self.depth
        self.is_open = False  # first: once a handler is ours, nothing is to be raised by it
        self.depth += 1  # and this: a finalizer that runs meanwhile may hold, too
        if self.depth == 1:
            try:
                self._take()
            except BaseException:  # one that came before the first handler was another, too
                self._give_back()
                self.depth = 0
                raise
        return was_open

    def open(self) -> bool:
        """Let interrupts through, at once what waits; whether they could pass until now."""
        was_open, self.is_open = self.is_open, True
        self._deliver(None)
        return was_open

    def leave(self, error: BaseException | None, *, was_open: bool) -> None:
        """Be as before a block; what waits is raised here, if it may be."""
        if self.depth > 1:
            self.depth -= 1
            self.is_open = was_open
            if was_open:
                self._deliver(error)
            return
        try:
            self._give_back()
            self.depth = 0
            self._deliver(error)
        except BaseException as raised:  # one that came just now, too: the others go with it
            self.depth = 0
            self._deliver(raised)
            raise

    def forget(self) -> None:
        """In a forked child: another thread than the one that holds may be the main one now."""
        self.main_thread = threading.main_thread().ident
        if self.depth and self._owner != threading.get_ident():
            self.depth, self.firm, self.is_open, self.waiting = 0, 0, True, []
            self._give_back()

    def _came(self, number: int, frame: FrameType | None) -> None:
        """The handler that Python calls in place of the installed ones."""
        is_asked_often = self.waiting.count(number) >= PATIENCE - 1
        if not (is_asked_often or (self.is_open and not _is_in_finalizer(frame))):
            self.waiting.append(number)
            return
        self.waiting = [n for n in self.waiting if n != number]
        self._call(self._handlers.get(number), number, frame)

    def _call(self, handler: object, number: int, frame: FrameType | None) -> None:
        if not callable(handler):
            return
        was_open = self.is_open
        self.is_open = not self.depth  # within a block no second one, while the first is raised
        handler(number, frame)
        self.is_open = was_open

    def _deliver(self, error: BaseException | None) -> None:
        """Call the handlers of what waits, unless an equal interrupt is on its way already."""
        while self.waiting and not _is_in_finalizer(sys._getframe()):  # noqa: SLF001  # as handlers
            number = self.waiting[0]
            self.waiting = [n for n in self.waiting if n != number]
            if number == signal.SIGINT and isinstance(error, KeyboardInterrupt):
                continue
            handler = self._handlers.get(number) or _signal.getsignal(number)
            self._call(handler, number, sys._getframe())  # noqa: SLF001  # as handlers get one

    def _take(self) -> None:
        try:
            self._owner = threading.get_ident()
            for number in _SIGNALS:
                handler = _signal.getsignal(number)
                if callable(handler) and handler is not self._own:
                    self._handlers[number] = handler
                    _signal.signal(number, self._own)
        except ValueError:  # another interpreter of the process: no signal comes there
            return

    def _give_back(self) -> None:
        """Let the handlers be those of before, SIGINT's last; what one raises stops none."""
        try:
            while self._handlers:
                number = next(reversed(self._handlers))
                if _signal.getsignal(number) is self._own:
                    _signal.signal(number, self._handlers[number])
                del self._handlers[number]
        except MemoryError:  # who holds next gives them back, too
            raise
        except BaseException:
            self._give_back()
            raise


def _is_in_finalizer(frame: FrameType | None) -> bool:
    """True below a `__del__`: Python tells what is raised there, and goes on."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


_gate = _Gate()
with suppress(AttributeError):  # where there is no fork
    os.register_at_fork(after_in_child=_gate.forget)
