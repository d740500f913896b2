"""Trust as it is asked for: what of a store is somebody else's, who that is, and taking it over.

The same for the command, the magic, the function and the panel. Nothing is built or run to tell:
types and names stand in the records, and values are only looked through.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt import events
from nbckpt.errors import UntrustedError
from nbckpt.figures import count_text
from nbckpt.legible import legible
from nbckpt.locked import why_locked
from nbckpt.model import Checkpoint, Record, Variable, is_trusted
from nbckpt.report.words import user_names
from nbckpt.tabular import facts_text

if TYPE_CHECKING:
    from nbckpt.session import Session
    from nbckpt.storage.store import Store
    from nbckpt.timeline import Timeline

NAME = ".nbckpt"
FEW = 6
"""Names that are told; the others are counted."""
MEANING = (
    "Trusting it lets what is kept in it run as your own code, when a value is restored, a cell is"
    " run again or a recipe is repeated. Without it tables, arrays, text and plain containers of"
    " them come back, and nothing else."
)
_DEFINITIONS = {"function": "function", "type": "class"}
_RUNS = ("step", "items", "recording", "approval")
"""Kinds of records, beside checkpoints, that stand for something which need not be done again."""
_SPOKEN = {"step": "kept call", "items": "result of a map", "recording": "model call"}


@dataclass(frozen=True, slots=True)
class Strange:
    """What of a store is not known to be this user's.

    Attributes
    ----------
    path
        Of the store.
    records, journals, checkpoints
        How many there are.
    writers
        Who says to have written it, each as `user@host`; anybody can claim that.
    since, until
        Times of the first and the last of these checkpoints; None where there is none.
    code
        What would be run: `functions`, `classes`, `recipes` and `pickled` name variables,
        `pickled` with their types.
    plain
        Variables that come back without trust.
    others
        Kind of record → how many: kept calls, model calls, answers.
    """

    path: Path
    records: int
    journals: int
    checkpoints: int
    writers: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    functions: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    recipes: tuple[str, ...] = ()
    pickled: tuple[tuple[str, str], ...] = ()
    plain: tuple[str, ...] = ()
    others: tuple[tuple[str, int], ...] = ()

    def __bool__(self) -> bool:
        return self.records > 0

    def text(self) -> str:
        """The lines for people."""
        if not self:
            return f"all in {legible(str(self.path))} is yours: there is nothing to trust"
        types = Counter(kind for _, kind in self.pickled)
        pickled = [f"{name} ({count})" for name, count in types.most_common()]
        facts = [
            ("store", str(self.path)),
            ("not yours", f"{self._amount()}, or of an earlier nbckpt"),
            ("says it is", f"by {_few(self.writers)}" if self.writers else ""),
            ("made", _between(self.since, self.until)),
            ("functions", _few(self.functions)),
            ("classes", _few(self.classes)),
            ("recipes", _few(self.recipes)),
            ("pickles of", _few(pickled)),
            ("kept", ", ".join(_counted(kind, number) for kind, number in self.others)),
            ("plain", f"{_few(self.plain)}: restored without trust" if self.plain else ""),
        ]
        return facts_text([(label, legible(text)) for label, text in facts])

    def as_record(self) -> dict[str, Any]:
        """The same for programs; times in UTC."""
        return {
            "store": str(self.path),
            "records": self.records,
            "journals": self.journals,
            "checkpoints": self.checkpoints,
            "writers": list(self.writers),
            "since": _utc(self.since),
            "until": _utc(self.until),
            "functions": list(self.functions),
            "classes": list(self.classes),
            "recipes": list(self.recipes),
            "pickled": [{"name": name, "type_name": kind} for name, kind in self.pickled],
            "plain": list(self.plain),
            "others": dict(self.others),
        }

    def _amount(self) -> str:
        made = [count_text(self.checkpoints, "checkpoint")] * bool(self.checkpoints)
        made.append(count_text(self.records, "record"))
        return f"{' and '.join(made)} in {count_text(self.journals, 'journal')}"


def strange(store: Store, timeline: Timeline) -> Strange:
    """What of a store is not known to be this user's; nothing of it is built or run.

    Parameters
    ----------
    timeline
        Of all that the store holds.
    """
    found = store.untrusted()
    made = [c for c in list(timeline.checkpoints.values()) if not c.trusted]
    times = sorted(c.created_at for c in made)
    kinds = _Kinds(store)
    for checkpoint in made:
        kinds.take(checkpoint)
    others = ((kind, sum(map(_is_strange, store.records(kind)))) for kind in _RUNS)
    sessions = filter(_is_strange, store.records("session"))
    return Strange(
        path=store.path,
        records=found.records,
        journals=found.journals,
        checkpoints=len(made),
        writers=tuple(dict.fromkeys(map(_writer, sessions))),
        since=times[0] if times else None,
        until=times[-1] if times else None,
        others=tuple((kind, number) for kind, number in others if number),
        **kinds.told(),
    )


def store_at(path: Path) -> Path:
    """The store that somebody means by `path`: it itself, or the one that lies in that folder."""
    inside = path / NAME
    return inside if path.name != NAME and inside.is_dir() else path


def trust(
    store: Store, timeline: Timeline, *, seen: int | None = None, session: Session | None = None
) -> Strange:
    """Take all that is in the store now for one's own; what that was.

    Parameters
    ----------
    seen
        How many records there were when somebody looked at what they are about to trust.
    session
        Whose journal is to have it, if it has one; else nothing is written into the store.

    Raises
    ------
    UntrustedError
        If there is something else now: nothing is trusted then.
    StoreError
        If this user's own folder cannot be written.
    """
    told = strange(store, timeline)
    if seen is not None and seen != told.records:
        message = (
            f"somebody wrote to {legible(str(store.path))} after you looked, so nothing was"
            " trusted: look again"
        )
        raise UntrustedError(message)
    if told:
        store.trust()
        members = {"records": told.records, "checkpoints": told.checkpoints}
        if session is not None and session.begun:
            session.record_event("trusted", **members)
        else:
            events.tell({"event": "trusted", **members})
    return told


def trusted_text(told: Strange) -> str:
    """The line after it was done."""
    if not told:
        return told.text()
    what = count_text(told.checkpoints, "checkpoint")
    by = f" by {_few(told.writers)}" if told.writers else ""
    path = told.path
    return legible(f"trusted: {what}{by} in {path}; what is added there later is not")


class _Kinds:
    """The variables of some checkpoints, by what it takes to restore them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[str, str] = {}
        self._found: dict[str, dict[Any, None]] = {}

    def take(self, checkpoint: Checkpoint) -> None:
        """Add those that a checkpoint holds by itself."""
        for variables in (checkpoint.changed, checkpoint.carried):
            for name in user_names(variables):
                variable = variables[name]
                kind = self._kind_of(variable)
                what: Any = (name, variable.type_name) if kind == "pickled" else name
                self._found.setdefault(kind, {})[what] = None

    def told(self) -> dict[str, tuple[Any, ...]]:
        """By the members of `Strange`."""
        return {kind: tuple(names) for kind, names in self._found.items()}

    def _kind_of(self, variable: Variable) -> str:
        if variable.recipe:
            return "recipes"
        if defined := _DEFINITIONS.get(variable.type_name):
            return "functions" if defined == "function" else "classes"
        if variable.blob not in self._seen:
            is_plain = why_locked(self._store, variable) is None
            self._seen[variable.blob] = "plain" if is_plain else "pickled"
        return self._seen[variable.blob]


def _is_strange(record: Record) -> bool:
    return not is_trusted(record)


def _writer(session: Record) -> str:
    return f"{session.get('user') or 'somebody'}@{session.get('host') or 'somewhere'}"


def _counted(kind: str, number: int) -> str:
    return count_text(number, _SPOKEN.get(kind, "question or answer"), _PLURAL.get(kind, ""))


_PLURAL = {"items": "results of maps", "approval": "questions and answers"}


def _few(names: Sequence[str]) -> str:
    more = [f"{len(names) - FEW} more"] if len(names) > FEW else []
    return ", ".join([*names[:FEW], *more])


def _between(since: float | None, until: float | None) -> str:
    times = _days(t for t in (since, until) if t is not None)
    return " to ".join(dict.fromkeys(times))


def _days(times: Iterable[float]) -> list[str]:
    return [f"{dt.datetime.fromtimestamp(t).astimezone():%Y-%m-%d %H:%M}" for t in times]


def _utc(time: float | None) -> str | None:
    return None if time is None else dt.datetime.fromtimestamp(time, dt.UTC).isoformat()
