"""Texts that people type → amounts: counts, durations in seconds, sizes in bytes."""

from __future__ import annotations

import math
import re

from nbckpt.errors import UsageError

_AMOUNT = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?P<unit>[a-zA-Z]*)")

_SECONDS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86400),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 86400),
}

_BYTES = {
    "": 1,
    "b": 1,
    **{f"{letter}{end}": 1000**n for n, letter in enumerate("kmgt", 1) for end in ("", "b")},
    **{f"{letter}ib": 1024**n for n, letter in enumerate("kmgt", 1)},
}


def count_of(text: str, what: str = "checkpoints") -> int:
    """A number of things, 1 or more.

    Raises
    ------
    UsageError
        If `text` is none.

    Examples
    --------
    >>> count_of("12")
    12
    """
    if not text.isdecimal() or int(text) < 1:
        message = f"{text!r} is no number of {what}: give 1 or more"
        raise UsageError(message)
    return int(text)


def seconds_of(text: str, *, default_unit: str = "") -> float:
    """A duration, such as `30s`, `2 min` or `1.5 h`.

    Parameters
    ----------
    default_unit
        What a number alone means; empty if it must say its unit.

    Raises
    ------
    UsageError
        If `text` is none.

    Examples
    --------
    >>> seconds_of("30s"), seconds_of("2 min"), seconds_of("30 days") / 86400
    (30.0, 120.0, 30.0)
    >>> seconds_of("0.5", default_unit="s")
    0.5
    """
    number, unit = _read(text)
    seconds = _SECONDS.get(unit or default_unit)
    if number is None or seconds is None:
        message = f"{text!r} is no duration: write a number and a unit, such as 30 s or 2 min"
        raise UsageError(message)
    return number * seconds


def bytes_of(text: str) -> int:
    """A size, such as `2GB`, `500 MB` or `64 MiB`; a number alone is bytes.

    Raises
    ------
    UsageError
        If `text` is none.

    Examples
    --------
    >>> bytes_of("2GB"), bytes_of("500 MB"), bytes_of("1.5 KiB"), bytes_of("4096")
    (2000000000, 500000000, 1536, 4096)
    """
    number, unit = _read(text)
    scale = _BYTES.get(unit)
    if number is None or scale is None:
        message = f"{text!r} is no size: write a number and a unit, such as 500 MB or 2 GB"
        raise UsageError(message)
    return int(number * scale)


def _read(text: str) -> tuple[float | None, str]:
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        return None, ""
    number = float(found["number"])
    return (number if math.isfinite(number) else None), found["unit"].lower()
