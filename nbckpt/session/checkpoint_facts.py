"""Facts of a checkpoint that code of the notebook can ask for, and how equal answers are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nbckpt.digests import Json, digest_of
from nbckpt.fingerprint.random_generators import NAMES
from nbckpt.model import Checkpoint, Variable
from nbckpt.timeline.following import next_names

if TYPE_CHECKING:
    from nbckpt.session.branch_position import BranchPosition
    from nbckpt.timeline.timeline import Timeline

VALUE = "value "
"""Before the name of a variable: the question for its value."""
_DIGITS = 32


def variables_of(timeline: Timeline, checkpoint_id: str) -> Mapping[str, Variable]:
    """Name → type, shape, size and preview of every variable that a checkpoint holds."""
    manifest = timeline.manifest(checkpoint_id)
    return {name: v for name, v in manifest.items() if name not in NAMES}


def heads_of(timeline: Timeline, checkpoint_id: str) -> tuple[str, ...]:
    """The branches whose newest checkpoint this is."""
    branches = timeline.branches.items()
    return tuple(branch for branch, head in branches if head == checkpoint_id)


_FACTS: Mapping[str, Callable[[Timeline, Checkpoint], object]] = {
    "id": lambda _, c: c.id,
    "name": lambda _, c: c.name,
    "parent": lambda _, c: c.parent,
    "branch": lambda _, c: c.branch,
    "notebook": lambda _, c: c.notebook,
    "duration_s": lambda _, c: c.duration_s,
    "state": lambda _, c: c.state,
    "tags": lambda _, c: c.tags,
    "note": lambda _, c: c.note,
    "cell": lambda _, c: c.cell,
    "created_at": lambda _, c: c.created_at,
    "changed": lambda _, c: tuple(n for n in c.changed if n not in NAMES),
    "refused": lambda _, c: c.refused,
    "variables": lambda timeline, c: variables_of(timeline, c.id),
    "names": lambda timeline, c: sorted(variables_of(timeline, c.id)),
    "heads": lambda timeline, c: heads_of(timeline, c.id),
    "next": lambda timeline, c: next_names(timeline, c.id),
    "metadata": lambda _, c: {
        "session": c.session,
        "notebook": c.notebook,
        "state": c.state,
        "error": c.error,
        "progress": c.progress,
        "tags": c.tags,
        "note": c.note,
        "omitted": c.omitted,
        "made_by": c.made_by,
        "joined": c.joined,
    },
}


def fact_of(timeline: Timeline, checkpoint: Checkpoint, question: str) -> Any:
    """The answer to a question of `_FACTS` about a checkpoint, as its record says."""
    return _FACTS[question](timeline, checkpoint)


def as_answer(fact: object) -> Json:
    """Text that is equal for equal facts: the fact itself if it is one, else a digest."""
    return fact if isinstance(fact, str) else digest_of(repr(fact).encode())[:_DIGITS]


def value_answer(variable: Variable | None) -> Json:
    """Text that is equal for equal values; None of a variable that there is not."""
    return None if variable is None else variable.value[:_DIGITS]


def answer(timeline: Timeline, position: BranchPosition, reference: str, question: str) -> Json:
    """What a question about a reference is answered with here and now, as text.

    Raises
    ------
    CheckpointNotFoundError
        If it means none.
    """
    checkpoint = position.resolve(reference)
    if question.startswith(VALUE):
        return value_answer(timeline.manifest(checkpoint.id).get(question.removeprefix(VALUE)))
    return as_answer(fact_of(timeline, checkpoint, question)) if question in _FACTS else None
