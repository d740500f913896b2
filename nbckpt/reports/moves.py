"""Reports of moves, and of values that were given by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nbckpt.errors import TRUST_IT
from nbckpt.model import Checkpoint
from nbckpt.session.history.summaries import ID_LENGTH
from nbckpt.text.escape import on_a_line
from nbckpt.text.units import count_text, duration_text

if TYPE_CHECKING:
    from nbckpt.session.moves.move_result import MoveResult


def moved_lines(moved: MoveResult, did: str, notebook: str) -> list[str]:
    """Report of a move: the first line counts the restored variables, the others name the rest.

    Parameters
    ----------
    did
        The action, as in `rewound to`.
    notebook
        The name of the notebook that moved; empty if it is not known.
    """
    name, took = moved.checkpoint.name, duration_text(moved.took_s)
    restored, same = len(moved.came_back), len(moved.unchanged)
    if same and not restored:
        parts = [f"nothing to restore, {count_text(same, 'variable')} the same in both"]
    else:
        parts = [f"{count_text(restored, 'variable')} restored in {took}"]
        parts += [f"{same} the same in both"] if same else []
    if removed := [name for name in moved.removed if name not in moved.left]:
        parts.append(f"gone: {', '.join(removed)}")
    of = moved.checkpoint.notebook
    whose = f" of the notebook {of!r}" if of and of != notebook else ""
    lines = [f"{did} {name!r}{whose}: {'; '.join(parts)}"]
    if moved.was_set:
        lines.append(f"set: {', '.join(moved.was_set)}")
    lines += [f"not restored: {what}" for what in (*moved.failed, *moved.unset)]
    if moved.untrusted:
        names = ", ".join(f"{r.variable} ({r.type_name})" for r in moved.untrusted)
        lines.append(f"not restored, as made by another user or elsewhere: {names}: {TRUST_IT}")
    lines += _left_lines(moved)
    return [on_a_line(line) for line in lines]


def _left_lines(moved: MoveResult) -> list[str]:
    """Report of the variables that the checkpoint does not hold."""
    refused = {r.variable: str(r) for r in moved.refused}
    texts = {name: refused[name] for name in moved.left if name in refused}
    lines = [f"not kept there{_became(name, moved)}: {text}" for name, text in texts.items()]
    if moved.begun:
        names = ", ".join(moved.begun)
        lines.append(
            f"left as it is now: {names} (running since then: a copy would be another thread)"
        )
    asked: dict[str, list[str]] = {}
    for name in moved.left:
        if name not in refused:
            asked.setdefault(_became(name, moved), []).append(name)
    how = "(left out by --vars, --exclude or an export)"
    lines += [f"not kept there{became}: {', '.join(n)} {how}" for became, n in asked.items()]
    return lines


def _became(name: str, moved: MoveResult) -> str:
    if name in moved.absent:
        return ""
    if name in moved.removed:
        return ", and gone"
    return ", and left as it is now" if name in moved.moved_on else ", and left as it is"


def updated_text(checkpoint: Checkpoint, names: Sequence[str], branch: str) -> str:
    """Confirmation of `update`: names, checkpoint and branch."""
    given = ", ".join(names)
    return on_a_line(
        f"{given} given at {checkpoint.name!r} ({checkpoint.id[:ID_LENGTH]}), on branch {branch!r}"
    )
