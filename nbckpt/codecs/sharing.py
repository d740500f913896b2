"""The objects of a graph that make two variables belong together.

Only what can change: two variables that hold the same string are not thereby tied, two that hold
the same list are.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import logging
import pathlib
import re
import sys
import types
import uuid
from collections.abc import Container, Iterable, Mapping

from nbckpt.codecs.functions import NAMED
from nbckpt.codecs.references import is_by_reference
from nbckpt.fingerprint.values.raw_members import dict_of
from nbckpt.types.registry import adapter_for

_IMMUTABLE: frozenset[type] = frozenset(
    {
        tuple, str, bytes, int, float, complex, bool, type(None), type(...), type(NotImplemented),
        range, slice, frozenset,
        datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone,
        decimal.Decimal, uuid.UUID, re.Pattern,
        pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath,
        types.CodeType, types.BuiltinFunctionType, types.GenericAlias, types.UnionType,
        types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
        types.GetSetDescriptorType, types.MemberDescriptorType, types.MappingProxyType,
        logging.Logger, logging.RootLogger,
    }
)  # fmt: skip

_IMMUTABLE_ELSEWHERE = {
    "numpy": ("dtype", "ufunc", "generic"),
    "pandas": ("Index", "Timestamp", "Timedelta", "Period", "Interval"),
    "pandas.tseries.offsets": ("BaseOffset",),
    "pandas._libs.missing": ("NAType",),
    "pandas._libs.tslibs.nattype": ("NaTType",),
    "torch": ("dtype", "device", "Size", "layout"),
    "sympy": ("Basic",),
    "sympy.polys.domains.domain": ("Domain",),
    "zoneinfo": ("ZoneInfo",),
    # `List[str]`, `Union`: what a type variable stands for in one is judged by itself.
    "typing": ("_BaseGenericAlias", "_SpecialForm", "ForwardRef"),
}
"""Immutable classes of packages that are never imported to ask about them."""


_FIXED, _MUTABLE, _NAMED, _IMMUTABLE_BY_ADAPTER = range(4)
"""Verdicts on the type of an object: it never changes, it may, or it counts by its name."""


class _Judge(dict[type, int]):
    """Remembers of each type whether its instances can change."""

    def __init__(self) -> None:
        super().__init__()
        self._bases = tuple(_bases_elsewhere())

    def __missing__(self, kind: type) -> int:
        verdict = self[kind] = self._decide(kind)
        return verdict

    def _decide(self, kind: type) -> int:
        fraction = getattr(sys.modules.get("fractions"), "Fraction", None)
        if kind in _IMMUTABLE or kind is fraction or issubclass(kind, (enum.Enum, *self._bases)):
            return _FIXED
        if (adapter := adapter_for(kind)) and adapter.is_immutable:
            return _IMMUTABLE_BY_ADAPTER
        if kind.__name__ == "cython_function_or_method":  # each module compiled has its own type
            return _FIXED
        # By its type: a dead weak proxy raises when it is asked for its class.
        return _NAMED if issubclass(kind, (*NAMED, types.ModuleType)) else _MUTABLE


def _bases_elsewhere() -> Iterable[type]:
    for package, names in _IMMUTABLE_ELSEWHERE.items():
        if module := sys.modules.get(package):
            yield from (
                base for name in names if isinstance(base := getattr(module, name, None), type)
            )
    if dtypes := sys.modules.get("pandas.api.extensions"):
        yield dtypes.ExtensionDtype
    yield datetime.tzinfo


def shareable_ids(
    memo: Mapping[int, tuple[int, object]],
    *,
    except_ids: Container[int],
    homes: Container[int],
    tuples: frozenset[int] = frozenset(),
) -> frozenset[int]:
    """Identities of the objects in a pickler's memo that tie the variables that hold them.

    Parameters
    ----------
    memo
        A copy of a pickler's memo: identity → place and object.
    except_ids
        Objects that are copied on write by their owners (blocks of data frames).
    homes
        Functions and classes that the namespace has a name for.
    tuples
        Tuples that are variables themselves.

    Notes
    -----
    Functions, classes and modules that are written by name are left out as well: whoever refers
    to a name shares it anyway. Over-grouping is never wrong, only slower.
    """
    if not memo:
        return frozenset()
    judge = _Judge()
    ids: set[int] = set()
    members_of_fixed: set[int] = set()
    for address, (_, obj) in memo.items():
        verdict = judge[type(obj)]
        if verdict == _FIXED or address in except_ids:
            continue
        if verdict == _IMMUTABLE_BY_ADAPTER:
            members_of_fixed.add(id(dict_of(obj)))
        elif verdict == _MUTABLE or not _is_by_name(obj, homes):
            ids.add(address)
    ids -= _of_classes() | members_of_fixed
    return frozenset(ids | (tuples & memo.keys()))


def _is_by_name(obj: object, homes: Container[int]) -> bool:
    """True if streams hold only the name of a function, a class or the like."""
    if id(obj) in homes or is_by_reference(obj):
        return True
    # `code` and `cell` have no name there to be imported by.
    return issubclass(type(obj), type) and getattr(obj, "__module__", "") == "builtins"


def _of_classes() -> set[int]:
    """Identities of lists that are a class's, which pandas writes into each frame's state."""
    pandas = sys.modules.get("pandas")
    kinds = (getattr(pandas, name, None) for name in ("DataFrame", "Series"))
    return {id(kind._metadata) for kind in kinds if kind is not None}  # noqa: SLF001
