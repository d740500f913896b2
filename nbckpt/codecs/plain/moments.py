"""Moments, spans of time and steps between them, as pandas has them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.plain.builtin import are, is_zone, require
from nbckpt.codecs.plain.names import Known, Make

if TYPE_CHECKING:
    from nbckpt.codecs.plain.limits import Limits

_HOME = "pandas._libs.tslibs"
_OFFSETS = (
    *("Day", "Hour", "Minute", "Second", "Milli", "Micro", "Nano", "BusinessDay", "Week"),
    *(f"{period}{end}" for period in ("Month", "Quarter", "Year") for end in ("Begin", "End")),
    *("BusinessMonthBegin", "BusinessMonthEnd"),
)
_UNITS = range(7, 11)
_INT64 = range(-(1 << 63), 1 << 63)


def names() -> list[tuple[str, Known]]:
    """The names of pandas' scalars and offsets that a stream may use, and their meanings."""
    import pandas as pd
    from pandas._libs.tslibs import offsets

    found = [
        (f"{_HOME}.offsets:{name}", Known(name, getattr(offsets, name), make=_offset(name)))
        for name in _OFFSETS
        if hasattr(offsets, name)
    ]
    return [
        *found,
        ("pandas:NA", Known("pandas.NA", pd.NA)),
        ("pandas:Timestamp", Known("pandas.Timestamp", pd.Timestamp)),
        ("pandas:Timedelta", Known("pandas.Timedelta", pd.Timedelta)),
        ("pandas:Period", Known("pandas.Period", pd.Period, make=_period)),
        ("pandas:Interval", Known("pandas.Interval", pd.Interval, make=_interval)),
        (f"{_HOME}.timestamps:_unpickle_timestamp", Known("pandas.Timestamp", make=_timestamp)),
        (f"{_HOME}.timedeltas:_timedelta_unpickle", Known("pandas.Timedelta", make=_timedelta)),
        (f"{_HOME}.nattype:_nat_unpickle", Known("pandas.NaT", make=_nat)),
    ]


def dates() -> tuple[type, ...]:
    """The types of moments that Python's library has."""
    return (dt.date, dt.datetime, dt.time, dt.timedelta)


def is_offset(value: object) -> bool:
    """True if `value` is a step between moments that is made here."""
    from pandas._libs.tslibs import offsets

    return any(type(value) is getattr(offsets, name, None) for name in _OFFSETS)


def _offset(name: str) -> Make:
    def make(_: Limits, given: tuple[Any, ...]) -> object:
        from pandas._libs.tslibs import offsets

        require(len(given) <= 3 and are((int, bool, type(None)), *given))
        return getattr(offsets, name)(*given)

    return make


def _timestamp(_: Limits, given: tuple[Any, ...]) -> object:
    import pandas as pd
    from pandas._libs.tslibs import timestamps

    require(3 <= len(given) <= 4 and given[1] is None and is_zone(given[2]))
    require(are(int, given[0], *given[3:]) and given[0] in _INT64)
    require(all(unit in _UNITS for unit in given[3:]))
    unpickle: Any = timestamps
    made = unpickle._unpickle_timestamp(*given)  # noqa: SLF001  # as pickle does
    require(type(made) in (pd.Timestamp, type(pd.NaT)))
    return made


def _timedelta(_: Limits, given: tuple[Any, ...]) -> object:
    from pandas._libs.tslibs import timedeltas

    require(1 <= len(given) <= 2 and are(int, *given) and given[0] in _INT64)
    require(all(unit in _UNITS for unit in given[1:]))
    unpickle: Any = timedeltas
    return unpickle._timedelta_unpickle(*given)  # noqa: SLF001  # as pickle does


def _nat(_: Limits, given: tuple[Any, ...]) -> object:
    import pandas as pd

    require(given == (None,))
    return pd.NaT


def _period(_: Limits, given: tuple[Any, ...]) -> object:
    import pandas as pd

    require(len(given) == 3 and given[0] is None and is_offset(given[1]))
    require(are(int, given[2]) and given[2] in _INT64)
    return pd.Period(ordinal=given[2], freq=given[1])


def _interval(_: Limits, given: tuple[Any, ...]) -> object:
    import numpy as np
    import pandas as pd

    require(len(given) == 3 and are(str, given[2]))
    ends = (int, float, pd.Timestamp, pd.Timedelta)
    require(all(type(v) in ends or isinstance(v, np.number) for v in given[:2]))
    return pd.Interval(*given)


def array_of(kind: Any, dtype: Any, array: Any) -> object:
    """An array of moments, of spans of time, or of periods."""
    import numpy as np
    import pandas as pd

    kinds: Any = pd.arrays
    if kind is kinds.PeriodArray:
        require(type(dtype) is pd.PeriodDtype and array.dtype == np.int64)
        return kind._simple_new(array, dtype=dtype)  # noqa: SLF001  # the public way copies
    is_time = kind is kinds.DatetimeArray
    require(array.dtype.kind == ("M" if is_time else "m"))
    unit, _ = np.datetime_data(array.dtype)
    require(unit in ("s", "ms", "us", "ns") and array.dtype == f"{array.dtype.kind}8[{unit}]")
    if is_time and type(dtype) is pd.DatetimeTZDtype:
        require(dtype.unit == unit)
    else:
        require(isinstance(dtype, np.dtype) and dtype == array.dtype)
    return kind._simple_new(array, dtype=dtype)  # noqa: SLF001  # the public way copies
