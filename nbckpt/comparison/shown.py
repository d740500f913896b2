"""Values that are equal, and that a user sees as two: ``0.0`` and ``-0.0``, a time in two zones.

Python's ``==`` calls them the same, and so does a comparison of numbers. But they print otherwise,
or come in another order, and a cell below may give another answer for them. So a comparison that
finds nothing else says this. The order of a plain dict is not told, as ``==`` does not ask for it.
"""

from __future__ import annotations

import datetime
import itertools
import math
import sys
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from nbckpt.comparison.details import Detail, Kind, Row

MOST_LOOKED_AT = 200_000
_BY_TEXT = (float, complex, Decimal, datetime.datetime, datetime.time)


class _Pair(NamedTuple):
    path: str
    one: Any
    other: Any


def shown_otherwise(kind: Kind, before: Any, after: Any) -> Detail | None:
    """What differs in how two equal values show; None if that is nothing that is known here."""
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
        if pair.one is pair.other or type(pair.one) is not type(pair.other):
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
    if isinstance(one, OrderedDict) and _texts(one) != _texts(other):
        return Row(f"order of keys{f' of {path}' if path else ''}", _texts(one), _texts(other))
    return _row_of_array(path, one, other) or _row_of_pandas(path, one, other)


def _text_of(value: Any) -> str:
    if type(value) is float and math.isnan(value):  # its sign is in its bits alone
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    fold = getattr(value, "fold", 0)
    text = str(value)
    zone = getattr(value, "tzinfo", None)
    named = "" if zone is None else f" {zone}"
    return f"{text}{named}{' (the second time)' if fold else ''}"


def _texts(mapping: dict[Any, Any]) -> str:
    return ", ".join(map(repr, itertools.islice(dict.keys(mapping), 50)))


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
    if pandas is None or not isinstance(one, pandas.Series | pandas.Index | pandas.Categorical):
        return None
    old, new = getattr(one, "dtype", None), getattr(other, "dtype", None)
    if not isinstance(old, pandas.CategoricalDtype) or not isinstance(new, pandas.CategoricalDtype):
        return None
    texts = [f"{list(d.categories)}{' ordered' if d.ordered else ''}" for d in (old, new)]
    return (
        Row(f"categories{f' of {path}' if path else ''}", *texts) if texts[0] != texts[1] else None
    )


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
        return [_Pair(f"{path}[{c!r}]", one.iloc[:, n], other.iloc[:, n]) for n, c in columns]
    if isinstance(one, pandas.Series) and one.dtype.kind in "fO" and len(one) == len(other):
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
