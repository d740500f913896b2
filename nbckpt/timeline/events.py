"""Events of a session, as the journal, SQL, `logging` and OpenTelemetry report them.

An event is a record ``{"kind": "event", "event": …}``. This module gives each its meaning: its
outcome unless the record says otherwise, its logger and level, and its text. Names that the user
typed may be reported; a value, or the text of an error that the user's code raised, never leaves
the store.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from nbckpt.runtime import telemetry
from nbckpt.text.escape import on_a_line

Outcome: TypeAlias = Literal["done", "partial", "failed"]
ROOT = "nbckpt"
logging.getLogger(ROOT).addHandler(logging.NullHandler())
# A notebook that says `basicConfig(level=INFO)` means its own messages: what nbckpt does around
# each cell would be printed into them. Who wants that sets a level for `nbckpt`.
_IS_LEVEL_OURS = logging.getLogger(ROOT).level == logging.NOTSET
_OUR_LEVELS = (logging.WARNING, logging.ERROR)
if _IS_LEVEL_OURS:
    logging.getLogger(ROOT).setLevel(logging.WARNING)
_AREAS = ("checkpoint", "cell", "restore", "calls", "store", "session")
_LOGGERS = {area: logging.getLogger(f"{ROOT}.{area}") for area in _AREAS}


def let_shell_warn(*, does: bool) -> None:
    """Log no warnings where a shell tells of them in a line of its own, or log them again."""
    level, other = logging.WARNING, logging.ERROR
    if not does:
        level, other = other, level
    if _IS_LEVEL_OURS and logging.getLogger(ROOT).level == level:
        logging.getLogger(ROOT).setLevel(other)


def is_level_ours(logger: logging.Logger) -> bool:
    """True if no one but nbckpt has set a logger's level."""
    return logger.name == ROOT and _IS_LEVEL_OURS and logger.level in _OUR_LEVELS


class Kind(NamedTuple):
    """Meaning of an event.

    Attributes
    ----------
    area
        Last part of the name of its logger: ``nbckpt.checkpoint``, ``nbckpt.restore``, …
    level
        Its level in `logging`.
    text
        Text that is logged: a template for the event's members.
    outcome
        Its outcome, where the event does not give one.
    """

    area: str
    level: int
    text: str
    outcome: Outcome = "done"


_DEBUG, _INFO, _WARNING, _ERROR = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR
ENDED = "ended"
"""The event that a session writes when it ends as it should."""

_COST = "%(size_bytes)d bytes in %(took_s).3f s"

KINDS: Mapping[str, Kind] = {
    # saves
    "kept": Kind("checkpoint", _INFO, f"checkpoint %(name)r kept: {_COST}"),
    "progress": Kind("checkpoint", _DEBUG, f"progress of %(name)r kept: {_COST}"),
    "not_kept": Kind("checkpoint", _ERROR, "%(what)s NOT kept: %(error)s", "failed"),
    "stale": Kind("checkpoint", _ERROR, "%(name)r was found wrong: %(error)s", "failed"),
    "ran": Kind("cell", _DEBUG, "%(name)r ran in %(took_s).3f s"),
    "failed": Kind("cell", _INFO, "%(name)r raised after %(took_s).3f s", "failed"),
    "event": Kind("cell", _DEBUG, "event %(name)r"),
    "recovered": Kind("cell", _INFO, "recovered from %(name)r in attempt %(attempt)d"),
    "gave_up": Kind("cell", _WARNING, "gave up after %(attempt)d attempts", "failed"),
    "reran": Kind("cell", _INFO, "reran from %(name)r"),
    # restores
    "restored": Kind(
        "restore",
        _INFO,
        "%(name)r restored instead of run in %(took_s).3f s: %(saved_s).3f s saved",
    ),
    "continued": Kind("restore", _INFO, "%(name)r goes on where it was: %(saved_s).3f s saved"),
    "rewound": Kind("restore", _INFO, f"rewound to %(name)r: {_COST}"),
    "resumed": Kind("restore", _INFO, f"resumed at %(name)r: {_COST}"),
    "forked": Kind("restore", _INFO, f"forked at %(name)r: {_COST}"),
    "switched": Kind("restore", _INFO, f"switched to %(name)r: {_COST}"),
    "updated": Kind("restore", _INFO, f"updated as %(name)r: {_COST}"),
    "fell_back": Kind("restore", _WARNING, f"the head is damaged, resumed at %(name)r: {_COST}"),
    "resume_failed": Kind("restore", _ERROR, "%(name)r is damaged and was NOT resumed", "failed"),
    # model calls, and functions that are kept
    "model_calls": Kind(
        "calls", _INFO, "calls of %(name)r: %(recorded)d recorded, %(replayed)d replayed"
    ),
    "model_call_failed": Kind("calls", _WARNING, "a model call of %(name)r failed", "failed"),
    "not_recorded": Kind("calls", _ERROR, "an answer of %(name)r is NOT recorded", "failed"),
    "attempt_failed": Kind("calls", _WARNING, "attempt %(attempt)d of %(name)r failed", "failed"),
    "items_failed": Kind("calls", _WARNING, "%(failed)d items of %(name)r failed", "failed"),
    # the store, and nbckpt itself
    "pruned": Kind("store", _INFO, "pruned %(checkpoints)d checkpoints"),
    "prune_failed": Kind("store", _ERROR, "old checkpoints were NOT removed: %(error)s", "failed"),
    "trusted": Kind("store", _INFO, "trusted %(records)d records"),
    "secrets_removed": Kind("store", _INFO, "took secrets out of the store"),
    "repaired": Kind("store", _INFO, "repaired the store in %(took_s).3f s"),
    "rekeyed": Kind("store", _INFO, "rekeyed the store"),
    "write_failed": Kind("store", _ERROR, "a write was refused: %(error)s", "failed"),
    "hook_failed": Kind("session", _ERROR, "%(where)s: a defect (%(error)s)", "failed"),
    ENDED: Kind("session", _INFO, "session %(session)s ended"),
}
"""The events that are told; others are in the journal alone."""

_LEFT_OUT = "left out of %(name)r: %(names)s"
_ABSENT: Mapping[str, object] = {
    **dict.fromkeys(("name", "what", "error", "where", "session"), ""),
    **dict.fromkeys(("size_bytes", "took_s", "saved_s", "attempt", "failed", "records"), 0),
    **dict.fromkeys(("recorded", "replayed", "checkpoints"), 0),
}
_TOLD = ("checkpoint", "name", "session", "branch", "took_s", "saved_s", "size_bytes", "left_out")
"""Members that go to handlers as they are: none of them can hold a value."""


def outcome_of(event: Mapping[str, object]) -> str:
    """Outcome of an event: ``done``, ``partial`` (something was left out) or ``failed``."""
    if told := event.get("outcome"):
        return str(told)
    kind = KINDS.get(str(event.get("event")))
    return kind.outcome if kind else "done"


def tell(event: Mapping[str, object], context: object = None) -> None:
    """Have the loggers, and OpenTelemetry where it is in use, know of an event.

    Parameters
    ----------
    event
        The members of its record.
    context
        OpenTelemetry's, of the moment in which it began; by default that of now.
    """
    name = str(event.get("event"))
    kind = KINDS.get(name)
    if kind is None:
        return
    outcome = outcome_of(event)
    _log(name, kind, outcome, event)
    if (watch := telemetry.watching()) is not None:
        with telemetry.harmless():
            watch.take(name, kind.area, outcome, event, context)


def _log(name: str, kind: Kind, outcome: str, event: Mapping[str, object]) -> None:
    logger = _LOGGERS[kind.area]
    left_out = event.get("left_out")
    if not logger.isEnabledFor(_WARNING if left_out else kind.level):
        return
    extra = {f"{ROOT}_{member}": event[member] for member in _TOLD if member in event}
    extra |= {f"{ROOT}_event": name, f"{ROOT}_outcome": outcome}
    told = {name: on_a_line(v) if isinstance(v, str) else v for name, v in event.items()}
    logger.log(kind.level, kind.text, {**_ABSENT, **told}, extra=extra)
    if isinstance(left_out, (list, tuple)) and left_out:
        names = {"name": told.get("name", ""), "names": on_a_line(", ".join(map(str, left_out)))}
        logger.warning(_LEFT_OUT, names, extra=extra)
