"""Checkpoints that follow one on the line that is meant, and steps that follow on any. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, takewhile
from typing import TYPE_CHECKING

from nbckpt.model import AUTOMATIC, Checkpoint

if TYPE_CHECKING:
    from nbckpt.timeline.timeline import Timeline


def is_step(checkpoint: Checkpoint) -> bool:
    """True if code of the user's made a checkpoint: it is neither given nor automatic."""
    return not checkpoint.made_by and AUTOMATIC not in checkpoint.tags


def following(
    timeline: Timeline, checkpoint_id: str, *, branch: str, origin: str | None = None
) -> list[Checkpoint]:
    """The finished checkpoints that follow one, oldest first; none at the end of its line.

    Of several lines, the first of these counts: that of `branch`; that of `origin`; the newest.
    Where values were given by hand and nothing has followed them, what follows is what followed
    the step that they stand for.

    Parameters
    ----------
    branch
        The one that the session is on.
    origin
        Where it was before it moved.
    """
    with timeline.lock:
        return _following(timeline, checkpoint_id, (timeline.tip(branch), origin), apart_from="")


def _following(
    timeline: Timeline, checkpoint_id: str, tips: tuple[str | None, ...], apart_from: str
) -> list[Checkpoint]:
    """Checkpoints that follow on the first of `tips` that goes on, else on the newest line.

    Parameters
    ----------
    apart_from
        A child whose own line does not count.
    """
    for tip in chain(tips, timeline.newest_first()):
        if tip and not (apart_from and timeline.is_ancestor(apart_from, tip)):
            found = _between(timeline, checkpoint_id, tip)
            if any(map(is_step, found)):
                return found
    checkpoint = timeline.checkpoints[checkpoint_id]
    stood_for = next(_stood_for(timeline, checkpoint, tips), None) if checkpoint.made_by else None
    return _following(timeline, stood_for, tips, checkpoint_id) if stood_for else []


def _stood_for(
    timeline: Timeline, checkpoint: Checkpoint, tips: Iterable[str | None] = ()
) -> Iterator[str]:
    """Ids of the steps that given values may stand for, the likeliest first.

    The step before them; one that followed there, on one of `tips` or else the newest; one before
    there; any.
    """
    parent, name = checkpoint.parent, checkpoint.name
    steps = [c.id for c in timeline.named(name) if c.state == "done" and is_step(c)]
    if parent is not None and parent in timeline.checkpoints:
        if timeline.checkpoints[parent].name == name:
            yield parent
        later = [i for i in steps if i != parent and timeline.is_ancestor(parent, i)]
        yield from (i for tip in tips if tip for i in later if timeline.is_ancestor(i, tip))
        yield from later
    yield from (i for i in steps if timeline.is_ancestor(i, checkpoint.id))
    yield from steps


def _between(timeline: Timeline, older: str, newer: str) -> list[Checkpoint]:
    """Checkpoints after `older` up to `newer`, oldest first; empty where it does not lead there."""
    if older == newer or not timeline.is_ancestor(older, newer):
        return []
    ids = takewhile(lambda i: i != older, timeline.finished(newer))
    return [timeline.checkpoints[i] for i in ids][::-1]


def next_names(timeline: Timeline, checkpoint_id: str) -> tuple[str, ...]:
    """Names of the recorded steps that follow a checkpoint, on any branch, oldest first.

    What follows values that were given by hand is what followed the step they stand for.
    """
    with timeline.lock:
        checkpoint = timeline.checkpoints[checkpoint_id]
        found = list(_next_of(timeline, checkpoint_id))
        if not found and checkpoint.made_by:
            lists = (list(_next_of(timeline, i)) for i in _stood_for(timeline, checkpoint))
            found = next(filter(None, lists), [])
    found.sort(key=lambda c: (c.created_at, c.id))
    return tuple(dict.fromkeys(c.name for c in found))


def _next_of(timeline: Timeline, checkpoint_id: str) -> Iterator[Checkpoint]:
    """The finished steps after a checkpoint; behind what is none is looked, too."""
    for i in timeline.children(checkpoint_id):
        checkpoint = timeline.checkpoints[i]
        if checkpoint.state != "done":
            continue
        if is_step(checkpoint):
            yield checkpoint
        else:
            yield from _next_of(timeline, i)
