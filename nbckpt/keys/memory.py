"""Which variables lie on one memory: what changes one of them in place changes the others."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def on_same_memory(names: Iterable[str], namespace: Mapping[str, object]) -> frozenset[str]:
    """The variables that are views of the memory of any of `names`, or have views there."""
    owners = {o for name in names if name in namespace for o in _owners(namespace[name])}
    if not owners:
        return frozenset()
    items = list(namespace.items())
    return frozenset(name for name, value in items if not owners.isdisjoint(_owners(value)))


def _owners(value: Any) -> Iterator[int]:
    """The objects to which the memory of a value belongs."""
    np, pd = sys.modules.get("numpy"), sys.modules.get("pandas")
    kind = type(value)
    if kind in (bytearray, memoryview) or (np and issubclass(kind, np.ndarray)):
        yield _owner(value, np)
    elif np and pd and issubclass(kind, pd.DataFrame | pd.Series):
        for block in getattr(getattr(value, "_mgr", None), "blocks", ()):
            if isinstance(block.values, np.ndarray):
                yield _owner(block.values, np)


def _owner(value: Any, np: Any) -> int:
    while True:
        if isinstance(value, memoryview):
            behind = _behind(value)
        else:
            behind = value.base if np and isinstance(value, np.ndarray) else None
        if behind is None:
            return id(value)
        value = behind


def _behind(view: memoryview) -> object:
    try:
        return view.obj
    except ValueError:  # it was released
        return None
