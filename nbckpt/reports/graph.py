"""The graph of checkpoints as characters beside a list of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nbckpt.model import Checkpoint


def drawn(
    checkpoints: Sequence[Checkpoint], marks: Sequence[str], *, trunk: str | None = None
) -> list[str]:
    """One piece of the graph for each checkpoint, all of the same width.

    A child stands in its parent's lane; every further child of the same parent has a lane of its
    own, which joins the parent's where the parent stands. What did not finish has a lane together
    with the others that began there: of twenty tries each in one of its own nothing could be seen.

    Parameters
    ----------
    checkpoints
        Newest first; a parent stands after its children.
    marks
        One character for each checkpoint.
    trunk
        Id of the checkpoint that stands in the first lane, whatever stands above it.
    """
    present = {c.id for c in checkpoints}
    # The checkpoint that each lane leads down to.
    lanes: list[str | None] = [trunk] if trunk in present else []
    rows = []
    unbegun = trunk
    tries: dict[str, int] = {}  # parent → the lane of what did not finish
    for checkpoint, mark in zip(checkpoints, marks, strict=True):
        mine = [i for i, expected in enumerate(lanes) if expected == checkpoint.id]
        if not mine:
            parent = checkpoint.parent if checkpoint.state != "done" else None
            mine = [tries[parent] if parent in tries else _free(lanes)]
            if parent is not None and parent in present:
                tries[parent] = mine[0]
        unbegun = None if checkpoint.id == unbegun else unbegun
        rows.append(_row([i if i != unbegun else None for i in lanes], mine, mark))
        for i in mine:
            lanes[i] = None
        lanes[mine[0]] = checkpoint.parent if checkpoint.parent in present else None
    width = max(map(len, rows), default=0)
    return [row.ljust(width) for row in rows]


def parents_first(parents: Mapping[str, str | None]) -> list[str]:
    """Ids in their order, but none before its parent: two sessions have two clocks.

    Parameters
    ----------
    parents
        Id → id of the parent, which need not be among them.
    """
    placed: dict[str, None] = {}
    for i in parents:
        above: dict[str, None] = {}  # in which a ring of parents is seen, which others may claim
        at: str | None = i
        while at is not None and at in parents and at not in placed and at not in above:
            above[at] = None
            at = parents[at]
        placed.update(dict.fromkeys(reversed(above)))
    return list(placed)


def _free(lanes: list[str | None]) -> int:
    if None not in lanes:
        lanes.append(None)
    return lanes.index(None)


def _row(lanes: Sequence[str | None], mine: Sequence[int], mark: str) -> str:
    """The lanes at one checkpoint: its mark, and the others that join it from the right."""
    pieces = []
    for i, expected in enumerate(lanes):
        joining = mine[0] < i <= mine[-1]
        before = "─" if joining else " "
        if i == mine[0]:
            here = mark
        elif i in mine:
            here = "╯" if i == mine[-1] else "┴"
        elif expected is not None:
            here = "┼" if joining else "│"
        else:
            here = before
        pieces.append((before if i else "") + here)
    return "".join(pieces).rstrip()
