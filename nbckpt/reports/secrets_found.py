"""What a search for secrets has found, and what was taken out, as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nbckpt.text.escape import lines_of
from nbckpt.text.secret_texts import redacted
from nbckpt.text.units import count_text

if TYPE_CHECKING:
    from nbckpt.session.maintenance.secret_removal import Removed
    from nbckpt.session.maintenance.secret_search import Found

_REPLACE = "have the provider replace what was found: who has a copy of this folder has it, too"


def found_text(found: Iterable[Found]) -> str:
    """What a search has found, a line each, and what to do about it."""
    lines = [redacted(str(one)) for one in found]
    if not lines:
        return "no secrets found"
    advice = "`nbckpt check --secrets --repair` in a terminal takes it out of the store"
    head = f"{count_text(len(lines), 'secret')} found:"
    return lines_of([head, *lines, f"{_REPLACE}; {advice}"])


def removed_text(removed: Removed) -> str:
    """Secrets that were taken out of a store, a line each, and those that were left."""
    lines = [f"taken out: {told}" for told in removed.taken]
    lines += [f"stars: {told}" for told in removed.starred]
    lines += [f"left: {told}" for told in removed.left]
    if removed.why_left:
        lines.append(removed.why_left)
    if not lines:
        return "no secrets found"
    return lines_of([*map(redacted, lines), _REPLACE])
