"""What pickle's parts of a library's object tell and is not its value: traces of a look at it."""

from __future__ import annotations

import sys
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.fingerprint.values.reducing import has_state_of_its_own

_OF_DRAWING = frozenset({"_invalid", "_stale", "_number", "_restore_to_pylab", "_cid_gen"})
"""Members that drawing and copying change, and that are found again when something is drawn."""

_OF_ANSWERS = frozenset({"_cache"})
"""Where pandas keeps what an index, array or group was asked: its text asks for a lot."""


class _Passing(NamedTuple):
    """What does not count in the state of a class's instances.

    Attributes
    ----------
    members
        Names of members.
    is_in_any_order
        Whether the order of members says nothing: the class tells and sets them itself, and the
        interpolators of SciPy 1.18 set them in another order than their constructors.
    """

    members: frozenset[str]
    is_in_any_order: bool


def without_passing(kind: type, reduced: Any) -> Any:
    """Pickle's parts of a value, without what says nothing of it."""
    if not isinstance(reduced, tuple) or len(reduced) < 3 or reduced[2] is None:
        return reduced
    members, is_in_any_order = _passing(kind)
    state = _without(members, reduced[2]) if members else reduced[2]
    if is_in_any_order and type(state) is dict and all(type(name) is str for name in state):
        state = dict(sorted(state.items()))
    return (*reduced[:2], state, *reduced[3:])


def nothing_passes(kind: type) -> bool:
    """True if all that pickle keeps of a class's instances counts, in its order."""
    return _passing(kind) == _Passing(frozenset(), is_in_any_order=False)


@lru_cache(maxsize=4096)
def _passing(kind: type) -> _Passing:
    is_set = isinstance(getattr(kind, "__setstate__", None), FunctionType)
    is_of_library = module_of_class(kind) != "__main__"
    return _Passing(_members(kind), is_of_library and is_set and has_state_of_its_own(kind))


def _members(kind: type) -> frozenset[str]:
    if module_of_class(kind).startswith("matplotlib"):
        return _OF_DRAWING if _is_drawn(kind) else frozenset()
    homes = {module_of_class(base).partition(".")[0] for base in kind.__mro__}
    return _OF_ANSWERS if "pandas" in homes else frozenset()


def _is_drawn(kind: type) -> bool:
    homes = (("matplotlib.artist", "Artist"), ("matplotlib.transforms", "TransformNode"))
    modules = ((sys.modules.get(home), name) for home, name in homes)
    return any(issubclass(kind, getattr(m, name, ())) for m, name in modules if m is not None)


def _without(names: frozenset[str], state: Any) -> Any:
    """A state without some members; those of an array of pandas are part of a tuple, if any are."""
    if isinstance(state, dict):
        return {name: value for name, value in state.items() if name not in names}
    if type(state) is tuple and names is _OF_ANSWERS:
        parts = [_without(names, part) if type(part) is dict else part for part in state]
        return tuple(part for part in parts if type(part) is not dict or part)
    return state
