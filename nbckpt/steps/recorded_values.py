"""Times, ids and chance for steps: the same again when a step runs again, as its answers are.

A value is found by its step, its item and the number of equal ones that were asked for before. It
stands in the session's journal before all that follows from it, so that no answer is kept without
the time for which it was given.
"""

from __future__ import annotations

import os
import random as generators
import uuid as ids
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from nbckpt.digests import Digest, digest_of
from nbckpt.errors import StoreError, UsageError, line_of
from nbckpt.llm import current, scope
from nbckpt.llm.answer_owners import function_of
from nbckpt.llm.record_lookup import RecordLookup
from nbckpt.llm.step_scope import Scope
from nbckpt.model import Record, is_trusted
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import whole
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.timeline.recordings import VALUE, RecordedValue, value_record

_T = TypeVar("_T")


def now(tz: tzinfo | None = None) -> datetime:
    """The time, aware; in a step that runs again the time that it was given before.

    The n-th ask of a step (a ``%%checkpoint`` cell, a `with` block, a call of a function under
    `nbckpt.step`, an item of a loop or map) is answered with what it was answered first, after a
    kill as after an edit. So a request that tells the date is an equal request, and its answer is
    not paid for twice. `nbckpt.recording` and ``--fresh`` mean values as they mean answers:
    ``record`` and ``--fresh`` take new ones, ``off`` keeps none, and `ttl` says how old one may
    be. Outside of steps it is the time.

    Parameters
    ----------
    tz
        The zone in which it is told; by default UTC.

    Raises
    ------
    UsageError
        If `tz` is no time zone.

    Examples
    --------
    >>> f"Today is {now():%A}." == f"Today is {datetime.now(UTC):%A}."
    True
    """
    zone: object = tz  # typed by a person, who may not have asked a type checker
    if not isinstance(zone, tzinfo | None):
        message = f"nbckpt.now: tz is {tz!r}; it is a zone, such as zoneinfo.ZoneInfo('Asia/Tokyo')"
        raise UsageError(message)
    return _given("now", _time, datetime.fromisoformat).astimezone(tz or UTC)


def uuid() -> ids.UUID:
    """A random id (of version 4); in a step that runs again the id that it was given before.

    See `now` for what that means.

    Examples
    --------
    >>> uuid().version
    4
    """
    return _given("uuid", lambda: str(_new_uuid()), ids.UUID)


def random() -> generators.Random:
    """A new generator of random numbers; in a step that runs again one of the same numbers.

    Each ask gives another one, whose seed is kept as `now` keeps times. The notebook's own
    generator, `random.random`, is left alone.

    Examples
    --------
    >>> 0 <= random().random() < 1
    True
    >>> random().choice(["one"])
    'one'
    """
    return generators.Random(_given("random", lambda: os.urandom(16).hex(), _seed))


def _time() -> str:
    return datetime.fromtimestamp(clock.now(), UTC).isoformat()


def _new_uuid() -> ids.UUID:
    return ids.UUID(bytes=os.urandom(16), version=4)


_seed = partial(int, base=16)


def _given(what: str, take: Callable[[], str], read: Callable[[str], _T]) -> _T:
    """The value that the step has at this place, else a new one.

    Parameters
    ----------
    take
        Gives a new one, as text.
    read
        From the text to the value.
    """
    session, within = current_session.opened(), scope.here().scope
    if session is None or session.ended or within is None:
        return read(take())
    try:
        text = _values_of(session).text(what, within, take)
        return read(text)
    except Exception as problem:  # a hook's error never breaks the user's cell
        why = str(problem) if isinstance(problem, StoreError) else line_of(problem)
        told = f"what nbckpt.{what} gave is NOT kept, and is another in the next run: {why}"
        session.writes.notify(told)
        return read(take())


class RecordedValues:
    """The values that a session's steps were given, and are given again."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._records = RecordLookup(session, VALUE)
        self._before: WeakKeyDictionary[Scope, str] = WeakKeyDictionary()

    @whole
    def text(self, what: str, within: Scope, take: Callable[[], str]) -> str:
        """The value that a step has at this place, as text; else one that is taken and kept."""
        here, recorder = scope.here(), current.made()
        mode = here.mode or (recorder.mode if recorder else "replay")
        if mode == "off":
            return take()
        ttl_s = here.ttl_s if here.ttl_s is not None or recorder is None else recorder.ttl_s
        request = digest_of(f"{what} {within.task_number()}")
        place = self._records.place(within, request)
        is_new = mode == "record" or (within.is_fresh and mode != "only")
        found = None if is_new else self._found(within, request, place.number, ttl_s)
        if found is not None and found["step"] == within.step:
            return str(found["value"])
        text, at = (take(), clock.now()) if found is None else (found["value"], found["created_at"])
        value = RecordedValue(
            created_at=at,
            id=os.urandom(10).hex(),
            step=within.step,
            request=request,
            occurrence=place.number,
            position=self._session.position.id,
            session=self._session.id,
            branch=self._session.position.branch,
            what=what,
            value=text,
            cell_id=within.cell_id,
            item=place.item,
            nth=place.nth,
        )
        # No wait for the disk: what comes of it is written to the same journal, after it.
        self._records.append(value_record(value), durable=False)
        return text

    def _found(self, within: Scope, request: Digest, n: int, ttl_s: float | None) -> Record | None:
        """The value of this place, of the step or of the name that its cell had before."""
        found = self._records.find((within.step, request, n), ttl_s)
        if found is None and (before := self._name_before(within)):
            found = self._records.find((before, request, n), ttl_s)
        return found

    def _name_before(self, within: Scope) -> str:
        """The name of a step when its cell was last given values under another; empty if never."""
        whole_step = within.around or within
        if (known := self._before.get(whole_step)) is None:
            known = self._before[whole_step] = self._latest_name(whole_step)
        return known

    def _latest_name(self, step: Scope) -> str:
        if step.cell_id is None or _is_call(step.step):
            return ""
        records = reversed(self._session.store.records(VALUE))
        of_cell = (r for r in records if r.get("cell_id") == step.cell_id and is_trusted(r))
        names = (str(r["step"]) for r in of_cell if r["step"] != step.step)
        return next((name for name in names if not _is_call(name)), "")


def _is_call(step: str) -> bool:
    """True if a step is a call of a function, which is known by its name and its arguments."""
    return function_of(step) != step


_values: WeakKeyDictionary[Session, RecordedValues] = WeakKeyDictionary()


def _values_of(session: Session) -> RecordedValues:
    found = _values.get(session)
    return _values.setdefault(session, RecordedValues(session)) if found is None else found
