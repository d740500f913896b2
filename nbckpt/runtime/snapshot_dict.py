"""A dict whose snapshots cost what has changed since they were taken, not its length."""

from __future__ import annotations

import weakref
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Generic, TypeVar, cast, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

_ABSENT: Any = object()
"""Stands for the value of a key that was not there."""


class SnapshotDict(dict[K, V], Generic[K, V]):
    """A dict that can be looked at later as it is now.

    Reading is as fast as with any dict. A change costs a little for each snapshot that somebody
    still holds.
    """

    def __init__(self, entries: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        super().__init__(entries)
        self._held: list[weakref.ref[Snapshot[K, V]]] = []

    def snapshot(self) -> Snapshot[K, V]:
        """All entries as they are now; the same object while none changes."""
        newest = self._held[-1]() if self._held else None
        if newest is None or newest.overlay:
            newest = Snapshot(self)
            self._held = [held for held in self._held if held() is not None]
            self._held.append(weakref.ref(newest))
        return newest

    def revert(self, snapshot: Snapshot[K, V]) -> None:
        """Make all entries what they were when a snapshot of this dict was taken."""
        for key, value in list(snapshot.overlay.items()):
            if value is _ABSENT:
                self.pop(key, None)
            else:
                self[key] = value

    def changes(self, key: K, value: V | None) -> None:
        """Be told that an entry is about to become `value`, or to go (None)."""

    # Before an entry changes, each snapshot takes what was there: a reader in another thread that
    # looks here first, and then at what the snapshot took, is right at any moment.

    def _note(self, key: K, value: V | None) -> None:
        self.changes(key, value)
        for held in self._held:
            if (snapshot := held()) is not None and key not in snapshot.overlay:
                snapshot.overlay[key] = self.get(key, _ABSENT)

    def __setitem__(self, key: K, value: V) -> None:
        if self.get(key, _ABSENT) is not value:
            self._note(key, value)
            super().__setitem__(key, value)

    def __delitem__(self, key: K) -> None:
        if key in self:
            self._note(key, None)
        super().__delitem__(key)

    def pop(self, key: K, *default: D) -> V | D:
        """Remove an entry and return its value, or the default."""
        if key in self:
            self._note(key, None)
        return super().pop(key, *default)

    def update(self, entries: Any = (), /, **more: V) -> None:
        """Set many entries."""
        pairs = entries.items() if isinstance(entries, Mapping) else entries
        for key, value in pairs:
            self[key] = value
        for name, value in more.items():
            self[cast("K", name)] = value

    def setdefault(self, key: K, default: V = None) -> V:  # type: ignore[assignment]
        """The value of a key, which is set first if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self):
            del self[key]

    def popitem(self) -> tuple[K, V]:
        """Remove the newest entry and return it."""
        key = next(reversed(self))
        value = self[key]
        del self[key]
        return key, value

    def __ior__(self, other: Any) -> SnapshotDict[K, V]:  # type: ignore[override,misc]
        self.update(other)
        return self


class Snapshot(Mapping[K, V]):
    """The entries of a `SnapshotDict` as they were at one moment; it does not change.

    Attributes
    ----------
    overlay
        What was there of each key that changed since.
    """

    __slots__ = ("__weakref__", "_source", "overlay")

    def __init__(self, source: SnapshotDict[K, V]) -> None:
        self._source = source
        self.overlay: dict[K, V] = {}

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, /, default: V | D) -> V | D: ...
    def get(self, key: K, /, default: Any = None) -> Any:
        """The value of a key, or else the default."""
        found = self._source.get(key, _ABSENT)
        found = self.overlay.get(key, found)
        return default if found is _ABSENT else found

    def __getitem__(self, key: K) -> V:
        found: V = self.get(key, _ABSENT)
        if found is _ABSENT:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return self.get(cast("K", key), _ABSENT) is not _ABSENT

    def copy(self) -> dict[K, V]:
        """All entries in a new dict; of those that changed since, the order may be another."""
        found = dict(self._source)
        for key, value in list(self.overlay.items()):
            if value is _ABSENT:
                found.pop(key, None)
            else:
                found[key] = value
        return found

    def __iter__(self) -> Iterator[K]:
        return iter(self.copy())

    def __len__(self) -> int:
        return len(self.copy()) if self.overlay else len(self._source)

    def keys(self) -> KeysView[K]:
        """The keys."""
        return self.copy().keys()

    def values(self) -> ValuesView[V]:
        """The values."""
        return self.copy().values()

    def items(self) -> ItemsView[K, V]:
        """Keys and values."""
        return self.copy().items()

    def __repr__(self) -> str:
        return f"Snapshot({self.copy()!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and not differing(self, other)

    __hash__ = None  # type: ignore[assignment]

    def is_of(self, source: SnapshotDict[K, V]) -> bool:
        """True if it is a snapshot of this dict."""
        return self._source is source

    def may_differ(self, other: Mapping[K, V]) -> Iterable[K]:
        """The keys that can have different values in two mappings: few of two of one source."""
        if isinstance(other, Snapshot) and other.is_of(self._source):
            return {*self.overlay, *other.overlay}
        return {*self, *other}


def differing(one: Mapping[K, V], other: Mapping[K, V]) -> set[K]:
    """The keys that have different values in two mappings, or a value in one of them only."""
    if one is other:
        return set()
    keys = one.may_differ(other) if isinstance(one, Snapshot) else {*one, *other}
    found = set()
    for key in keys:
        a, b = one.get(key, _ABSENT), other.get(key, _ABSENT)
        if a is not b and a != b:
            found.add(key)
    return found


class Difference(Generic[K, V]):
    """The keys that differ between two mappings which both go on changing.

    What was found last time is the start of the next answer: it costs what changed since.
    """

    def __init__(self) -> None:
        self._one: Mapping[K, V] = {}
        self._other: Mapping[K, V] = {}
        self._found: set[K] = set()

    def of(self, one: Mapping[K, V], other: Mapping[K, V]) -> set[K]:
        """The keys that have different values, or a value in one of the two only."""
        candidates = {
            *self._found,
            *_may_differ(self._one, one),
            *_may_differ(self._other, other),
        }
        self._found = {
            key
            for key in candidates
            if (a := one.get(key, _ABSENT)) is not (b := other.get(key, _ABSENT)) and a != b
        }
        self._one, self._other = one, other
        return set(self._found)


def _may_differ(before: Mapping[K, V], now: Mapping[K, V]) -> Iterable[K]:
    if before is now:
        return ()
    return now.may_differ(before) if isinstance(now, Snapshot) else {*before, *now}
