"""Values that are equal, and that a user sees as two: ``0.0`` and ``-0.0``, a time in two zones.

Python's ``==`` calls them the same, and so does a comparison of numbers. But they print otherwise,
are of another type, come in another order or take other items, and a cell below may give another
answer for them. So a comparison that finds nothing else says this.
"""

from __future__ import annotations

import datetime
import itertools
import math
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from nbckpt.fingerprint.values.raw_members import pairs_of
from nbckpt.reports.diff.alike import are_alike
from nbckpt.reports.diff.details import Detail, Kind, Row

MOST_LOOKED_AT = 200_000
MOST_OF_A_TEXT = 60
_BY_TEXT = (float, complex, Decimal, datetime.datetime, datetime.time, range, slice)


class _Pair(NamedTuple):
    path: str
    one: Any
    other: Any


def shown_otherwise(kind: Kind, before: Any, after: Any) -> Detail | None:
    """Difference in the way two equal values show; None if none is known here."""
    for row in itertools.islice(_rows(before, after), 1):
        return Detail(kind, f"equal, and shown otherwise: {_where(row)}", (row,))
    return None


def _where(row: Row) -> str:
    return row.path if row.path[:1] not in ("[", ".", "") else f"{row.before} → {row.after}"


def _rows(before: Any, after: Any) -> Iterator[Row]:
    waiting = deque([_Pair("", before, after)])
    for _ in range(MOST_LOOKED_AT):
        if not waiting:
            return
        pair = waiting.popleft()
        if pair.one is pair.other:
            continue
        if _name_of_type(pair.one) != _name_of_type(pair.other):
            yield Row(pair.path, _with_type(pair.one), _with_type(pair.other))
            continue
        if row := _row_of(pair):
            yield row
        waiting.extend(_inside(pair))


def _row_of(pair: _Pair) -> Row | None:
    path, one, other = pair
    if type(one) is _Absence:
        return Row(path, one.text, other.text) if one.text != other.text else None
    if isinstance(one, _BY_TEXT):
        texts = _text_of(one), _text_of(other)
        return Row(path, *texts) if texts[0] != texts[1] else None
    if isinstance(one, dict) and (keys := _other_keys(one, other)):
        what = "order of keys" if sorted(keys[0]) == sorted(keys[1]) else "keys"
        return Row(_of(what, path), *(_cut(", ".join(texts)) for texts in keys))
    if isinstance(one, set | frozenset) and sorted(map(repr, one)) != sorted(map(repr, other)):
        return Row(_of("elements", path), _cut(repr(one)), _cut(repr(other)))
    if isinstance(one, defaultdict | deque):
        name = "default_factory" if isinstance(one, defaultdict) else "maxlen"
        made, its = getattr(one, name), getattr(other, name)
        is_same = made == its or are_alike(made, its)
        return None if is_same else Row(_of(name, path), _cut(repr(made)), _cut(repr(its)))
    return _row_of_array(path, one, other) or _row_of_pandas(path, one, other)


def _name_of_type(value: object) -> tuple[str, str]:
    """A type by name: a class that came back twice is two objects."""
    return type(value).__module__, type(value).__qualname__


def _with_type(value: object) -> str:
    return f"{_cut(repr(value))} ({type(value).__qualname__})"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_OF_A_TEXT else f"{text[:MOST_OF_A_TEXT]}…"


def _of(what: str, path: str) -> str:
    return f"{what} of {path}" if path else what


def _text_of(value: Any) -> str:
    if type(value) is float and math.isnan(value):  # its sign is in its bits alone
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    fold = getattr(value, "fold", 0)
    text = str(value)
    zone = getattr(value, "tzinfo", None)
    named = "" if zone is None else f" {zone}"
    return f"{text}{named}{' (the second time)' if fold else ''}"


def _other_keys(one: dict[Any, Any], other: dict[Any, Any]) -> tuple[list[str], list[str]] | None:
    """The keys of two equal dicts as texts, if these are not the same one by one."""
    keys = [[k for k, _ in pairs_of(side)[:MOST_LOOKED_AT]] for side in (one, other)]
    if all(a is b or repr(a) == repr(b) for a, b in zip(*keys, strict=True)):
        return None
    return list(map(repr, keys[0])), list(map(repr, keys[1]))


def _row_of_array(path: str, one: Any, other: Any) -> Row | None:
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or type(one) is not numpy.ndarray or one.shape != other.shape:
        return None
    if one.dtype.kind != "f" or other.dtype.kind != "f":
        return None
    differs = (one == 0) & (other == 0) & (numpy.signbit(one) != numpy.signbit(other))
    found = numpy.argwhere(differs)
    if not len(found):
        return None
    at = tuple(map(int, found[0]))
    place = f"{path}[{', '.join(map(str, at))}]" if at else path
    return Row(place, str(one[at]), str(other[at]))


def _row_of_pandas(path: str, one: Any, other: Any) -> Row | None:
    pandas: Any = sys.modules.get("pandas")
    if pandas is None:
        return None
    for name in ("attrs", "flags", "freq"):
        told = [getattr(side, name, None) for side in (one, other)]
        if isinstance(one, pandas.DataFrame | pandas.Series | pandas.Index) and told[0] != told[1]:
            return Row(_of(name, path), *(_cut(repr(text)) for text in told))
    if isinstance(one, pandas.Index) and (old := str(one.dtype)) != (new := str(other.dtype)):
        return Row(_of("type", path), old, new)
    if not isinstance(one, pandas.Series | pandas.Index | pandas.Categorical):
        return None
    kinds = [getattr(side, "dtype", None) for side in (one, other)]
    if not all(isinstance(kind, pandas.CategoricalDtype) for kind in kinds):
        return None
    texts = [f"{list(d.categories)}{' ordered' if d.ordered else ''}" for d in kinds if d]
    return Row(_of("categories", path), *texts) if texts[0] != texts[1] else None


def _inside(pair: _Pair) -> Iterable[_Pair]:
    path, one, other = pair
    if isinstance(one, list | tuple | deque):
        pairs = enumerate(zip(one, other, strict=False))
        return [_Pair(f"{path}[{n}]", a, b) for n, (a, b) in pairs]
    if isinstance(one, dict):
        return [_Pair(f"{path}[{k!r}]", v, other[k]) for k, v in one.items() if k in other]
    pandas: Any = sys.modules.get("pandas")
    if pandas is None:
        return ()
    if isinstance(one, pandas.DataFrame):
        columns = enumerate(one.columns) if len(one.columns) == len(other.columns) else ()
        axes = [_Pair(f"{path}.{n}", getattr(one, n), getattr(other, n)) for n in _AXES]
        inside = (_Pair(f"{path}[{c!r}]", one.iloc[:, n], other.iloc[:, n]) for n, c in columns)
        return itertools.chain(axes, inside)
    if isinstance(one, pandas.Series):
        return [_Pair(f"{path}.index", one.index, other.index), *_values_of(pair)]
    return ()


_AXES = ("index", "columns")


def _values_of(pair: _Pair) -> Iterable[_Pair]:
    path, one, other = pair
    if one.dtype.kind in "fO" and len(one) == len(other):
        old, new = one.to_numpy(), other.to_numpy()
        if one.dtype.kind == "f":
            return [_Pair(path, old, new)]
        values = enumerate(zip(old, new, strict=True))
        return [_Pair(f"{path}.iloc[{n}]", *_told_apart(a, b)) for n, (a, b) in values]
    return ()


class _Absence(NamedTuple):
    """None or NaN, as a user sees it."""

    text: str


def _told_apart(one: Any, other: Any) -> tuple[Any, Any]:
    if (one is None) != (other is None):
        return _Absence(str(one)), _Absence(str(other))
    return one, other
