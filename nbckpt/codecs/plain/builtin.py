"""Values of Python's own library: made of arguments that are looked at first."""

from __future__ import annotations

import array
import datetime as dt
import decimal
import fractions
import functools
import pathlib
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.plain.names import Known, Make, Pending, table
from nbckpt.errors import UntrustedError

if TYPE_CHECKING:
    from nbckpt.codecs.plain.limits import Limits

MOST_DIGITS = 1 << 14
"""Of a decimal number; and bits, times eight, of a fraction's: longer ones take too long."""

_FACTORIES = (int, float, complex, bool, str, bytes, list, tuple, dict, set, frozenset)


def require(is_so: object, what: str = "its parts do not fit together") -> None:
    """Refuse what is not so.

    Raises
    ------
    UntrustedError
        Which says `what`.
    """
    if not is_so:
        raise UntrustedError(what)


def are(kinds: type | tuple[type, ...], *values: object) -> bool:
    """True if each value is exactly of one of these types: a `bool` is no `int`."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    return all(type(value) in kinds for value in values)


def _complex(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) == 2 and are((int, float), *given))
    return complex(*given)


def _range(_: Limits, given: tuple[Any, ...]) -> object:
    require(1 <= len(given) <= 3 and are(int, *given))
    return range(*given)


def _slice(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) == 3 and are((int, float, str, type(None)), *given))
    return slice(*given)


def _bytearray(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) <= 1 and are((bytes, bytearray), *given))
    return bytearray(*given)


def _ordered(_: Limits, given: tuple[Any, ...]) -> object:
    require(given == ())
    return OrderedDict()


def _counter(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) == 1 and are(dict, *given))
    made: Counter[object] = Counter()
    dict.update(made, given[0])
    return made


def _defaultdict(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) <= 1)
    require(all(factory is None or factory in _FACTORIES for factory in given))
    return defaultdict(*given)


def _deque(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) <= 2 and given[:1] in ((), ((),)) and are((int, type(None)), *given[1:]))
    return deque(*given)


def _timezone(_: Limits, given: tuple[Any, ...]) -> object:
    require(1 <= len(given) <= 2 and are(dt.timedelta, *given[:1]) and are(str, *given[1:]))
    return dt.timezone(*given)


def _timedelta(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) == 3 and are(int, *given))
    return dt.timedelta(*given)


def _date(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) == 1 and are(bytes, *given) and len(given[0]) == 4)
    return dt.date(*given).replace()  # which looks at what the bytes say


def _time(_: Limits, given: tuple[Any, ...]) -> object:
    require(1 <= len(given) <= 2 and are(bytes, *given[:1]) and len(given[0]) == 6)
    require(are(_ZONES, *given[1:]))
    return dt.time(*given).replace()


def _datetime(_: Limits, given: tuple[Any, ...]) -> object:
    require(1 <= len(given) <= 2 and are(bytes, *given[:1]) and len(given[0]) == 10)
    require(are(_ZONES, *given[1:]))
    return dt.datetime(*given).replace()  # noqa: DTZ001  # with the zone that it had


_ZONES = (dt.timezone, zoneinfo.ZoneInfo, type(None))


def _getattr(_: Limits, given: tuple[Any, ...]) -> object:
    # The one attribute that a stream of nbckpt asks for; what it gives is no attribute either.
    if given == (zoneinfo.ZoneInfo, "_unpickle"):
        return Known("zoneinfo.ZoneInfo", make=_zone)
    message = "it asks for an attribute of something"
    raise UntrustedError(message)


def _zone(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) == 2 and are(str, given[0]))
    require(given[0] in _zone_names(), "it holds a time zone that is not known here")
    return zoneinfo.ZoneInfo(given[0])


@functools.cache
def _zone_names() -> frozenset[str]:
    # A name is a path and, where the system lacks it, a module's: so it is looked up here first.
    return frozenset(zoneinfo.available_timezones())


def is_zone(value: object) -> bool:
    """True if `value` is a time zone of the library, or None."""
    return type(value) in _ZONES


def _decimal(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) == 1 and are(str, *given) and len(given[0]) <= MOST_DIGITS)
    return decimal.Decimal(*given)


def _fraction(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) == 2 and are(int, *given))
    require(all(number.bit_length() <= 8 * MOST_DIGITS for number in given))
    return fractions.Fraction(*given)


def _uuid(_: Limits, given: tuple[Any, ...]) -> object:
    require(given == ())
    return Pending(_uuid_of)


def _uuid_of(state: Any) -> object:
    require(type(state) is dict and set(state) <= {"int", "is_safe"} and are(int, state["int"]))
    is_safe = state.get("is_safe")
    require(is_safe in (None, 0, -1))
    return uuid.UUID(int=state["int"], is_safe=uuid.SafeUUID(is_safe))


def _path(kind: type[pathlib.PurePath]) -> Make:
    def make(_: Limits, given: tuple[Any, ...]) -> object:
        require(are(str, *given))
        return kind(*given)

    return make


def _array(_: Limits, given: tuple[Any, ...]) -> object:
    require(len(given) == 4)
    kind, code, form, data = given
    require(kind is array.array and code in _ARRAY_CODES and are(int, form) and are(bytes, data))
    made = array.array(code)
    own: Any = made.__reduce_ex__(3)
    require(own[1][2] == form, "its array is of another machine")
    made.frombytes(data)
    return made


_ARRAY_CODES = frozenset("bBhHiIlLqQfd")


def _types() -> list[tuple[str, Known]]:
    makers = {complex: _complex, range: _range, slice: _slice, bytearray: _bytearray}
    kinds = (*_FACTORIES, bytearray, range, slice, object)
    return [
        (f"builtins:{kind.__name__}", Known(kind.__name__, kind, makers.get(kind)))
        for kind in kinds
    ]


def _of_module(module: str, makers: dict[Any, Make]) -> list[tuple[str, Known]]:
    return [(f"{module}:{k.__name__}", Known(k.__name__, k, make)) for k, make in makers.items()]


_PATHS: list[Any] = [
    pathlib.PosixPath,
    pathlib.WindowsPath,
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
]
_PATH_MAKERS = {kind: _path(kind) for kind in _PATHS}

TABLE = table(
    [
        *_types(),
        ("builtins:Ellipsis", Known("Ellipsis", Ellipsis)),
        ("builtins:NotImplemented", Known("NotImplemented", NotImplemented)),
        ("builtins:getattr", Known("builtins.getattr", make=_getattr)),
        *_of_module(
            "collections",
            {OrderedDict: _ordered, Counter: _counter, defaultdict: _defaultdict, deque: _deque},
        ),
        *_of_module(
            "datetime",
            {
                dt.date: _date,
                dt.time: _time,
                dt.datetime: _datetime,
                dt.timedelta: _timedelta,
                dt.timezone: _timezone,
            },
        ),
        *_of_module("decimal", {decimal.Decimal: _decimal}),
        *_of_module("fractions", {fractions.Fraction: _fraction}),
        ("uuid:UUID", Known("uuid.UUID", uuid.UUID, new=_uuid)),
        *_of_module("pathlib", _PATH_MAKERS),
        *_of_module("pathlib._local", _PATH_MAKERS),
        ("zoneinfo:ZoneInfo", Known("zoneinfo.ZoneInfo", zoneinfo.ZoneInfo)),
        ("array:array", Known("array.array", array.array)),
        ("array:_array_reconstructor", Known("array.array", make=_array)),
    ]
)
