"""The call that a task or thread made before each of its calls: it tells equal ones apart.

Agents that work at once in one step ask some things that are equal, each in its own course. In
which order they come is another in each run, and what each asked before is not: an equal call is
answered as that one was which followed the same call.

Notes
-----
It decides between equal calls, and never that one is to be paid which would have an answer by its
number: a queue of worker threads has another course in each run. The exception is a step that was
cut short. Then a call that has no recording was in flight, and takes none of one that may yet come.

A task goes on where the code was that created it; a thread, and each function that a thread of a
pool is given, begins anew.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import thread as pools
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import ref

from blake3 import blake3

from nbckpt.llm.askers import asking_thread, is_of_child, running_task
from nbckpt.llm.occurrence import EqualCalls

if TYPE_CHECKING:
    from nbckpt.digests import Digest
    from nbckpt.model import Record

_RUNS_WORK = pools._WorkItem.run.__code__  # noqa: SLF001
_SIZE = 8
"""Bytes that tell the calls of one step from one another."""


class AskedCall:
    """One call, as the next one of its asker knows it.

    Attributes
    ----------
    follows
        Digest of the call before it, with another request; empty if there was none.
    after
        The same, with the number of equal calls that followed that one before.
    digest
        Of the call itself.
    has_failed
        Whether it has no answer: a retry follows what it followed.
    """

    __slots__ = (
        *("after", "askers", "digest", "follows", "has_failed", "number", "request", "work"),
        "__weakref__",
    )

    def __init__(self, askers: Askers, request: Digest, follows: str) -> None:
        self.askers, self.request, self.follows = ref(askers), request, follows
        self.number = askers.following.reserve(request + follows) if follows else 0
        self.after = f"{follows}#{self.number}" if self.number else follows
        self.digest = ""
        self.has_failed = False
        self.work = _work()

    def fail(self) -> None:
        """Note that it has no answer: the next equal call stands in its place."""
        askers = self.askers()
        if askers is not None and self.follows and not self.has_failed:
            askers.following.give_back(self.request + self.follows, self.number)
        self.has_failed = True

    def before(self, askers: Askers, request: Digest) -> str:
        """The call that one follows which comes after this one in the same task or thread."""
        if self.askers() is not askers:
            return ""
        if self.work is not None and _work() != self.work:  # the thread does another's work
            return ""
        return self.follows if self.has_failed or self.request == request else self.digest


_last: ContextVar[AskedCall | None] = ContextVar("nbckpt_last_call", default=None)


class EqualRecordings:
    """The recordings of equal calls that one step made in earlier runs."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._after = {record["occurrence"]: record.get("after", "") for record in records}
        self._numbers = {after: number for number, after in self._after.items() if after}

    def __bool__(self) -> bool:
        return bool(self._after)

    def __contains__(self, number: int) -> bool:
        return number in self._after

    def of(self, after: str) -> list[int]:
        """The number of the one that came after a call; none where it came after none."""
        return [self._numbers[after]] if after in self._numbers else []

    def followed(self, number: int) -> str:
        """The call that one followed; empty if none, or if it is not recorded."""
        return str(self._after.get(number, "")).partition("#")[0]


class Askers:
    """The tasks and threads that ask in one run of a step.

    Attributes
    ----------
    are_many
        Whether there are several.
    following
        Numbers of equal calls that followed the same one.
    """

    def __init__(self) -> None:
        self.are_many = False
        self.following = EqualCalls()
        self._first: object = None
        self._passed: set[str] = set()
        self._recorded: dict[Digest, EqualRecordings] = {}
        self._was_cut: bool | None = None

    def number(
        self,
        request: Digest,
        equals: EqualCalls,
        recorded: Callable[[], Iterable[Record]],
        was_cut: Callable[[], bool],
    ) -> tuple[int, AskedCall]:
        """The number of a call that begins now among its equals, and what its asker's next follows.

        Parameters
        ----------
        equals
            Gives the step's equal calls their numbers.
        recorded
            Gives the recordings of equal calls, of this step.
        was_cut
            Tells whether the step's run before this was cut short.
        """
        self._count()
        last = _last.get()
        call = AskedCall(self, request, "" if last is None else last.before(self, request))
        if (known := self._recorded.get(request)) is None:
            known = self._recorded[request] = EqualRecordings(recorded())
        number = self._chosen(request, call.after, equals, known, was_cut)
        call.digest = blake3(f"{request}{number}".encode()).hexdigest(_SIZE)
        if last is not None and not last.has_failed:
            self._passed.add(last.digest)
        _last.set(call)
        return number, call

    def _chosen(
        self,
        request: Digest,
        after: str,
        equals: EqualCalls,
        known: EqualRecordings,
        was_cut: Callable[[], bool],
    ) -> int:
        if not known:
            return equals.reserve(request)
        if (number := equals.take(request, known.of(after))) is not None:
            return number

        def is_anothers(number: int) -> bool:
            other = known.followed(number)
            return bool(other) and other not in self._passed

        number = equals.reserve(request, but=is_anothers)
        if number in known:
            return number
        if self.are_many and not is_of_child():  # processes share work out as a queue does
            if self._was_cut is None:
                self._was_cut = was_cut()
            if self._was_cut:
                return number
        equals.give_back(request, number)
        return equals.reserve(request)

    def _count(self) -> None:
        if self.are_many:
            return
        asker = running_task() or asking_thread()
        if self._first is None:
            self._first = _reference(asker)
        self.are_many = self._first != _reference(asker)


def _reference(asker: object) -> object:
    try:
        return ref(asker)
    except TypeError:  # the number of a thread
        return asker


def _work() -> Any:
    """The work that a thread of a pool was given; None in other threads, and in tasks."""
    if running_task() is not None or is_of_child():
        return None
    frame: Any = sys._getframe(1)  # noqa: SLF001  # nothing else tells
    while frame is not None:
        if frame.f_code is _RUNS_WORK:
            return ref(frame.f_locals["self"])
        frame = frame.f_back
    return None
