"""What one value is, in numbers: rows, gaps, means, a head, a small histogram.

Only values of Python's own kinds and of known libraries are looked into: no code of the user's.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from nbckpt.reports.diff.arrays import as_array
from nbckpt.reports.diff.value_texts import told
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.sparkline import spread
from nbckpt.text.units import count_text

HEAD_ROWS, HEAD_COLUMNS = 5, 6
MOST_MEANS = 8
"""Columns of a table whose means are told."""
MOST_COLUMNS = 200
"""Of a table with more, gaps are counted in these alone."""
MOST_ELEMENTS = 20_000_000
"""Of a larger array, table or list a sample is looked at, evenly spread."""
SAMPLE = 1_000_000
SERIES = 64
BINS = 16
CELL = 24
"""Characters of one value in a head."""


class Facts(NamedTuple):
    """What is told of one value; what does not apply is None or empty.

    Attributes
    ----------
    measure
        What `number` is: ``value``, ``mean``, ``rows`` or ``length``.
    number
        The one number that a line over the steps shows.
    rows, columns
        Of tables; of arrays and columns their length.
    nulls
        Missing values: null, NaN, NaT.
    low, high
        Smallest and largest number.
    means
        Column → mean, of the first few columns of numbers.
    head
        The first rows of a table as texts, its columns' names first.
    series
        The value itself, if it is a row of numbers: at most 64 of them.
    histogram
        Numbers in each of 16 equal ranges from `low` to `high`.
    is_sample
        Whether only a part was looked at, evenly spread.
    """

    measure: str = ""
    number: float | None = None
    rows: int | None = None
    columns: int | None = None
    nulls: int | None = None
    low: float | None = None
    high: float | None = None
    means: dict[str, float] = {}  # noqa: RUF012  # never changed
    head: tuple[tuple[str, ...], ...] = ()
    series: tuple[float | None, ...] = ()
    histogram: tuple[int, ...] = ()
    is_sample: bool = False

    def as_record(self) -> dict[str, object]:
        """The same for programs, without what does not apply."""
        members = {k: v for k, v in self._asdict().items() if v not in (None, "", (), {}, False)}
        return {k: _plain(v) for k, v in members.items()}

    def text(self) -> str:
        """The numbers in a line; empty where a preview of the value says more.

        Examples
        --------
        >>> facts_of([1, 2, 6]).text(), facts_of("text").text()
        ('mean 3, from 1 to 6', '')
        """
        parts = []
        if self.measure == "mean":
            parts.append(f"mean {number_text(self.number)}")
        if self.low is not None and self.high is not None:
            parts.append(f"from {number_text(self.low)} to {number_text(self.high)}")
        if self.nulls:
            parts.append(count_text(self.nulls, "null"))
        means = [f"{name} {number_text(mean)}" for name, mean in self.means.items()]
        parts += [f"means: {', '.join(means)}"] if means else []
        parts += ["of a sample"] if parts and self.is_sample else []
        return ", ".join(parts)


def number_text(number: float | None) -> str:
    """A number with four digits.

    Examples
    --------
    >>> [number_text(n) for n in (3.0, 0.123456, 1234567.0, 1e-9, None)]
    ['3', '0.1235', '1,234,567', '1e-09', '']
    """
    if number is None:
        return ""
    if number == int(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.1f}" if 1000 <= abs(number) < 1e15 else f"{number:.4g}"


def facts_of(value: object) -> Facts:
    """What can be told of a value; nothing of a kind that is not known, or that raises.

    Examples
    --------
    >>> found = facts_of([1, 2, 6])
    >>> found.measure, found.number, found.series
    ('mean', 3.0, (1.0, 2.0, 6.0))
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about empty slices and the like
        for family in _FAMILIES:
            try:
                if (found := family(value)) is not None:
                    return found
            except user_code_errors():  # of a library, at an odd value
                continue
    return Facts()


# -- families: each gives the facts of the values that it knows ---------------------------------


def _number(value: Any) -> Facts | None:
    if type(value) not in (bool, int, float) and not _is_of("numpy", value, "number", "bool_"):
        return None
    number = float(value) if not _is_of("numpy", value, "complexfloating") else None
    return Facts("value", _finite(number))


def _table(value: Any) -> Facts | None:
    table = _Table.of(value)
    if table is None:
        return None
    names = table.names
    few = range(min(len(names), MOST_COLUMNS))
    step = _step(table.rows * len(few))
    means: dict[str, float] = {}
    for i in few:
        if len(means) == MOST_MEANS:
            break
        if (mean := table.mean(i, step)) is not None and math.isfinite(mean):
            means[names[i]] = mean
    nulls = sum(table.nulls(i) for i in few)
    head = [[table.cell(i, row) for i in range(min(len(names), HEAD_COLUMNS))]
            for row in range(min(table.rows, HEAD_ROWS))]  # fmt: skip
    return Facts(
        "rows",
        float(table.rows),
        rows=table.rows,
        columns=len(names),
        nulls=nulls if len(names) <= MOST_COLUMNS else None,
        means=means,
        head=(tuple(names[:HEAD_COLUMNS]), *map(tuple, head)) if names else (),
        is_sample=step > 1,
    )


def _column(value: Any) -> Facts | None:
    """A series of pandas or polars, or a column of Arrow."""
    table = _Table.of_column(value)
    if table is None:
        return None
    numbers = table.numbers(0, _step(table.rows))
    found = Facts("length", float(table.rows)) if numbers is None else _of_numbers(numbers)
    return found._replace(rows=table.rows, nulls=table.nulls(0), is_sample=_step(table.rows) > 1)


def _array(value: Any) -> Facts | None:
    array = as_array(value)
    if array is None:
        return None
    numpy: Any = sys.modules["numpy"]
    rows = len(array) if array.ndim else None
    if array.dtype.kind not in "biuf":
        return Facts("length" if array.ndim else "", None if rows is None else float(rows), rows)
    flat = array.reshape(-1) if array.flags.c_contiguous else array.ravel()
    step = _step(flat.size)
    flat = flat[::step]
    if isinstance(flat, numpy.ma.MaskedArray):
        flat = flat.astype(float).filled(numpy.nan)
    found = _of_numbers(flat)
    nulls = int(numpy.isnan(flat).sum()) if flat.dtype.kind == "f" else 0
    return found._replace(
        rows=rows,
        nulls=nulls if step == 1 else None,
        series=found.series if array.ndim == 1 else (),
        is_sample=step > 1,
    )


def _list(value: Any) -> Facts | None:
    if type(value) not in (list, tuple):
        return None
    n = len(value)
    if n == 0:
        return Facts(rows=0)  # of numbers or of texts: who knows
    step = _step(n)
    sampled: Sequence[Any] = value[::step] if step > 1 else value
    if not all(type(each) in (int, float, bool) for each in sampled):
        return Facts("length", float(n))
    numbers = [_finite(float(each)) for each in sampled]
    known = [each for each in numbers if each is not None]
    if not known:
        return Facts("length", float(n))
    low, high = min(known), max(known)
    return Facts(
        "mean",
        _finite(math.fsum(known) / len(known)),
        rows=n,
        nulls=(len(numbers) - len(known)) or None,
        low=low,
        high=high,
        series=tuple(spread(numbers, SERIES)),
        histogram=_histogram(known, low, high),
        is_sample=step > 1,
    )


def _sized(value: Any) -> Facts | None:
    if type(value) in (str, bytes, bytearray, dict, set, frozenset):
        return Facts("length", float(len(value)))
    return None


_FAMILIES: tuple[Callable[[Any], Facts | None], ...] = (
    _number,
    _table,
    _column,
    _array,
    _list,
    _sized,
)


# -- numbers ---------------------------------------------------------------------------------------


def _of_numbers(numbers: Any) -> Facts:
    """Of a flat NumPy array of numbers, in which NaN is a gap."""
    numpy: Any = sys.modules["numpy"]
    known = numbers[numpy.isfinite(numbers)] if numbers.dtype.kind == "f" else numbers
    if known.size == 0:
        return Facts("length", float(numbers.size))
    low, high = float(known.min()), float(known.max())
    shown = spread(range(numbers.size), SERIES)
    series = tuple(_finite(float(numbers[int(i or 0)])) for i in shown)
    counts: tuple[int, ...] = ()
    if known.size > BINS and math.isfinite(high - low) and high > low:
        found, _ = numpy.histogram(known.astype(float, copy=False), BINS, (low, high))
        counts = tuple(map(int, found))
    mean = float(known.mean(dtype=float))
    return Facts("mean", _finite(mean), low=low, high=high, series=series, histogram=counts)


def _histogram(numbers: Sequence[float], low: float, high: float) -> tuple[int, ...]:
    if len(numbers) <= BINS or not high > low or math.isinf(high - low):
        return ()
    counts = [0] * BINS
    for number in numbers:
        counts[min(BINS - 1, int((number - low) / (high - low) * BINS))] += 1
    return tuple(counts)


def _step(elements: int) -> int:
    return 1 if elements <= MOST_ELEMENTS else math.ceil(elements / SAMPLE)


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _is_of(package: str, value: object, *names: str) -> bool:
    module = sys.modules.get(package)
    kinds = [getattr(module, n, None) for n in names] if module else []
    return any(isinstance(kind, type) and isinstance(value, kind) for kind in kinds)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


# -- tables ----------------------------------------------------------------------------------------


class _Table:
    """A table of one of the libraries, or one column as a table of it alone.

    Parameters
    ----------
    columns
        In their order, as the library has them.
    """

    def __init__(self, package: str, names: Iterable[object], columns: Sequence[Any], rows: int):
        self._package = package
        self.names = [told(name, CELL).strip("'\"") for name in names]
        self._columns = columns
        self.rows = rows

    @classmethod
    def of(cls, value: Any) -> _Table | None:
        if _is_of("pandas", value, "DataFrame"):
            columns = [value.iloc[:, i] for i in range(min(value.shape[1], MOST_COLUMNS))]
            return cls("pandas", value.columns, columns, len(value))
        if _is_of("polars", value, "DataFrame"):
            return cls("polars", value.columns, value.get_columns(), value.height)
        if _is_of("pyarrow", value, "Table", "RecordBatch"):
            return cls("pyarrow", value.schema.names, value.columns, value.num_rows)
        return None

    @classmethod
    def of_column(cls, value: Any) -> _Table | None:
        if _is_of("pandas", value, "Series", "Index"):
            column = value.to_series() if _is_of("pandas", value, "Index") else value
            return cls("pandas", [value.name], [column], len(value))
        if _is_of("polars", value, "Series"):
            return cls("polars", [value.name], [value], len(value))
        if _is_of("pyarrow", value, "ChunkedArray", "Array"):
            return cls("pyarrow", [""], [value], len(value))
        return None

    def nulls(self, i: int) -> int:
        """Missing values of a column."""
        column = self._columns[i]
        if self._package == "pandas":
            return int(column.isna().sum())
        found = column.null_count if self._package == "pyarrow" else column.null_count()
        return int(found) + (self._nans(column) if self._package == "polars" else 0)

    def _nans(self, column: Any) -> int:
        return int(column.is_nan().sum() or 0) if column.dtype.is_float() else 0

    def numbers(self, i: int, step: int) -> Any:
        """A column as a NumPy array of numbers, its gaps NaN; None if it holds no numbers."""
        numpy: Any = sys.modules.get("numpy")
        column = self._columns[i]
        if numpy is None or not self._is_numeric(column):
            return None
        if self._package == "pandas":
            return column.iloc[::step].to_numpy(dtype=float, na_value=numpy.nan)
        if self._package == "polars":
            return column.gather_every(step).cast(sys.modules["polars"].Float64).to_numpy()
        if step > 1:
            column = column.take(list(range(0, len(column), step)))
        return numpy.asarray(column.to_numpy(zero_copy_only=False), dtype=float)

    def mean(self, i: int, step: int) -> float | None:
        """Of a column of numbers."""
        numbers = self.numbers(i, step)
        if numbers is None or numbers.size == 0:
            return None
        numpy: Any = sys.modules["numpy"]
        known = numbers[~numpy.isnan(numbers)]
        return float(known.mean()) if known.size else None

    def cell(self, i: int, row: int) -> str:
        """One value as a short text."""
        column = self._columns[i]
        value = column.iloc[row] if self._package == "pandas" else column[row]
        if self._package == "pyarrow":
            value = value.as_py()
        item = getattr(value, "item", None)
        if _is_of("numpy", value, "generic") and item is not None:
            value = item()
        return told(value, CELL) if type(value) is not str else value[:CELL]

    def _is_numeric(self, column: Any) -> bool:
        if self._package == "pandas":
            return getattr(column.dtype, "kind", "") in "biuf" and not _is_category(column)
        if self._package == "polars":
            return bool(column.dtype.is_numeric())
        types: Any = sys.modules["pyarrow"].types
        return any(
            getattr(types, f"is_{kind}")(column.type) for kind in ("integer", "floating", "decimal")
        )


def _is_category(column: Any) -> bool:
    return str(column.dtype) == "category"
