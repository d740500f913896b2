"""Weak references: to the same object, which stays alive if another place in a variable holds it.

dill would write a copy of the object with each of them, which nobody holds after a restore.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from nbckpt.codecs.loading import LOADING
from nbckpt.fingerprint.values.opaque import Silenced, told_of_reference
from nbckpt.types.setters import set_state

Reducer = Callable[[object, Any], Any]


def reducer_for(kind: type) -> Reducer | None:
    """The reducer for a type `kind` that derives from `weakref.ref`; None for anything else."""
    return _reduce_derived if _is_derived(kind) else None


def _is_derived(kind: type) -> bool:
    return issubclass(kind, weakref.ref) and not issubclass(kind, weakref.WeakMethod)


class _Gone:
    """The former target of a dead reference."""


def _reduce_reference(_: object, reference: Any) -> Any:
    target = reference()
    if target is None:
        return dead_reference, ()
    callback = reference.__callback__
    return (weakref.ref, (target,)) if callback is None else (watching, (target, callback))


def _reduce_derived(_: object, reference: Any) -> Any:
    """One of a class that derives from `weakref.ref`, with its own attributes."""
    kind, target, callback, state = told_of_reference(reference)
    made = (dead_reference, (kind,)) if target is None else (watching, (target, callback, kind))
    return *made, state, None, None, set_state


def _reduce_proxy(_: object, proxy: Any) -> Any:
    try:
        target = proxy.__repr__.__self__
    except ReferenceError:
        return dead_proxy, ()
    return weakref.proxy, (target,)


def _reduce_method(_: object, reference: Any) -> Any:
    method = reference()
    if method is None:
        return dead_reference, ()
    # Its own callback calls the one that it was given.
    own = reference.__callback__
    cells = dict(zip(own.__code__.co_freevars, own.__closure__ or (), strict=True))
    given = cells["callback"].cell_contents if "callback" in cells else None
    if given is None:
        return weakref.WeakMethod, (method,)
    return watching, (method, given, weakref.WeakMethod)


def watching(target: Any, callback: Callable[[Any], object] | None, kind: Any = weakref.ref) -> Any:
    """A weak reference that calls `callback` when what it refers to goes; not where that is a copy.

    A copy that is only looked at has nothing to call, and one that no variable gets is kept until
    its references are gone, which call nothing then.
    """
    make = kind if kind is weakref.WeakMethod else partial(weakref.ref.__new__, kind)
    if callback is None:
        return make(target)
    loading = LOADING.get(None)
    if loading is None or loading.bindings is None:
        return make(target, Silenced(callback))
    loading.bindings.append(_Parting(getattr(target, "__self__", target)))
    return make(target, callback)


class _Parting:
    """The target of a reference with a callback, until it is known whether a variable has it."""

    def __init__(self, target: object) -> None:
        self._targets = [target]

    def bind(self) -> None:
        """It is a variable's."""
        self._targets.clear()

    def drop(self) -> None:
        """Nobody gets it."""
        _parted[:] = [t for t in _parted if weakref.getweakrefcount(t)] + self._targets
        self._targets.clear()


_parted: list[object] = []


def dead_reference(kind: Any = weakref.ref) -> weakref.ref[Any]:
    """A reference to what is gone."""
    return weakref.ref.__new__(kind, _Gone())


def dead_proxy() -> Any:
    """A proxy of what is gone."""
    return weakref.proxy(_Gone())


def _reduce_mapping(_: object, mapping: Any) -> Any:
    return type(mapping), (), None, None, iter(list(mapping.items()))


def _reduce_by_keys(_: object, container: Any) -> Any:
    is_set = type(container) is weakref.WeakSet
    return type(container), (), list(container if is_set else container.items()), None, None, fill


def fill(container: Any, held: list[Any]) -> None:
    """Fill a container when all is there: references remember what their targets hash to."""
    LOADING.get().fillings.append(partial(container.update, held))


REDUCERS: dict[type, Reducer] = {
    weakref.ref: _reduce_reference,
    weakref.ProxyType: _reduce_proxy,
    weakref.CallableProxyType: _reduce_proxy,
    weakref.WeakMethod: _reduce_method,
    weakref.WeakValueDictionary: _reduce_mapping,
    weakref.WeakKeyDictionary: _reduce_by_keys,
    weakref.WeakSet: _reduce_by_keys,
}
