"""`with nbckpt.recover():` a block that is tried again on the values that it began with.

Notes
-----
What a failed attempt made is not kept: after a `MemoryError` there would be no room to keep it in,
and it is what the next attempt is to be free of. After the last attempt all stays as that left it,
so that it can be looked at; the checkpoint from before the block is named in the error's notes.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Iterator
from types import FrameType, TracebackType

from nbckpt.errors import NbckptError, UsageError, line_of
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import AUTOMATIC, Checkpoint
from nbckpt.runtime.cell_frames import is_of_cell
from nbckpt.session.moves import namespace_restore, unsaved
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.execution.execution_state import Execution
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.loops import unfinished_loops
from nbckpt.text.units import count_text

NAME = "before-recover"
"""Of the checkpoint from before the block, if what was there was not kept already."""

_NEVER = (KeyboardInterrupt, SystemExit, GeneratorExit)
_SHOWN = 200
"""Characters of an error that a note shows."""


class recover(Own):  # noqa: N801  # reads as a verb: with nbckpt.recover(max_retries=3):
    """A block that is tried again after an error, on the values that it began with.

    In a notebook it is a `with` statement at the top level of a cell. A script writes the loop
    itself::

        for attempt in nbckpt.recover(max_retries=3):
            with attempt:
                answer = ask(question)

    What is there is kept first. After an error all variables are as they were, also those that
    were changed in place, and the random generators; what cannot be kept (an open connection)
    stays as it is. `step.track` and `step.map` go on behind their finished items. After the last
    attempt the error is raised with notes of what was tried, and what the last attempt made can
    be looked at. An interrupt by the user is never tried again.

    Parameters
    ----------
    max_retries
        How often the block may run again after the first time.
    on
        The errors after which it does.
    wait_s
        Seconds before each further attempt.

    Raises
    ------
    UsageError
        On entering: no session is open, or this is inside a function, whose variables would not
        be restored.
    """

    def __init__(
        self,
        max_retries: int = 3,
        *,
        on: type[BaseException] | tuple[type[BaseException], ...] = (Exception,),
        wait_s: float = 0.0,
    ) -> None:
        if type(max_retries) is not int or max_retries < 0:
            message = f"max_retries is {max_retries!r}; it is a number of retries, 0 or more"
            raise UsageError(message)
        self.max_retries = max_retries
        self.wait_s = wait_s
        self._on = on if isinstance(on, tuple) else (on,)

    def __enter__(self) -> Attempt:
        message = (
            "`with nbckpt.recover(…):` can run its block again at the top level of a notebook's "
            "cell only; elsewhere write `for attempt in nbckpt.recover(…):` and `with attempt:`"
        )
        raise UsageError(message)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Not reached: nothing enters."""

    def __iter__(self) -> Iterator[Attempt]:
        session = current_session.session()
        _require_top_level(sys._getframe(1), session)  # noqa: SLF001  # the loop's own frame
        return _attempts(self, session)

    def is_for(self, error: BaseException) -> bool:
        """True if `error` is one after which the block is tried again."""
        return isinstance(error, self._on) and not isinstance(error, _NEVER)


class Attempt(Own):
    """One run of the block.

    Attributes
    ----------
    number
        1 for the first.
    left
        ``break`` or ``continue``, if the block left a loop around it so.
    """

    def __init__(self, block: _Block, number: int) -> None:
        self.number = number
        self.left = ""
        self._block = block

    def __enter__(self) -> Attempt:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is None:
            self._block.ended_well(self.number)
            return False
        return self._block.goes_on_after(error, self.number)


def _attempts(asked: recover, session: Session) -> Iterator[Attempt]:
    block = _Block(asked, session)
    number = 0
    while not block.is_over:
        number += 1
        yield Attempt(block, number)


class _Block:
    """A block that is being tried: where it began, and what went wrong since."""

    def __init__(self, asked: recover, session: Session) -> None:
        self.is_over = False
        self._asked = asked
        self._session = session
        self._errors: list[str] = []
        self._start = _kept(session)
        self._steps = session.state(StepState)
        self._loops = {
            step.request.name: unfinished_loops.position(step)
            for step in self._steps.running.values()
        }

    def ended_well(self, number: int) -> None:
        """Note that an attempt did what it should."""
        self.is_over = True
        if number > 1:
            self._note("recovered", attempt=number)

    def goes_on_after(self, error: BaseException, number: int) -> bool:
        """True if there is another attempt, for which all is as it was then."""
        if not self._asked.is_for(error):
            self.is_over = True
            return False
        self._errors.append(_brief(error))
        if number > self._asked.max_retries:
            self.is_over = True
            self._note("gave_up", attempt=number, error=_brief(error))
            error.add_note(self._told())
            return False
        self._note("attempt_failed", attempt=number, error=_brief(error))
        # Frames hold what the attempt had made: after a MemoryError that is what is in the way.
        traceback.clear_frames(error.__traceback__)
        try:
            self._restore()
        except NbckptError as problem:
            self.is_over = True
            error.add_note(f"nbckpt did not try it again: {problem}")
            return False
        time.sleep(self._asked.wait_s)
        return True

    def _restore(self) -> None:
        session = self._session
        session.rescan()
        namespace_restore.restore_all(session, self._start, is_undone=True)
        for name, begun in self._loops.items():
            step = self._steps.latest[name]
            assert isinstance(step, Execution)  # it runs, for the block is in it
            unfinished_loops.go_again(step, begun)

    def _note(self, event: str, **members: object) -> None:
        start = self._start
        self._session.writes.record_event(event, checkpoint=start.id, name=start.name, **members)

    def _told(self) -> str:
        tried = "; ".join(f"{n}. {error}" for n, error in enumerate(self._errors, 1))
        times = count_text(len(self._errors), "time")
        return (
            f"nbckpt tried it {times}: {tried}; all is as the last one left it, "
            f"`%rewind {self._start.id[:8]}` goes back to before the block"
        )


def _kept(session: Session) -> Checkpoint:
    """The checkpoint of what is there now, made if there is none."""
    session.rescan()
    session.pending_cells.keep_aside()
    unsaved.keep_unsaved(session, NAME)
    if session.position.id is None:  # there is nothing to keep, and that is what it begins with
        return session.checkpoint(NAME, tags=(AUTOMATIC,), sync=True)
    return session.timeline.checkpoints[session.position.id]


def _brief(error: BaseException) -> str:
    return line_of(error)[:_SHOWN]


def _require_top_level(frame: FrameType, session: Session) -> None:
    if is_of_cell(frame, session.namespace):
        return
    message = (
        "nbckpt.recover is inside a function: "
        "use it at the top level, where the variables are the notebook's"
    )
    raise UsageError(message)
