"""Trust: the part of a store that another user made, its writers, and the verb that trusts it.

The same for the command, the magic, the function and the panel. Nothing is built or run to
tell: types and names stand in the records.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt.config.config_file import doubted_in
from nbckpt.config.settings_sources import settings_of
from nbckpt.model import Checkpoint, Record, Variable, is_trusted
from nbckpt.session.history.summaries import user_names
from nbckpt.session.maintenance.untrusted_report import UntrustedReport, few
from nbckpt.text.escape import on_a_line
from nbckpt.text.units import count_text
from nbckpt.timeline import events

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store
    from nbckpt.timeline.timeline import Timeline

NAME = ".nbckpt"
MEANING = (
    "Trusting it lets what is kept in it run as your own code, when a value is restored, a cell is"
    " run again or a recipe is repeated. Without it nothing of it is built: you see names, types,"
    " shapes, previews and recorded outputs, and can query its Parquet files."
)
_DEFINITIONS = {"function": "functions", "type": "classes"}
_RUNS = ("step", "items", "recording", "value", "approval")
"""Kinds of records, beside checkpoints, that stand for something which need not be done again."""


def strange(store: Store, timeline: Timeline) -> UntrustedReport:
    """The part of a store not known to be this user's; nothing of it is built or run.

    Parameters
    ----------
    timeline
        Timeline of all that the store holds.
    """
    told = amount(store, timeline)
    if not told.checkpoints:
        return told
    return replace(told, **_kinds(reversed(_made(timeline))))


def amount(store: Store, timeline: Timeline) -> UntrustedReport:
    """The same without a look at the variables: how much there is, by whom and of when."""
    found, seen = store.trust.untrusted(), store.trust.untrusted_mark()
    settings = doubted_in(store)
    if not found:
        return UntrustedReport(store.path, 0, 0, 0, seen=seen, settings=settings)
    times = [checkpoint.created_at for checkpoint in _made(timeline)]
    others = ((kind, sum(map(_is_strange, store.records(kind)))) for kind in _RUNS)
    sessions = filter(_is_strange, store.records("session"))
    return UntrustedReport(
        path=store.path,
        records=found.records,
        journals=found.journals,
        checkpoints=len(times),
        seen=seen,
        writers=tuple(dict.fromkeys(map(_writer, sessions))),
        since=times[0] if times else None,
        until=times[-1] if times else None,
        others=tuple((kind, number) for kind, number in others if number),
        settings=settings,
    )


def _made(timeline: Timeline) -> list[Checkpoint]:
    """The checkpoints of other users, oldest first."""
    made = (c for c in list(timeline.checkpoints.values()) if not c.trusted)
    return sorted(made, key=lambda checkpoint: checkpoint.created_at)


def store_at(path: Path) -> Path:
    """The store that somebody means by `path`: it itself, or the one that lies in that folder."""
    inside = path / NAME
    return inside if path.name != NAME and inside.is_dir() else path


def trust(store: Store, timeline: Timeline, *, session: Session | None = None) -> UntrustedReport:
    """Take all that is in the store now for one's own; what that was.

    Parameters
    ----------
    session
        Whose journal is to have it, if it has one; else nothing is written into the store.

    Raises
    ------
    StoreError
        If this user's own folder cannot be written.
    """
    told = strange(store, timeline)
    take_over(store, told.seen, session=session)
    return told


def take_over(store: Store, seen: str, *, session: Session | None = None) -> None:
    """Take all that is in the store for one's own, if it is what somebody has looked at.

    Parameters
    ----------
    seen
        What tells that from anything else: see `UntrustedReport`.
    session
        Whose journal is to have it, if it has one; else nothing is written into the store.

    Raises
    ------
    UntrustedError
        If there is something else now: nothing is trusted then.
    StoreError
        If this user's own folder cannot be written.
    """
    now = store.trust.vouch(seen)
    if session is not None:
        session.settings = settings_of(store)  # some of its own count now
    if not now:
        return
    members = {"records": now.records, "checkpoints": now.checkpoints}
    if session is not None and session.writes.has_begun:
        session.writes.record_event("trusted", **members)
    else:
        events.tell({"event": "trusted", **members})


def trusted_text(told: UntrustedReport) -> str:
    """The line after it was done."""
    if not told:
        return told.text()
    what = count_text(told.checkpoints, "checkpoint") if told.records else "settings"
    by = f" by {few(told.writers)}" if told.writers else ""
    path = told.path
    return on_a_line(f"trusted: {what}{by} in {path}; what is added there later is not")


def _kinds(checkpoints: Iterable[Checkpoint]) -> dict[str, Any]:
    """The variables that checkpoints hold by themselves, by the members of `UntrustedReport`."""
    found: dict[str, dict[Any, None]] = {}
    for checkpoint in checkpoints:
        for variables in (checkpoint.changed, checkpoint.carried):
            for name in user_names(variables):
                variable = variables[name]
                kind = _kind_of(variable)
                what: Any = (name, variable.type_name) if kind == "pickled" else name
                found.setdefault(kind, {})[what] = None
    return {kind: tuple(names) for kind, names in found.items()}


def _kind_of(variable: Variable) -> str:
    return "recipes" if variable.recipe else _DEFINITIONS.get(variable.type_name, "pickled")


def _is_strange(record: Record) -> bool:
    return not is_trusted(record)


def _writer(session: Record) -> str:
    return f"{session.get('user') or 'somebody'}@{session.get('host') or 'somewhere'}"
