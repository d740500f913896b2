"""The reducer for each type: by the type itself, by its adapter, or by a family that claims it."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from nbckpt.codecs import (
    arrays,
    bare_instances,
    bunches,
    cached_functions,
    classes,
    clients,
    column_memory,
    exceptions,
    figures,
    files,
    functions,
    instance_dicts,
    library,
    locks,
    pandas_blocks,
    running_objects,
    segmented,
    singletons,
    stored_names,
    tensors,
    torch_modules,
    typing_objects,
    views,
    weak_references,
    widgets,
)
from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values import caches
from nbckpt.fingerprint.values.dict_iterators import DICT_ITERATORS
from nbckpt.fingerprint.values.raw_members import members_of
from nbckpt.fingerprint.values.reducing import (
    asks_for_its_state,
    beside,
    container_behind,
    has_state_of_its_own,
    past_getattr,
    reduction_of,
    refuses_without_need,
)
from nbckpt.fingerprint.values.sure_types import comes_back_for_sure
from nbckpt.types.adapter import TypeAdapter
from nbckpt.types.registry import adapter_for

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler, Reduced, Reducer


def reducer_of(pickler: NamespacePickler, kind: type) -> Reducer | None:
    """The reducer of a pickler for objects of type `kind`, which notes what else is to be known."""
    usual = _with_members(reducer_for(kind), pickler.scope.members.get(kind, frozenset()))
    if not comes_back_for_sure(kind):
        usual = _noting(usual, pickler.members.setdefault(kind, set()))
    return instance_dicts.watching(kind, usual)


def reducer_for(kind: type) -> Reducer | None:
    """The reducer for objects of type `kind`; None leaves them to their own `__reduce_ex__`."""
    if issubclass(kind, type):
        return _reduce_class
    if issubclass(kind, Own):
        return _reduce_own
    if reducer := _EXACT.get(kind):
        return reducer
    usual = next((reducer for family in _FAMILIES if (reducer := family(kind))), None)
    adapter = adapter_for(kind)
    if adapter and adapter.reduce:
        usual = _or_else(adapter.reduce, usual)
    return _unless_told(adapter, adapter.look, usual) if adapter and adapter.look else usual


def _or_else(reduce: Callable[[Any], Reduced], usual: Reducer | None) -> Reducer:
    """The reducer of an adapter, which may leave a value to the family of its class."""

    def reduced(pickler: NamespacePickler, value: Any) -> Reduced:
        made = reduce(value)
        return usual(pickler, value) if made is NotImplemented and usual is not None else made

    return reduced


def _unless_told(
    adapter: TypeAdapter, look: Callable[[Any], Sequence[object] | None], usual: Reducer | None
) -> Reducer:
    """A reducer that writes what an adapter tells of a value, where that is to be compared.

    What lies on the memory of an array is written as usual: only so it is seen whose memory it is.
    """

    def reduced(pickler: NamespacePickler, value: Any) -> Reduced:
        contents = pickler.contents
        if contents is not None and (parts := look(value)) is not None:
            places = None if adapter.memory is None else adapter.memory(value)
            if places is None or pickler.scope.bytes_of(places) is None:
                return contents.told(parts)
        return NotImplemented if usual is None else usual(pickler, value)

    return reduced


def _with_members(usual: Reducer | None, names: frozenset[str]) -> Reducer | None:
    """The reducer `usual`, with the members `names` written beside what it writes."""
    if not names:
        return usual

    def reduce(pickler: NamespacePickler, value: Any) -> Reduced:
        reduced = NotImplemented if usual is None else usual(pickler, value)
        return beside(
            reduction_of(value, 5) if reduced is NotImplemented else reduced, value, names
        )

    return reduce


def _noting(usual: Reducer | None, names: set[str]) -> Reducer:
    """A reducer that notes the names of the members of its objects."""

    def reduce(pickler: NamespacePickler, value: Any) -> Reduced:
        names.update(members_of(value))
        return NotImplemented if usual is None else usual(pickler, value)

    return reduce


def _own_state(kind: type) -> Reducer | None:
    if kind in DICT_ITERATORS or container_behind(kind) is not None or refuses_without_need(kind):
        return _reduce_unchanged
    if kind in copyreg.dispatch_table:
        return None
    if asks_for_its_state(kind):
        return _reduce_past_getattr
    return _reduce_unchanged if has_state_of_its_own(kind) else None


def _reduce_unchanged(_: object, value: object) -> Reduced:
    return reduction_of(value, 5)


def _reduce_past_getattr(_: object, value: object) -> Reduced:
    return past_getattr(reduction_of(value, 5))


def _reduce_function(pickler: NamespacePickler, function: FunctionType) -> Reduced:
    if function is stored_names.stored:
        return NotImplemented  # pickle writes its path
    short = functions.refer(pickler, function) or stored_names.reduced(function)
    short = short or torch_modules.reduce_compiled(function)
    return short or functions.reduce_function(pickler, function)


def _reduce_class(pickler: NamespacePickler, cls: type) -> Reduced:
    short = functions.refer(pickler, cls) or stored_names.reduced(cls)
    return short or classes.reduce_class(pickler, cls)


def _reduce_own(_: object, __: object) -> Reduced:
    """None: a step or session is of this process, and would bring all of its variables along."""
    return type(None), ()


def _reduce_segmented(_: object, value: segmented.Segmented) -> Reduced:
    return value.reduced()


_EXACT: dict[type, Reducer] = {
    FunctionType: _reduce_function,
    CodeType: functions.reduce_code,
    CellType: functions.reduce_cell,
    caches.CACHED: cached_functions.reduce_cached,
    segmented.Segmented: _reduce_segmented,
    **files.REDUCERS,
    **library.REDUCERS,
    **locks.REDUCERS,
    **views.REDUCERS,
    **weak_references.REDUCERS,
}

_FAMILIES: tuple[Callable[[type], Reducer | None], ...] = (
    figures.reducer_for,
    singletons.reducer_for,
    widgets.reducer_for,
    arrays.reducer_for,
    column_memory.reducer_for,
    pandas_blocks.reducer_for,
    tensors.reducer_for,
    torch_modules.reducer_for,
    bunches.reducer_for,
    running_objects.reducer_for,
    clients.reducer_for,
    library.reducer_for,
    exceptions.reducer_for,
    bare_instances.reducer_for,
    typing_objects.reducer_for,
    weak_references.reducer_for,
    _own_state,
)
"""The first that knows a type counts; each tells by more than a name, as by what a class has."""
