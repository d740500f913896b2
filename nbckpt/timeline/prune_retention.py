"""Checkpoints to keep when a store is pruned. Pure: times and sizes are given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from nbckpt.errors import UsageError
from nbckpt.model import AUTOMATIC, Checkpoint

if TYPE_CHECKING:
    from nbckpt.timeline.timeline import Timeline

DAY_S = 86_400
BOOKKEEPING = 4096
"""Bytes that any checkpoint costs, whatever it holds: one that costs no more goes for nothing."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Rules on the checkpoints to keep; without any option all that a branch or a tag reaches.

    Attributes
    ----------
    keep_last
        Number of the newest finished checkpoints of each branch that are kept.
    keep_days
        Days for which checkpoints are kept. With `keep_last`, those that either rule keeps.
    keep_tagged
        Keep checkpoints that have a tag.
    max_size
        Bytes that the store may have: the oldest checkpoints go until it fits, except heads of
        branches and tagged ones. If these alone are larger, only those that free room go.
    drop
        Branches to forget, so that checkpoints which only they reach go.
    calls_days
        Days after which model calls and kept calls of steps that have no checkpoint left go.
        None: all stay.
    forget
        Tags; the model calls that have one of them go, whatever step they belong to.
    """

    keep_last: int | None = None
    keep_days: float | None = None
    keep_tagged: bool = True
    max_size: int | None = None
    drop: tuple[str, ...] = ()
    calls_days: float | None = None
    forget: tuple[str, ...] = ()

    @property
    def forgets(self) -> bool:
        """True if calls that were paid for are to go."""
        return self.calls_days is not None or bool(self.forget)

    @property
    def is_bounded(self) -> bool:
        """True if anything that a branch reaches is to go."""
        return (self.keep_last, self.keep_days, self.max_size) != (None, None, None)


def kept(
    timeline: Timeline,
    retention: Retention,
    now: float,
    size_of: Callable[[set[str]], int] = lambda _: 0,
    *,
    standing: Collection[str] = (),
) -> set[str]:
    """Ids of the checkpoints to keep.

    Parameters
    ----------
    now
        Seconds since the epoch.
    size_of
        Bytes that the store will have when these checkpoints are kept.
    standing
        Ids of checkpoints on which sessions stand; they are kept, as heads are.

    Raises
    ------
    UsageError
        If a branch to drop does not exist.
    """
    stood = {*standing, *timeline.looks(but=retention.drop)} & timeline.checkpoints.keys()
    heads = _heads(timeline, retention) | stood
    tagged = _tagged(timeline) if retention.keep_tagged else set()
    firm = heads | tagged
    found = firm | set(_chosen(timeline, retention, now, firm))
    found |= set(_unfinished(timeline, found))
    if retention.max_size is None:
        return found
    return _fitting(timeline, retention.max_size, size_of, found, firm)


def _heads(timeline: Timeline, retention: Retention) -> set[str]:
    branches = timeline.branches
    for name in retention.drop:
        if name not in branches:
            message = f"there is no branch {name!r} to drop; there are {', '.join(branches)}"
            raise UsageError(message)
    return {head for name, head in branches.items() if name not in retention.drop}


def _tagged(timeline: Timeline) -> set[str]:
    checkpoints = timeline.checkpoints.items()
    return {i for i, c in checkpoints if c.state == "done" and set(c.tags) - {AUTOMATIC}}


def _chosen(
    timeline: Timeline, retention: Retention, now: float, firm: Iterable[str]
) -> Iterator[str]:
    """Of what is reached from `firm`, what is asked for."""
    if retention.keep_last is None and retention.keep_days is None:
        yield from _reached(timeline, firm)
        return
    if retention.keep_last is not None:
        for head in _heads(timeline, retention):
            yield from islice(timeline.finished(head), retention.keep_last)
    if retention.keep_days is not None:
        since = now - retention.keep_days * DAY_S
        reached = _reached(timeline, firm)
        yield from (i for i in reached if timeline.checkpoints[i].created_at >= since)


def _reached(timeline: Timeline, tips: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for tip in tips:
        for i in timeline.line(tip):
            if i in found:
                break
            found.add(i)
    return found


def _unfinished(timeline: Timeline, found: set[str]) -> Iterator[str]:
    """Steps that failed or did not end, as far as somebody may go on from them or ask why.

    Of each loop of a step the newest that no finished run of the step has overtaken; of failures
    the newest of a name, as long as nothing of that name is newer.
    """
    newest: dict[tuple[object, ...], Checkpoint] = {}
    done: dict[tuple[object, ...], float] = {}
    latest: dict[str, float] = {}
    for c in timeline.checkpoints.values():
        latest[c.name] = max(latest.get(c.name, 0.0), c.created_at)
        step = (c.name, c.key and c.key.digest)
        if c.state == "done":
            done[step] = max(done.get(step, 0.0), c.created_at)
            continue
        if c.parent is not None and c.parent not in found and c.parent in timeline.checkpoints:
            continue
        which = (*step, c.state, c.progress and c.progress[0])
        if which not in newest or newest[which].created_at <= c.created_at:
            newest[which] = c
    for c in newest.values():
        if c.state == "partial":
            is_needed = c.created_at >= done.get((c.name, c.key and c.key.digest), 0.0)
        else:
            is_needed = c.created_at >= latest[c.name]
        if is_needed:
            yield c.id


def _fitting(
    timeline: Timeline,
    max_size: int,
    size_of: Callable[[set[str]], int],
    found: set[str],
    firm: Collection[str],
) -> set[str]:
    """`found` without so many of its oldest that the rest fits."""
    checkpoints = timeline.checkpoints
    done = (i for i in found if i not in firm and checkpoints[i].state == "done")
    oldest = sorted(done, key=lambda i: (checkpoints[i].created_at, i))

    def without(count: int) -> set[str]:
        left = found - set(oldest[:count])
        gone = set(oldest[:count])
        return {
            i for i in left if checkpoints[i].state == "done" or checkpoints[i].parent not in gone
        }

    least = size_of(without(len(oldest)))

    def is_enough(count: int) -> bool:
        room = max_size
        if least > max_size:  # out of reach: then only what holds something is worth to go
            room = least + BOOKKEEPING * (len(oldest) - count)
        return size_of(without(count)) <= room

    fewest, most = 0, len(oldest)
    while fewest < most:
        middle = (fewest + most) // 2
        if is_enough(middle):
            most = middle
        else:
            fewest = middle + 1
    return without(fewest)
