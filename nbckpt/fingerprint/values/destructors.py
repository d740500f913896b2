"""Objects whose classes have code of the user's for their end: ``__del__``."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, MutableMapping
from types import FunctionType
from typing import Any

from nbckpt.fingerprint.values.holding import inside_of
from nbckpt.fingerprint.values.homes import is_users_module


def has_end(kind: type) -> bool:
    """True for a class of the user's with a `__del__`, and for one that derives from it."""
    return any(True for _ in _acting(kind))


def let_go(copies: MutableMapping[str, object]) -> None:
    """Let go of copies that were built to be looked at: the objects themselves did not end.

    Where classes would hear of it `copies` is emptied, and they do not.
    """
    ids: dict[type, set[int]] = defaultdict(set)
    for part in inside_of(copies.values(), has_end):
        for cls in _acting(type(part)):
            ids[cls].add(id(part))
    if not ids:
        return
    del part
    own = {cls: vars(cls)["__del__"] for cls in ids}
    try:
        for cls, end in own.items():
            type.__setattr__(cls, "__del__", _but_for(ids[cls], end))
        copies.clear()
        gc.collect(1)  # they are young; some refer to themselves
    finally:
        for cls, end in own.items():
            type.__setattr__(cls, "__del__", end)


def _but_for(ids: Collection[int], end: Callable[[Any], object]) -> Callable[[Any], object]:
    def __del__(self: Any) -> None:  # noqa: N807  # it takes the place of one
        if id(self) not in ids:
            end(self)

    return __del__


def _acting(kind: type) -> Iterator[type]:
    for base in kind.__mro__[:-1]:
        end = vars(base).get("__del__")
        if isinstance(end, FunctionType) and is_users_module(end.__module__):
            yield base
