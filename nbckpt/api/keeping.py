"""Tags, notes and events on checkpoints, and pruning, on the session that is open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nbckpt.session.checkpoint_view import Look, ref_of
from nbckpt.steps import current_session

if TYPE_CHECKING:
    from nbckpt.storage.pruning import Pruned


def tag(ref: str | Look, *tags: str, delete: bool = False) -> Look:
    """The checkpoint `ref` with these tags, or with `delete` without them.

    Raises
    ------
    CheckpointNotFoundError
        If there is none.
    UsageError
        If a tag is none, or one to delete is not there.
    """
    session = current_session.session()
    return Look(session, session.tag(ref_of(ref), *tags, delete=delete))


def note(ref: str | Look, text: str) -> Look:
    """The checkpoint `ref` with another note; an empty text takes it away.

    Raises
    ------
    CheckpointNotFoundError
        If there is none.
    """
    session = current_session.session()
    return Look(session, session.note(ref_of(ref), text))


def event(name: object) -> Look | None:
    """The checkpoint that this event made; None unless ``%nbckpt auto event`` waits for it.

    Parameters
    ----------
    name
        What happened, as text or what has one, as a number of an epoch; the checkpoint's name.

    Raises
    ------
    UsageError
        If no reference can mean it: it has a space in it, say.
    """
    session = current_session.session()
    made = session.event(str(name))
    return None if made is None else Look(session, made)


def prune(
    keep_last: int | None = None,
    keep_days: float | None = None,
    keep_tagged: bool = True,
    max_size: int | str | None = None,
    drop: Iterable[str] = (),
    recordings: bool | float | None = None,
    forget: Iterable[str] = (),
    dry_run: bool = False,
) -> Pruned:
    """Remove what no head, no tag and no rule keeps from the store; return what was removed.

    Without any rule those of the settings count, if there are any.

    Parameters
    ----------
    keep_last
        Number of the newest checkpoints of each branch that stay.
    keep_days
        Age in days below which checkpoints stay.
    max_size
        The oldest go until the store is no larger: bytes, or a text such as ``"2GB"``.
    drop
        Branches to give up.
    recordings
        True: model calls and kept calls of steps that have no checkpoint left go too; a number:
        those of them that are older than that many days. What was paid for stays otherwise.
    forget
        Tags of model calls that go, whatever step they belong to.
    dry_run
        Only report.

    Raises
    ------
    UsageError
        If a number means nothing, or a branch to drop is not there.
    StoreError
        If another prune runs, or the disk refuses.
    """
    from nbckpt.session.maintenance import prune as pruning

    session = current_session.session()
    retention = pruning.asked(
        session.settings,
        keep_last=keep_last,
        keep_days=keep_days,
        keep_tagged=keep_tagged,
        max_size=max_size,
        drop=_several(drop),
        recordings=recordings,
        forget=_several(forget),
    )
    return pruning.prune(session, retention, dry_run=dry_run)


def _several(names: object) -> tuple[Any, ...]:
    """Names as they were given: one, or several."""
    return tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else (names,)


def wait(timeout_s: float | None = None) -> None:
    """Return when everything so far is durable.

    Raises
    ------
    StoreError
        If some of it could not be written.
    """
    current_session.session().wait(timeout_s)
