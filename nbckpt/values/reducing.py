"""What pickle would make a value from, asked for without a change of the value.

Notes
-----
A library's ``__getstate__`` may take out of the live value what it believes nobody can pickle:
statsmodels clears the functions among the settings of a fit. A value that is looked at stays as it
is, so that is put back. What was taken out goes into the state as well where it is code, which is
kept by name or by value; anything else stays out, as the library wants it.
"""

from __future__ import annotations

import copyreg
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

_CODE = (FunctionType, MethodType, BuiltinFunctionType, type)
_MISSING = object()


def has_state_of_its_own(kind: type) -> bool:
    """Whether Python code of a class says what the state of its instances is."""
    return isinstance(getattr(kind, "__getstate__", None), FunctionType)


def refuses_without_need(kind: type) -> bool:
    """Whether a class says that it cannot be pickled, and its members tell all of it.

    patsy promises nothing of its pickles from one version to the next.
    """
    if str(kind.__module__).partition(".")[0] != "patsy":
        return False
    return has_state_of_its_own(kind) or kind.__reduce__.__name__ == "no_pickling"


def reduction_of(value: Any, protocol: int) -> Any:
    """What pickle would make `value` from; raises whatever the value's own code does."""
    members = getattr(value, "__dict__", None)
    if type(members) is dict and refuses_without_need(type(value)):
        return getattr(copyreg, "__newobj__"), (type(value),), dict(members)  # noqa: B009
    if type(members) is not dict or not has_state_of_its_own(type(value)):
        return value.__reduce_ex__(protocol)
    before = dict(members)
    inside = {name: dict(item) for name, item in members.items() if type(item) is dict}
    made = None
    try:
        made = value.__reduce_ex__(protocol)
    finally:
        is_changed = _differ(members, before) or any(
            _differ(before[name], was) for name, was in inside.items()
        )
        if is_changed:
            made = _without_live_state(made, before, inside)
            _put_back(members, before)
            for name, was in inside.items():
                _put_back(before[name], was)
    return made


def _differ(now: dict[Any, Any], before: dict[Any, Any]) -> bool:
    return now.keys() != before.keys() or any(now[k] is not v for k, v in before.items())


def _put_back(now: dict[Any, Any], before: dict[Any, Any]) -> None:
    if _differ(now, before):
        now.clear()
        now.update(before)


def _without_live_state(made: Any, before: dict[str, Any], inside: dict[str, Any]) -> Any:
    """The reduction with copies of what is put back afterwards, and the code that was taken out."""
    if not isinstance(made, tuple) or len(made) < 3 or type(made[2]) is not dict:
        return made
    state = _with_code(made[2], before)
    for name, was in inside.items():
        if state.get(name) is before[name]:
            state[name] = _with_code(before[name], was)
    return (*made[:2], state, *made[3:])


def _with_code(now: dict[Any, Any], before: dict[Any, Any]) -> dict[Any, Any]:
    """A copy of `now` in which functions stand that were there `before`, and are None since."""
    state = dict(now)
    for name, was in before.items():
        if isinstance(was, _CODE) and state.get(name, _MISSING) is None:
            state[name] = was
    return state
