"""Prune as it is asked for: rules → what is kept → what was removed, as text and JSON."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nbckpt.config.amounts import bytes_of
from nbckpt.config.settings import prune_size
from nbckpt.config.validate import require_number, require_texts
from nbckpt.errors import StoreError, UsageError
from nbckpt.text.escape import lines_of
from nbckpt.text.units import bytes_text, count_text

if TYPE_CHECKING:
    from nbckpt.config.settings import Settings
    from nbckpt.session.session import Session
    from nbckpt.storage.pruning import Pruned
    from nbckpt.storage.store import Store
    from nbckpt.timeline.prune_retention import Retention

NAMED = 10
"""Checkpoints that a dry run names; the rest is counted."""


def asked(
    settings: Settings,
    *,
    keep_last: int | None,
    keep_days: float | None,
    keep_tagged: bool,
    max_size: int | str | None,
    drop: tuple[str, ...],
    recordings: float | bool | None = None,
    forget: tuple[str, ...] = (),
) -> Retention:
    """Retention that is asked for; without any option, the one of the settings.

    Parameters
    ----------
    recordings
        True: calls of steps without a checkpoint go; a number: those older than that many days.

    Raises
    ------
    UsageError
        If a number is not valid.
    """
    from nbckpt.timeline.prune_retention import Retention

    calls_days = _calls_days(recordings)
    rules = (keep_last, keep_days, max_size, calls_days)
    if rules == (None,) * len(rules) and not drop and not forget:
        keep_last, keep_days = settings.retention_count, settings.retention_days
        max_size, calls_days = prune_size(settings), settings.retention_recordings
    if keep_last is not None:
        require_number(keep_last, "keep_last", whole=True)
    if keep_days is not None:
        require_number(keep_days, "keep_days")
    require_texts(drop, "a branch to drop")
    require_texts(forget, "a tag to forget")
    if keep_last is not None and keep_last < 1:
        message = f"keep_last is {keep_last}: keep 1 checkpoint or more"
        raise UsageError(message)
    if keep_days is not None and keep_days < 0:
        message = f"keep_days is {keep_days}: give a number of days, 0 or more"
        raise UsageError(message)
    size = bytes_of(max_size) if isinstance(max_size, str) else max_size
    is_number = isinstance(size, (int, float)) and not isinstance(size, bool)
    if size is not None and (not is_number or not size >= 0):
        message = f"max_size is {size!r}: give a number of bytes, or a size such as '2GB'"
        raise UsageError(message)
    return Retention(
        keep_last=keep_last,
        keep_days=keep_days,
        keep_tagged=keep_tagged,
        max_size=size,
        drop=drop,
        calls_days=calls_days,
        forget=forget,
    )


def _calls_days(recordings: float | bool | None) -> float | None:
    if recordings is None or isinstance(recordings, bool):
        return 0.0 if recordings else None
    require_number(recordings, "recordings")
    if recordings < 0:
        message = f"recordings is {recordings}: give a number of days, 0 or more"
        raise UsageError(message)
    return recordings


def prune(session: Session, retention: Retention, *, dry_run: bool = False) -> Pruned:
    """Remove what is not to be kept from the store of a session.

    Raises
    ------
    StoreError
        If another prune runs, or the disk refuses.
    UsageError
        If a branch to drop is not there, or is the session's own.
    """
    branch = session.position.branch
    if branch in retention.drop:
        message = f"this session is on branch {branch!r}: `%switch` to another, then drop it"
        raise UsageError(message)
    with suppress(StoreError):  # on a full disk, pruning is what helps
        session.wait()
    pruned = prune_store(session.store, retention, dry_run=dry_run)
    session.refresh()
    return pruned


def prune_store(store: Store, retention: Retention, *, dry_run: bool = False) -> Pruned:
    """Remove what is not to be kept from a store that no session of this process writes to."""
    from nbckpt.storage.pruning import prune

    return prune(store, retention, dry_run=dry_run)


def text_of(pruned: Pruned) -> str:
    """Text on the removed items and freed bytes of a prune, or of a dry run as they would be."""
    would, done = ("would remove", "would free") if pruned.dry_run else ("removed", "freed")
    removed, kept = len(pruned.checkpoints), count_text(pruned.kept_checkpoints, "checkpoint")
    what = count_text(removed, "checkpoint") if removed else "no checkpoint"
    what += f" and {count_text(pruned.calls, 'call')}" if pruned.calls else ""
    lines = [f"{would} {what}, {done} {bytes_text(pruned.freed_bytes)}; {kept} kept"]
    if pruned.dry_run:
        lines += [f"  {name}  {i[:8]}" for i, name in pruned.checkpoints[:NAMED]]
        more = removed - NAMED
        lines += [f"  … and {more:,} more"] if more > 0 else []
    return lines_of([*lines, *([pruned.left] if pruned.left else [])])


def as_record(pruned: Pruned) -> dict[str, Any]:
    """The same for programs."""
    return {
        **dataclasses.asdict(pruned),
        "checkpoints": [{"id": i, "name": n} for i, n in pruned.checkpoints],
    }
