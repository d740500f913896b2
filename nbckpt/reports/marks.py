"""Confirmations of tags and notes."""

from __future__ import annotations

from collections.abc import Sequence

from nbckpt.model import Checkpoint


def tagged_text(checkpoint: Checkpoint, tags: Sequence[str], *, delete: bool) -> str:
    """Confirmation that `tag` set tags, or took them off."""
    named = ", ".join(map(repr, tags))
    name = repr(checkpoint.name)
    return f"took tag {named} off {name}" if delete else f"tagged {name} with {named}"


def noted_text(checkpoint: Checkpoint) -> str:
    """Confirmation that `note` set a note, or took it off."""
    what = "noted at" if checkpoint.note else "took the note off"
    return f"{what} {checkpoint.name!r}"
