"""What is said of moves, and of values that were given by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nbckpt.errors import TRUST_IT
from nbckpt.figures import count_text, duration_text
from nbckpt.legible import on_a_line
from nbckpt.model import Checkpoint
from nbckpt.report.words import ID_LENGTH

if TYPE_CHECKING:
    from nbckpt.moves import Moved


def moved_lines(moved: Moved, did: str) -> list[str]:
    """What is said of a move: the first line tells what came back, the others what did not.

    Parameters
    ----------
    did
        What was done, as in `rewound to`.
    """
    name, took = moved.checkpoint.name, duration_text(moved.took_s)
    parts = [f"{count_text(len(moved.came_back), 'variable')} restored in {took}"]
    if moved.unchanged:
        parts.append(f"{len(moved.unchanged)} were the same")
    if moved.removed:
        parts.append(f"gone: {', '.join(moved.removed)}")
    lines = [f"{did} {name!r}: {'; '.join(parts)}"]
    if moved.was_set:
        lines.append(f"set: {', '.join(moved.was_set)}")
    lines += [f"not restored: {what}" for what in (*moved.failed, *moved.unset)]
    if moved.untrusted:
        names = ", ".join(f"{r.variable} ({r.type_name})" for r in moved.untrusted)
        lines.append(f"not restored, because this store is not trusted: {names}: {TRUST_IT}")
    if moved.left:
        refused = {r.variable: r for r in moved.checkpoint.refused}
        left_out = [name for name in moved.left if name not in refused]
        texts = [str(refused[name]) for name in moved.left if name in refused]
        texts += [f"{', '.join(left_out)} (left out by --vars, --exclude or an export)"] * bool(
            left_out
        )
        lines += [f"not kept there, and left as it is: {text}" for text in texts]
    return [on_a_line(line) for line in lines]


def updated_text(checkpoint: Checkpoint, names: Sequence[str], branch: str) -> str:
    """What `update` did."""
    given = ", ".join(names)
    return on_a_line(
        f"{given} given at {checkpoint.name!r} ({checkpoint.id[:ID_LENGTH]}), on branch {branch!r}"
    )
