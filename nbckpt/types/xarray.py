"""xarray: datasets, arrays and variables, without what a mere look leaves in them.

Whoever asks for ``.attrs`` or ``.encoding`` gets an empty dict that was not there before, and an
accessor that another package registered stays in the object that was asked for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from sys import getrefcount
from typing import Any

from nbckpt.types.adapter import Pair, TypeAdapter, paired
from nbckpt.types.setters import set_state

MOST_NAMES = 8
"""Variables, coordinates or dimensions that a description names."""

_DICTS = ("_attrs", "_encoding")


# -- pickled and digested


def _reduce(value: Any) -> Any:
    make, arguments, (_, members), *_ = value.__reduce_ex__(5)
    return make, arguments, (None, _without_looks(value, members)), None, None, set_state


def _parts_of(value: Any) -> list[object]:
    _, _, (_, members), *_ = value.__reduce_ex__(5)
    return [_without_looks(value, members)]


def _without_looks(value: Any, members: dict[str, Any]) -> dict[str, Any]:
    """The members of a value, without what a look at it may have added.

    Nobody else may hold `members` or what gave it: an empty dict that is held elsewhere stays.
    """
    for name in _DICTS:
        if members.get(name) == {} and getrefcount(members[name]) <= _ALONE:
            members[name] = None
    cache = _accessors_with_memory(value, members.pop("_cache", {}))
    return {**members, "_cache": cache} if cache else members


def _accessors_with_memory(value: Any, cache: Mapping[str, object]) -> dict[str, object]:
    """The accessors of a value that remember something, or that somebody else holds, too."""
    return {
        name: cache[name]
        for name, count in _counts_of_references(cache).items()
        if count > _ALONE_IN_CACHE or not _is_without_memory(cache[name], value)
    }


def _counts_of_references(cache: Mapping[str, object]) -> dict[str, int]:
    return {name: getrefcount(cache[name]) for name in cache}


_ALONE_IN_CACHE = _counts_of_references({"": object()})[""]


def _is_without_memory(accessor: object, value: object) -> bool:
    """True if an accessor holds the value that it was made for, and nothing else."""
    members = getattr(accessor, "__dict__", None)
    return type(members) is dict and all(m is value or m is None for m in members.values())


class _Holder:
    __slots__ = ("_attrs",)
    _attrs: dict[str, object]


def _references_to_one() -> int:
    """References to a dict that an object and the table of its members hold, and nobody else."""
    holder = _Holder()
    holder._attrs = {}  # noqa: SLF001
    reduced: Any = holder.__reduce_ex__(5)
    return getrefcount(reduced[2][1]["_attrs"])


_ALONE = _references_to_one()


# -- described


def _describe_dataset(dataset: Any) -> str:
    names = list(dataset._variables)  # noqa: SLF001  # a look at `.variables` makes objects
    data = [n for n in names if n not in dataset._coord_names]  # noqa: SLF001
    told = f"{_sizes_text(dataset)} {_names_text(data)}".rstrip()
    return told + _coordinates_text(n for n in names if n in dataset._coord_names)  # noqa: SLF001


def _describe_array(array: Any) -> str:
    name = "" if array.name is None else f"{array.name} "
    return f"{name}{_describe_variable(array)}{_coordinates_text(iter(array._coords))}"  # noqa: SLF001


def _describe_variable(variable: Any) -> str:
    return f"{_sizes_text(variable)} {variable.dtype}"


def _sizes_text(value: Any) -> str:
    return f"({_names_text(f'{name}: {size}' for name, size in value.sizes.items())})"


def _coordinates_text(names: Iterator[object]) -> str:
    text = _names_text(names)
    return f"; coordinates {text}" if text else ""


def _names_text(names: Any) -> str:
    found = [str(name) for name in islice(names, MOST_NAMES + 1)]
    return ", ".join([*found[:MOST_NAMES], *["…"] * (len(found) > MOST_NAMES)])


# -- compared


def _diff(before: Any, after: Any) -> Iterator[Pair]:
    return paired(_places_in(before), _places_in(after))


def _places_in(value: Any) -> dict[str, object]:
    """The places in a value that differ on their own: path → what is there."""
    kind = type(value).__name__
    if kind == "Dataset":
        coordinates = value._coord_names  # noqa: SLF001
        places = {
            f".coords[{name!r}]" if name in coordinates else f"[{name!r}]": variable
            for name, variable in value._variables.items()  # noqa: SLF001
        }
        return {**places, **_dicts_of(value)}
    if kind == "DataArray":
        places = {f".coords[{n!r}]": c for n, c in value._coords.items()}  # noqa: SLF001
        return {".name": value.name, **_places_in(value.variable), **places}
    return {".dims": value.dims, ".values": _values_of(value), **_dicts_of(value)}


def _dicts_of(value: Any) -> dict[str, object]:
    return {name.replace("_", "."): getattr(value, name) or {} for name in _DICTS}


def _values_of(variable: Any) -> Any:
    """The values of a variable if they are in memory; else what reads them, which is asked not."""
    data = variable._data  # noqa: SLF001
    is_index = type(data).__name__.startswith("Pandas")
    return sys.modules["numpy"].asarray(data) if is_index else data


# -- exported


def _export_dataset(dataset: Any) -> tuple[object, str]:
    return _exported(dataset._variables)  # noqa: SLF001


def _export_array(array: Any) -> tuple[object, str]:
    name = "values" if array.name is None else str(array.name)
    return _exported({**array._coords, name: array.variable})  # noqa: SLF001


def _exported(variables: Mapping[Any, Any]) -> tuple[object, str]:
    """The arrays of variables by their names, and a note on the dimensions of each."""
    arrays = {str(name): variable.values for name, variable in variables.items()}
    told = (f"{name} ({', '.join(map(str, v.dims))})" for name, v in variables.items())
    return arrays, f"arrays without attributes, of the dimensions {', '.join(told)}"


ADAPTERS = (
    TypeAdapter(
        ("xarray.core.dataset:Dataset",),
        exact=True,
        reduce=_reduce,
        digest=_parts_of,
        describe=_describe_dataset,
        diff=_diff,
        export=_export_dataset,
    ),
    TypeAdapter(
        ("xarray.core.dataarray:DataArray",),
        exact=True,
        reduce=_reduce,
        digest=_parts_of,
        describe=_describe_array,
        diff=_diff,
        export=_export_array,
    ),
    TypeAdapter(
        ("xarray.core.variable:Variable", "xarray.core.variable:IndexVariable"),
        exact=True,
        reduce=_reduce,
        digest=_parts_of,
        describe=_describe_variable,
        diff=_diff,
    ),
    TypeAdapter(
        (
            "xarray.core.indexes:PandasIndex",
            "xarray.core.indexes:PandasMultiIndex",
            "xarray.core.indexing:PandasIndexingAdapter",
        ),
        exact=True,
        is_immutable=True,
    ),
)
