"""What code of the notebook reads of kept checkpoints: by which reference, and what it was told."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias
from weakref import ref as weak

from nbckpt.digests import Json
from nbckpt.errors import NbckptError

IDENTITY = "id"
"""The question which checkpoint it is."""
CHANGING = frozenset({"heads", "next"})
"""Questions whose answers depend on what was kept since."""

Reads: TypeAlias = "dict[str, dict[str, Json]]"
"""Reference → question → answer."""


class Given(NamedTuple):
    """What a view of a checkpoint was given for.

    Attributes
    ----------
    reference
        With which it was asked for.
    checkpoint_id
        Of the checkpoint.
    serial
        Tells views that were given within a window from those that were there before.
    """

    reference: str
    checkpoint_id: str
    serial: int


class _Window:
    """What was read while some code ran.

    Attributes
    ----------
    begins
        The first serial number that is given in it.
    answers
        Reference → question → answer; the first one counts.
    given
        Views that were given, with the checkpoints' ids: those that are left at its end can be
        asked anything later.
    """

    def __init__(self, begins: int) -> None:
        self.begins = begins
        self.answers: Reads = {}
        self.given: list[tuple[Any, str, str]] = []

    def note(self, reference: str, question: str, answer: Json) -> None:
        self.answers.setdefault(reference, {}).setdefault(question, answer)


class CheckpointReads:
    """Reads of checkpoints by code of one session, in windows that may lie inside others.

    Parameters
    ----------
    answer
        Gives what a question about a reference is answered with here and now: text, a number or
        None. It raises an `NbckptError` where the reference means nothing.
    """

    def __init__(self, answer: Callable[[str, str], Json]) -> None:
        self._answer = answer
        self._windows: list[_Window] = []
        self._serials = itertools.count()

    # -- code of the notebook reads

    def give(self, view: object, reference: str, checkpoint_id: str) -> Given:
        """Take note that a view was given: of a checkpoint, or of its values."""
        for window in list(self._windows):
            window.given.append((weak(view), reference, checkpoint_id))
        return Given(reference, checkpoint_id, next(self._serials))

    def missed(self, reference: str) -> None:
        """Take note that a reference meant nothing."""
        for window in list(self._windows):
            window.note(reference, IDENTITY, None)

    def read(self, given: Given, question: str, answer: Json) -> None:
        """Take note of what a view told.

        To windows that are younger it is a variable, whose value says all but what changes later.
        """
        for window in list(self._windows):
            if given.serial >= window.begins:
                window.note(given.reference, question, answer)
            elif question in CHANGING:
                window.note(given.checkpoint_id, question, answer)

    # -- windows

    def open(self) -> object:
        """A window that collects what is read from now on."""
        window = _Window(next(self._serials))
        self._windows.append(window)
        return window

    def collected(self, window: object) -> Json:
        """Reference → question → answer, of a window so far; None if nothing was read."""
        assert isinstance(window, _Window)
        for view, reference, checkpoint_id in window.given:
            if view() is not None and reference != checkpoint_id:
                window.note(reference, IDENTITY, checkpoint_id)
        answers = {ref: dict(sorted(asked.items())) for ref, asked in window.answers.items()}
        return dict(sorted(answers.items())) or None

    def discard(self, window: object) -> None:
        """Collect nothing more in a window."""
        self._windows = [one for one in self._windows if one is not window]

    @contextmanager
    def collecting(self, into: Reads) -> Iterator[None]:
        """Have what the block reads added to what was read before it."""
        window = self.open()
        try:
            yield
        finally:
            for reference, question, answer in _each(self.collected(window)):
                into.setdefault(reference, {}).setdefault(question, answer)
            self.discard(window)

    # -- what was read once

    def repeat(self, collected: Json) -> None:
        """Have the windows that are open take what was read before as read in them."""
        for reference, question, answer in _each(collected):
            for window in list(self._windows):
                window.note(reference, question, answer)

    def difference(self, collected: Json) -> str | None:
        """That something would be told another answer by now, one sentence; None if nothing."""
        for reference, question, answer in _each(collected):
            if self._now(reference, question) != answer:
                return f"it asks nbckpt for {_named(reference, question)}"
        return None

    def _now(self, reference: str, question: str) -> Json:
        try:
            return self._answer(reference, question)
        except NbckptError:
            return None


def _each(collected: Any) -> Iterator[tuple[str, str, Json]]:
    """Reference, question and answer of all that a window has collected."""
    for reference, asked in (collected or {}).items():
        for question, answer in asked.items():
            yield reference, question, answer


def _named(reference: str, question: str) -> str:
    kind, _, name = question.partition(" ")
    if question == IDENTITY:
        return f"{reference!r}, which is another checkpoint now"
    if kind == "value":
        return f"{name!r} of {reference!r}, which has another value now"
    return f"{question} of {reference!r}, which is another now"
