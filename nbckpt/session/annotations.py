"""Tags and notes that people write on checkpoints that are there already."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nbckpt.config.validate import require_text, require_texts
from nbckpt.errors import UsageError
from nbckpt.model import Checkpoint, Record
from nbckpt.runtime import clock
from nbckpt.timeline.fold import MICROSECOND
from nbckpt.timeline.records import note_record, tag_record

if TYPE_CHECKING:
    from nbckpt.session.session_parts import SessionParts

_TAG = re.compile(r"(?![~-])[^\s,#]+")


def tag(session: SessionParts, ref: str, tags: Sequence[str], *, delete: bool) -> Checkpoint:
    """Give a checkpoint tags, or take them away."""
    checkpoint = session.get(ref)
    if not tags:
        message = f"tag {ref!r}: say which tag, as in `%nbckpt tag {ref} best`"
        raise UsageError(message)
    require_texts(tags, "a tag")
    for one in tags:
        if one not in checkpoint.tags:
            require_tag(one)
        if delete and one not in checkpoint.tags:
            there = ", ".join(map(repr, checkpoint.tags)) or "none"
            message = f"{checkpoint.name!r} has no tag {one!r} to take away; it has {there}"
            raise UsageError(message)
    at = session.timeline.later_than_all(clock.now())
    times = (at + n * MICROSECOND for n in range(len(tags)))  # so that their order is kept
    records = [
        tag_record(checkpoint.id, one, delete=delete, at=when)
        for one, when in zip(tags, times, strict=True)
    ]
    return _mark(session, checkpoint, records)


def note(session: SessionParts, ref: str, text: str) -> Checkpoint:
    """Give a checkpoint another note."""
    require_text(text, "a note")
    checkpoint = session.get(ref)
    at = session.timeline.later_than_all(clock.now())
    return _mark(session, checkpoint, [note_record(checkpoint.id, text.strip(), at)])


def require_tag(text: str) -> None:
    """Raise unless `text` can be a tag."""
    if not _TAG.fullmatch(text):
        rule = "without spaces, commas and '#', and no '-' or '~' at its beginning"
        message = f"{text!r} is no tag: write one word {rule}"
        raise UsageError(message)


def _mark(session: SessionParts, checkpoint: Checkpoint, records: list[Record]) -> Checkpoint:
    session.writes.follow(f"the mark of {checkpoint.name!r}", session.writes.append(records))
    for record in records:
        session.timeline.apply(record)
    session.emit("tag")
    return session.timeline.checkpoints[checkpoint.id]
