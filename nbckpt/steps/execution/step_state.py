"""State of a session that only its steps use: which run, which are to be run again, and by whom."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nbckpt.fingerprint.user_names import Own

if TYPE_CHECKING:
    import threading

    from nbckpt.capture.background_work import AtWork
    from nbckpt.digests import Digest
    from nbckpt.model import Checkpoint, Key
    from nbckpt.session.session import Session
    from nbckpt.steps.execution.execution_state import Execution
    from nbckpt.steps.execution.step_request import Request
    from nbckpt.timeline.approvals import Question


MOST_WHOLE = 32
"""Steps of which all is known: their trees and what was found out about these take 10 kB each."""


class Interrupted(NamedTuple):
    """A step that raised in this session, and the values that it had given its own inputs."""

    key: Key
    inputs: Mapping[str, Digest]


class PastStep(NamedTuple):
    """A step that ended long ago, as far as it is asked for: see `Execution` for what each is."""

    session: Session
    request: Request
    key: Key
    todo: bool
    restored: Checkpoint | None
    why: tuple[str, ...]
    is_running: bool = False

    @classmethod
    def of(cls, step: Execution) -> PastStep:
        """The step, without all else."""
        return cls(step.session, step.request, step.key, step.todo, step.restored, step.why)


class Watch(Protocol):
    """Follows the steps of a session, while a rerun runs recorded cells."""

    def restored(self, step: Execution, checkpoint: Checkpoint) -> Checkpoint:
        """Have the session stand where a step was restored; the checkpoint that stands for it."""

    def begins(self, step: Execution) -> None:
        """Take note that the body of a step is about to run."""


class Shown(Protocol):
    """A question that somebody can see."""

    def wait(self, came: threading.Event, seconds: float) -> None:
        """Return after so many seconds, or when the event is set; who is asked may answer."""

    def end(self, question: Question) -> None:
        """Show what became of it: it may wait still, when the cell was interrupted."""


class Asker(Protocol):
    """Shows questions."""

    def __call__(self, session: Session, question: Question) -> Shown:
        """Show a question of a session, as it is asked."""


class StepState(Own):
    """State of one session's steps; ``session.state(StepState)`` gives it.

    Attributes
    ----------
    latest
        Name → the latest step of that name, in the order in which they began; of all but the last
        ones only what is asked of them.
    running
        id → each step whose body runs, in the order in which they began.
    interrupted
        Name → how the latest step of that name ended, where it raised.
    at_work
        Work that went on beside the cells when one began or ended last.
    reruns
        True if no step is restored.
    pays_again
        True if kept calls and answers are not used: models are called again.
    watch
        The rerun that is under way; None if none is.
    runner
        Makes what runs recorded cells in the shell; None without a shell.
    is_remaking
        True while cells run that make again what could not be kept.
    wanted
        The names that they are to make.
    confirms
        Asks the user to confirm something: the answer, or None where nobody can be asked.
    asker
        Shows a question in the shell; None without a shell.
    results
        The shell's own places of the results of cells.
    """

    def __init__(self) -> None:
        self.latest: dict[str, Execution | PastStep] = {}
        self._whole: deque[Execution] = deque()
        self.running: dict[int, Execution] = {}
        self.interrupted: dict[str, Interrupted] = {}
        self.at_work: list[AtWork] = []
        self.reruns = False
        self.pays_again = False
        self.watch: Watch | None = None
        self.runner: Callable[..., Any] | None = None
        self.is_remaking = False
        self.wanted: frozenset[str] = frozenset()
        self.confirms: Callable[[str], bool | None] | None = None
        self.asker: Asker | None = None
        self.results: tuple[dict[str, object], ...] = ()

    def begins(self, step: Execution) -> None:
        """Make a step the latest one of its name."""
        name = step.request.name
        self.latest.pop(name, None)
        self.latest[name] = step
        self._whole.append(step)
        for _ in range(len(self._whole) - MOST_WHOLE):
            old = self._whole.popleft()
            if old.is_running:
                self._whole.append(old)
            elif self.latest.get(old.request.name) is old:
                self.latest[old.request.name] = PastStep.of(old)
