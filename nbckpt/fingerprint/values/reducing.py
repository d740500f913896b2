"""Parts from which pickle would make a value, asked for without a change of the value.

Notes
-----
A library's ``__getstate__`` may take out of the live value what it believes nobody can pickle:
statsmodels clears the functions among the settings of a fit. A value that is looked at stays as it
is, so that is put back. What was taken out goes into the state as well where it is code, which is
kept by name or by value; anything else stays out, as the library wants it. Where it binds any
new value, it has done something and stays so: an image of a file is read then, and leaves its file.
"""

from __future__ import annotations

import copyreg
from collections import OrderedDict
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from nbckpt.fingerprint.values.dict_iterators import DICT_ITERATORS, reduction_of_iterator
from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.fingerprint.values.raw_members import dict_of, members_of
from nbckpt.types.setters import set_members, set_state

_CODE = (FunctionType, MethodType, BuiltinFunctionType, type)

_BY_MEMBERS = frozenset({"base.data", "discrete.discrete_model"})

_GRAPHS = {
    "plotly": {("plotly.basedatatypes", "BasePlotlyType"), ("plotly.basedatatypes", "BaseFigure")},
    "bs4": {("bs4.element", "PageElement")},
}
"""Package → classes whose objects refer to each other, as those of the notebook do to them."""

NEW_OBJECT: Any = getattr(copyreg, "__newobj__")  # noqa: B009  # the type stubs lack it
"""Pickle's maker of an instance whose class says nothing else."""


def has_state_of_its_own(kind: type) -> bool:
    """True if Python code of a class says what the state of its instances is."""
    return isinstance(getattr(kind, "__getstate__", None), FunctionType)


def asks_for_its_state(kind: type) -> bool:
    """True if pickle calls code of a class before an instance has a state that the code counts on.

    It asks an instance that is still empty for ``__setstate__``. A wrapper with a ``__getattr__``
    looks for that in what it wraps, which it does not have yet, and so asks itself, for ever. Slots
    it sets one by one, which a class whose instances nobody is to change refuses.
    """
    own = [vars(cls) for cls in kind.__mro__]
    asks = any("__getattr__" in one for one in own)
    is_code = type(kind.__setattr__) is FunctionType
    sets = is_code and any(one.get("__slots__") for one in own)
    return (asks or sets) and not any("__setstate__" in one for one in own)


def past_getattr(reduction: Any) -> Any:
    """A reduction whose state is set without a question to the instance."""
    if not isinstance(reduction, tuple) or len(reduction) < 3 or reduction[0] is not NEW_OBJECT:
        return reduction
    state, *rest = reduction[2:]
    slots = state[1] if isinstance(state, tuple) and len(state) == 2 else None
    members = state[0] if isinstance(slots, dict) else state
    is_usual = members is None or type(members) is dict
    if state is None or not is_usual or rest[2:] not in ([], [None]):
        return reduction
    items = [*rest[:2], None, None][:2]
    return (*reduction[:2], state, *items, set_state)


def beside(reduction: Any, value: Any, names: Iterable[str]) -> Any:
    """A reduction after which an object has some of its members, whatever else sets its state."""
    members = members_of(value)
    more = {name: members[name] for name in sorted(names) if name in members}
    if not isinstance(reduction, tuple) or not more:
        return reduction
    make, arguments, state, items, pairs, setter = (*reduction, *(None,) * 4)[:6]
    return make, arguments, (state, setter, more), items, pairs, set_with_members


def set_with_members(value: Any, given: tuple[Any, Any, dict[str, Any]]) -> None:
    """Give an object its state as its class wants it, and then members that this leaves out."""
    state, setter, members = given
    if setter is not None:
        setter(value, state)
    elif state is not None and hasattr(type(value), "__setstate__"):
        value.__setstate__(state)
    elif state is not None:
        set_state(value, state)
    object.__getattribute__(value, "__dict__").update(members)


def refuses_without_need(kind: type) -> bool:
    """True if a class keeps pickle from members that tell all of it.

    patsy promises nothing of its pickles from one version to the next, and so refuses. The data
    of a model of statsmodels (`statsmodels.base.data.ModelData`) leaves out the design that patsy
    made: it evaluates the formula again when it is loaded, where it does not find the functions
    of the notebook that the formula names. `NegativeBinomial` begins anew when it is loaded, and
    takes the parameters of its fit for what they were before it. Figures of plotly and documents
    of Beautiful Soup are made from a text again: what refers to a part of one, a trace or a tag,
    has another one then.
    """
    package, _, rest = module_of_class(kind).partition(".")
    if package in _GRAPHS:
        return any((c.__module__, c.__name__) in _GRAPHS[package] for c in kind.__mro__)
    if package == "statsmodels":
        return rest in _BY_MEMBERS and has_state_of_its_own(kind)
    if package != "patsy":
        return False
    return has_state_of_its_own(kind) or kind.__reduce__.__name__ == "no_pickling"


def reduction_of(value: Any, protocol: int) -> Any:
    """Parts from which pickle would make `value`; raises whatever the value's own code does."""
    if type(value) in DICT_ITERATORS:
        return reduction_of_iterator(value)
    if (base := container_behind(type(value))) is not None:
        contents = _COPIES[base](value)
        return NEW_OBJECT, (type(value),), (contents, value.__getstate__()), None, None, fill
    members = dict_of(value)
    if members is not None and refuses_without_need(type(value)):
        return by_members(value, dict(members))
    if members is None or not has_state_of_its_own(type(value)):
        return value.__reduce_ex__(protocol)
    before = dict(members)
    inside = {name: dict(item) for name, item in members.items() if type(item) is dict}
    made = None
    try:
        made = value.__reduce_ex__(protocol)
    finally:
        tables = [(members, before), *((before[n], was) for n, was in inside.items())]
        if any(_taken(*table) for table in tables) and not any(_is_more(*t) for t in tables):
            made = _without_live_state(made, before, inside)
            for now, was in tables:
                now.update(_taken(now, was))
    return made


def by_members(value: Any, members: dict[str, Any]) -> Any:
    """A reduction to an object's attributes, past all that its class says."""
    is_text = isinstance(value, str)  # of a document
    made = (
        (str.__new__, (type(value), str.__str__(value)))
        if is_text
        else (NEW_OBJECT, (type(value),))
    )
    return *made, members, None, None, set_members


def container_behind(kind: type) -> type | None:
    """The container that a class derives from, if it has its own ways in or out.

    Pickle takes the elements by these, and puts them in again: a list that prints what is appended
    would print it once more, and a dict that is frozen would take nothing.
    """
    base = next((one for one in _COPIES if issubclass(kind, one)), None)
    if base is None or kind is base or kind in copyreg.dispatch_table:
        return None
    own = {name for cls in kind.__mro__[: kind.__mro__.index(base)] for name in vars(cls)}
    has_own_ways = not _WAYS[base].isdisjoint(own)
    return base if has_own_ways and _TELLING.isdisjoint(own) else None


_COPIES: dict[type, Callable[[Any], Any]] = {
    OrderedDict: lambda value: OrderedDict(OrderedDict.items(value)),
    dict: dict.copy,
    list: lambda value: list.__getitem__(value, slice(None)),
    set: lambda value: {*set.__iter__(value)},
}
_WAYS: dict[type, frozenset[str]] = {
    OrderedDict: frozenset({"__iter__", "__setitem__", "items"}),
    dict: frozenset({"__iter__", "__setitem__", "items"}),
    list: frozenset({"__iter__", "append", "extend"}),
    set: frozenset({"__init__", "__iter__", "__new__", "add", "update"}),
}
"""Methods of a class that pickle calls; a set is made by a call of its class."""

_TELLING = frozenset({"__getnewargs__", "__getnewargs_ex__", "__reduce__", "__reduce_ex__"})


def fill(value: Any, given: tuple[dict[Any, Any] | list[Any] | set[Any], Any]) -> None:
    """Give an object of a class that derives from a container its elements and its state."""
    contents, state = given
    if isinstance(contents, OrderedDict):
        for key, item in contents.items():
            OrderedDict.__setitem__(value, key, item)
    elif isinstance(contents, dict):
        dict.update(value, contents)
    elif isinstance(contents, set):
        set.update(value, contents)
    else:
        list.extend(value, contents)
    if state is not None and hasattr(value, "__setstate__"):
        value.__setstate__(state)
    else:
        set_state(value, state)


def _taken(now: dict[Any, Any], before: dict[Any, Any]) -> dict[Any, Any]:
    """Members that were there before, and are not there now, or are None."""
    return {n: was for n, was in before.items() if was is not None and now.get(n) is None}


def _is_more(now: dict[Any, Any], before: dict[Any, Any]) -> bool:
    """True if anything was bound anew."""
    return any(v is not None and before.get(n) is not v for n, v in now.items())


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
    taken = _taken(now, before)
    return {**now, **{n: v for n, v in taken.items() if isinstance(v, _CODE) and n in now}}
