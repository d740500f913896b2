"""Descriptions of one checkpoint in a few words, for all reports."""

from __future__ import annotations

from collections.abc import Iterable

from nbckpt.fingerprint import random_generators
from nbckpt.model import Checkpoint, size_of_all
from nbckpt.text.units import bytes_text, count_text

ID_LENGTH = 8


def user_names(names: Iterable[str]) -> list[str]:
    """Those of `names` that are variables of the user's, sorted."""
    return sorted(name for name in names if name not in random_generators.NAMES)


def size_of(checkpoint: Checkpoint) -> int:
    """Bytes of the values that a checkpoint added: what variables share is counted once."""
    return size_of_all(checkpoint.changed[name] for name in user_names(checkpoint.changed))


def summary_of(checkpoint: Checkpoint) -> str:
    """Values that a checkpoint added, in a few words."""
    count = count_text(len(user_names(checkpoint.changed)), "variable")
    kept = f"{count} new or changed, {bytes_text(size_of(checkpoint))}"
    if not checkpoint.refused:
        return kept
    return f"{kept}; not kept: {'; '.join(map(str, checkpoint.refused))}"


def state_text(checkpoint: Checkpoint) -> str:
    """`done`, `failed: ValueError: …` or `21 of 40 items done`."""
    if checkpoint.state == "failed":
        return f"failed: {checkpoint.error}" if checkpoint.error else "failed"
    if checkpoint.progress is None:
        return checkpoint.state
    _, done, total = checkpoint.progress
    return f"{done} of {total} items done" if total >= 0 else f"{count_text(done, 'item')} done"


def origin_text(checkpoint: Checkpoint) -> str:
    """Origin of a checkpoint that no single cell made; empty for all others."""
    match checkpoint.made_by:
        case "fork":
            return "values by fork"
        case "update":
            return "values by hand"
        case "":
            cells = len(checkpoint.joined)
            return f"with {count_text(cells, 'cell')} before" if cells else ""
    return f"made by {checkpoint.made_by}"
