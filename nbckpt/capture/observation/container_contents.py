"""Contents of a list, dict, set, deque or bytearray: copied, compared, and put back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from operator import is_
from typing import Any, NamedTuple

from nbckpt.capture.observation.changes import UNKNOWN, Change, Kind
from nbckpt.capture.observation.registries import is_bookkeeping
from nbckpt.fingerprint.user_names import Own

KINDS = (list, dict, set, deque, bytearray)

MOST_ITEMS = 5_000
"""Of a container that is followed, and letters of a text that is searched for names."""

_NEVER = frozenset(
    {"__all__", "__annotations__", "__builtins__", "__dataclass_fields__", "__dict__", "__path__",
     "__slots__", "__warningregistry__", "rcParams", "rcParamsDefault", "rcParamsOrig"}
)  # fmt: skip


class HeldContainer(NamedTuple):
    """A container at its place."""

    kind: Kind
    owner: str
    name: str
    container: Any

    @property
    def place(self) -> tuple[str, str]:
        """Of which module or class, and under which name."""
        return self.owner, self.name


class Refill(Own):
    """Has a container hold again what it held at a moment, or what another one holds."""

    def __init__(self, container: Any, content: Any) -> None:
        self._container = container
        self._content = content

    def __call__(self, value: Any) -> None:
        """Fill it with what `value` holds; with what it held itself, if `value` is the container.

        Raises
        ------
        Exception
            Whatever its own methods raise.
        """
        content = self._content if value is self._container else value
        container = self._container
        container.clear()
        fill = container.update if issubclass(type(container), dict | set) else container.extend
        fill(content)


def is_followed(name: object, container: Any) -> bool:
    """True if a container is followed: its name is no bookkeeping, and it is not too long."""
    if type(name) is not str or name in _NEVER or is_bookkeeping(name):
        return False
    kind = next(kind for kind in KINDS if issubclass(type(container), kind))
    length: Any = kind.__len__
    return bool(length(container) <= MOST_ITEMS)


def content_of(container: Any) -> Any:
    """A copy of what a container holds. No code of its own class runs: it may do anything."""
    kind = type(container)
    if issubclass(kind, dict):
        return dict(dict.items(container))
    if issubclass(kind, list):
        return list.copy(container)
    if issubclass(kind, set):
        return sorted(set.__iter__(container), key=id)
    if issubclass(kind, deque):
        return list(deque.__iter__(container))
    return bytearray.__getitem__(container, slice(None))


def change_of(held: HeldContainer, old: object) -> Change:
    """The change of a container from an old content to what it holds now."""
    put = Refill(held.container, content_of(held.container))
    return Change(held.kind, held.owner, held.name, held.name, old, held.container, put)


def difference(container: Any, before: Any) -> Any:
    """Elements that a container has gained, with their places, and the places of the lost ones.

    Parameters
    ----------
    before
        Its content before, as a `Change` has it; `UNKNOWN`, if nobody knows: then all counts.
    """
    now = content_of(container)
    if before is UNKNOWN:
        return now
    if type(now) is dict:
        new = {key: value for key, value in now.items() if before.get(key, UNKNOWN) is not value}
        return new, [key for key in before if key not in now]
    if type(now) is bytearray:
        return now
    if issubclass(type(container), set):
        return [*new_in(now, before)], [*new_in(before, now)]
    pairs = enumerate(now)
    return [(n, v) for n, v in pairs if n >= len(before) or before[n] is not v], len(now)


def is_same(now: Any, before: Any) -> bool:
    """True if a container holds the same objects, in the same order."""
    if len(now) != len(before):
        return False
    if type(now) is dict:
        return all(map(is_, now, before)) and all(map(is_, now.values(), before.values()))
    if type(now) is bytearray:
        return bool(now == before)
    return all(map(is_, now, before))


def new_in(now: Any, before: Any) -> Iterator[object]:
    """The objects that a container holds and did not."""
    if type(now) is dict:
        known = set(map(id, before)) | set(map(id, before.values()))
        now = [*now, *now.values()]
    else:
        known = set(map(id, before))
    return (item for item in now if id(item) not in known)
