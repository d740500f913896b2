"""A kind of process state: how it is read, compared, written as JSON, and set."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nbckpt.capture.observation.process_state.state_json import (
    IS_ABSENT,
    IS_AS_BEFORE,
    as_json,
    from_json,
    secret_json,
    short_digest,
)
from nbckpt.digests import Json
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.secret_texts import redacted_json

ANYTHING = ""
"""The reach of state that any code may depend on."""

ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "ABSENT"})()
"""In place of the value of an item that is not there."""

_OF_IMPORTS: Any = type("OfImports", (), {})()
"""In a baseline, in place of the value of an entry that an import has put there."""


@dataclass(frozen=True)
class Change:
    """Items to set of one kind.

    Attributes
    ----------
    values
        Item → its value from now on.
    gone
        Items that are to be absent.
    target
        All that differs from the baseline afterwards.
    baseline
        Item → its value before the notebook changed it.
    """

    values: Mapping[str, Any]
    gone: Collection[str]
    target: Mapping[str, Any]
    baseline: Mapping[str, Any]


@dataclass(frozen=True)
class Imported:
    """Imports while an item changed.

    Attributes
    ----------
    modules
        First names of the modules.
    names, strings
        All names and strings of the code that ran.
    """

    modules: Collection[str]
    names: Collection[str]
    strings: Collection[str]

    def has_name(self, pattern: re.Pattern[str]) -> bool:
        """True if a name has such a part."""
        return any(map(pattern.search, self.names))


class Kind:
    """One kind of process state, as items with values.

    Attributes
    ----------
    name
        The name by which users know it; an item of it is `NAME ITEM`.
    module
        It is there once this is in `sys.modules`, which is handed to each method.
    reach
        The part of a step that depends on it: a member of
        `nbckpt.capture.observation.process_state.reach.WORDS`, or `ANYTHING`.
    setters
        A pattern of the names by which plain code sets it to a value that its text shows.
    acts_between_cells
        True if items that differ from the baseline may run code between two cells.
    is_told
        True if users are told that it was set, or could not be.
    """

    name: ClassVar[str]
    module: ClassVar[str] = "builtins"
    reach: ClassVar[str] = ANYTHING
    setters: ClassVar[str] = ""
    acts_between_cells: ClassVar[bool] = False
    is_told: ClassVar[bool] = True

    def read(self, module: Any) -> dict[str, Any]:
        """All items now. Objects that can change are copied."""
        raise NotImplementedError

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:
        """True if `read` would give `items`; quicker than that where there are many."""
        return self.read(module) == items

    def defaults(self, module: Any) -> Mapping[str, Any] | None:  # noqa: ARG002
        """Items of a process that changed nothing; None if they are those there at first."""
        return None

    def changed(self, items: Mapping[str, Any], baseline: Mapping[str, Any]) -> dict[str, Any]:
        """Items that differ from the baseline; those that are missing are `ABSENT`."""
        found = {i: v for i, v in items.items() if not is_equal(baseline.get(i, ABSENT), v)}
        found.update((i, ABSENT) for i in baseline if i not in items)
        return found

    def put(self, module: Any, change: Change) -> None:
        """Set what is to be set; what cannot be raises."""
        raise NotImplementedError

    def reach_of(self, item: str) -> str:  # noqa: ARG002
        """The part of a step that depends on one item, as for `reach`."""
        return self.reach

    def is_of_import(self, item: str, imported: Imported) -> bool:  # noqa: ARG002
        """True if an import has set an item, which does so again whenever it happens."""
        return False

    def is_one(self, before: Any, now: Any) -> bool:  # noqa: ARG002
        """True if two values differ only in how the notebook calls the objects in them."""
        return False

    def holders(self, module: Any) -> Iterable[object]:  # noqa: ARG002
        """Lists and dicts in which the process holds objects of the notebook."""
        return ()

    def leave(self, item: str, items: Mapping[str, Any], baseline: dict[str, Any]) -> None:
        """Have the baseline take what an import has set."""
        baseline[item] = items[item]

    def encoded(self, item: str, value: Any) -> Json:  # noqa: ARG002
        """A value as JSON."""
        return as_json(value)

    def decoded(self, item: str, value: Json) -> Any:  # noqa: ARG002
        """A value from its JSON."""
        return from_json(value)

    def text(self, item: str) -> str:
        """An item as people know it."""
        return f"{self.name} {item}".rstrip()


@dataclass(eq=False)
class Reading:
    """One kind at one moment.

    Attributes
    ----------
    items
        All items.
    changed
        Those that differ from the baseline.
    held
        Item → objects of the notebook in it, which others may call; None before anybody asked.
    """

    kind: Kind
    items: dict[str, Any]
    changed: dict[str, Any]
    held: dict[str, list[Any]] | None = None
    _encoded: dict[str, Json] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)

    def encoded(self, item: str) -> Json:
        """The value of an item as JSON, also where it is that of the baseline."""
        if item not in self._encoded:
            value = self._encode(item)
            is_shown = redacted_json(value) == value
            self._encoded[item] = value if is_shown else secret_json(value)
        return self._encoded[item]

    def digest(self, item: str) -> str:
        """A short digest of the value of an item."""
        if item not in self._digests:
            self._digests[item] = short_digest(self.encoded(item))
        return self._digests[item]

    def digests(self) -> dict[str, str]:
        """Of all that differs from the baseline."""
        return {item: self.digest(item) for item in self.changed}

    def _encode(self, item: str) -> Json:
        if item in self.changed:
            value = self.changed[item]
            return IS_ABSENT if value is ABSENT else self.kind.encoded(item, value)
        if isinstance(self.kind, Ordered):
            return IS_AS_BEFORE if item in self.items else IS_ABSENT
        return self.kind.encoded(item, self.items[item]) if item in self.items else IS_ABSENT


class Ordered(Kind):
    """A list in which places count: items are its entries, values say where one was put.

    Only the places of what the notebook has put there are told: `front` or `back`, and which.
    """

    def changed(self, items: Mapping[str, Any], baseline: Mapping[str, Any]) -> dict[str, Any]:
        """Entries that were put there, moved or taken away."""
        ours = {e: place for e, place in items.items() if baseline.get(e) is not _OF_IMPORTS}
        there = [e for e, value in baseline.items() if value is not _OF_IMPORTS]
        stay, own = [e for e in there if e in ours], [e for e in ours if e in baseline]
        front: list[str] = []
        back: list[str] = []
        while own and own != stay:  # what stands before the others was moved there
            front.append(own.pop(0))
            stay.remove(front[-1])
        places = {entry: place for place, entry in enumerate(ours)}
        for entry in ours:
            if entry not in baseline:
                is_behind = bool(own) and places[entry] > places[own[0]]
                (back if is_behind else front).append(entry)
        front.sort(key=places.__getitem__)
        found: dict[str, Any] = {e: ("front", i) for i, e in enumerate(front)}
        found.update((e, ("back", i)) for i, e in enumerate(back))
        found.update((e, ABSENT) for e in there if e not in ours)
        return found

    def leave(self, item: str, items: Mapping[str, Any], baseline: dict[str, Any]) -> None:  # noqa: ARG002
        baseline[item] = _OF_IMPORTS

    def ordered(self, change: Change) -> list[str]:
        """The entries after a change; those of imports stand behind the notebook's."""
        places: dict[str, list[tuple[int, str]]] = {"front": [], "back": []}
        for entry, place in change.target.items():
            if place is not ABSENT:
                side, rank = place
                places[side].append((rank, entry))
        rest = {e: v for e, v in change.baseline.items() if e not in change.target}
        imported = [e for e, value in rest.items() if value is _OF_IMPORTS]
        stay = [e for e, value in rest.items() if value is not _OF_IMPORTS]
        front, back = ([e for _, e in sorted(places[s])] for s in ("front", "back"))
        return [*front, *imported, *stay, *back]

    def decoded(self, item: str, value: Json) -> Any:  # noqa: ARG002
        """A place from its JSON."""
        return tuple(value) if isinstance(value, list) else value


def is_equal(one: Any, other: Any) -> bool:
    """True if two values are of one type and equal; what cannot say so is not."""
    if one is other:
        return True
    try:
        return bool(type(one) is type(other) and one == other)
    except user_code_errors():  # whatever a value raises, or an array that is neither
        return False
