"""Objects whose classes have code of the user's for their end: ``__del__``."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, MutableMapping
from types import FunctionType
from typing import Any

from nbckpt.values.holding import inside_of
from nbckpt.values.homes import is_users_module
from nbckpt.values.plain import levels_of

MANY = 1_000
"""Objects inside of a live variable that are looked at."""

_MANY_COPIES = 10_000
"""Of more copies than these each instance that goes with them counts as one."""


def acts_at_its_end(value: object) -> bool:
    """True for an instance of a class of the user's with a `__del__`, and for what holds one."""
    return any(True for part in inside_of(value, MANY) for _ in _acting_classes(part))


def let_go(copies: MutableMapping[str, object]) -> None:
    """Let go of copies that were built to be looked at: the objects themselves did not end.

    Where classes would hear of it `copies` is emptied, and they do not.
    """
    ids: dict[type, set[int]] = defaultdict(set)
    n_seen = 0
    for name in list(copies):
        if levels_of([copies[name]]) is not None:  # plain data
            continue
        for part in inside_of(copies[name], _MANY_COPIES):
            n_seen += 1
            for cls in _acting_classes(part):
                ids[cls].add(id(part))
            del part
    if not ids:
        return
    is_all = n_seen < _MANY_COPIES
    own = {cls: vars(cls)["__del__"] for cls in ids}
    try:
        for cls, end in own.items():
            type.__setattr__(cls, "__del__", _but_for(ids[cls] if is_all else None, end))
        copies.clear()
        gc.collect(1)  # they are young; some refer to themselves
    finally:
        for cls, end in own.items():
            type.__setattr__(cls, "__del__", end)


def _but_for(ids: Collection[int] | None, end: Callable[[Any], object]) -> Callable[[Any], object]:
    def __del__(self: Any) -> None:  # noqa: N807  # it takes the place of one
        if ids is not None and id(self) not in ids:
            end(self)

    return __del__


def _acting_classes(value: object) -> Iterator[type]:
    for base in type(value).__mro__[:-1]:
        end = vars(base).get("__del__")
        if isinstance(end, FunctionType) and is_users_module(end.__module__):
            yield base
