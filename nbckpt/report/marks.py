"""What is said of tags, notes and settings."""

from __future__ import annotations

from collections.abc import Sequence

from nbckpt.config import Row
from nbckpt.model import Checkpoint
from nbckpt.report.words import ID_LENGTH
from nbckpt.tabular import Column, table_text

SETTINGS = (Column("setting"), Column("value"), Column("from"), Column("meaning"))


def tagged_text(checkpoint: Checkpoint, tags: Sequence[str], *, delete: bool) -> str:
    """What `tag` did."""
    named = ", ".join(map(repr, tags))
    name = repr(checkpoint.name)
    return f"took tag {named} off {name}" if delete else f"tagged {name} with {named}"


def noted_text(checkpoint: Checkpoint) -> str:
    """What `note` did."""
    what = "noted at" if checkpoint.note else "took the note off"
    return f"{what} {checkpoint.name!r}"


def updated_text(checkpoint: Checkpoint, names: Sequence[str], branch: str) -> str:
    """What `update` did."""
    given = ", ".join(names)
    return (
        f"{given} given at {checkpoint.name!r} ({checkpoint.id[:ID_LENGTH]}), on branch {branch!r}"
    )


def settings_text(rows: Sequence[Row], *, width: int | None = None) -> str:
    """Settings, one a line: the value, where it comes from, and what it means."""
    return table_text(SETTINGS, rows, width=width)
