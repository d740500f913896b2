"""The tracked loops of one execution of a step, and where an earlier run of them ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Checkpoint

if TYPE_CHECKING:
    from nbckpt.timeline.timeline import Timeline


@dataclass(eq=False)
class LoopState(Own):
    """The tracked loops of one execution of a step, in the order in which they begin.

    Attributes
    ----------
    unfinished
        The latest checkpoint of a run that did not finish, where the loops go on from it.
    begun
        How many have begun.
    is_inside
        True while one of them is followed; another inside it is only shown.
    is_plain
        True where a loop is all of the step: in an ordinary cell.
    """

    unfinished: Checkpoint | None = None
    begun: int = 0
    is_inside: bool = False
    is_plain: bool = False

    def partial(self, timeline: Timeline) -> Checkpoint | None:
        """Checkpoint of the latest loop from the run that did not finish; None if it has none."""
        last = self.unfinished
        if last is None or last.progress is None or last.progress[0] < self.begun:
            return None
        if last.progress[0] == self.begun:
            return last
        found = (c for c in timeline.named(last.name) if _is_of_run(c, last))
        same = (c for c in found if c.progress is not None and c.progress[0] == self.begun)
        partial = next(same, None)
        if partial is None:
            self.unfinished = None
        return partial


def _is_of_run(checkpoint: Checkpoint, last: Checkpoint) -> bool:
    """True if a partial checkpoint came before `last`, of a step with the same key."""
    return (
        checkpoint.state == "partial"
        and checkpoint.trusted
        and checkpoint.key == last.key
        and checkpoint.created_at <= last.created_at
    )
