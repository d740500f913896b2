"""Remaining values: numbers and times, and values of different types."""

from __future__ import annotations

import datetime as dt
import math
import sys
from typing import Any

from nbckpt.reports.diff.details import (
    Detail,
    Limits,
    Row,
    same,
)
from nbckpt.reports.diff.value_texts import is_equal, is_scalar, told_apart
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.describe import type_name_of

_TIMES = (dt.date, dt.timedelta)  # a datetime is a date


def detail(before: Any, after: Any, limits: Limits) -> Detail:
    """Differences between any two values, as far as they can be told."""
    if is_scalar(before) and is_scalar(after):
        if is_equal(before, after):
            return same("value")
        return _of_scalars(before, after, limits)
    texts = told_apart(before, after, limits.characters)
    types = type_name_of(before), type_name_of(after)
    if types[0] != types[1]:
        return Detail("value", f"{types[0]} → {types[1]}", (Row("", *texts),))
    return Detail("value", "other content; what it is made of cannot be told", (Row("", *texts),))


def _of_scalars(before: Any, after: Any, limits: Limits) -> Detail:
    texts = told_apart(before, after, limits.characters)
    summary = f"{texts[0]} → {texts[1]}"
    if gap := _gap(before, after):
        summary += f" ({gap})"
    elif type_name_of(before) != type_name_of(after):
        summary += f" ({type_name_of(before)} → {type_name_of(after)})"
    return Detail("value", summary, (Row("", *texts),))


def _gap(before: Any, after: Any) -> str:
    """The difference of two numbers or times, and in percent; nothing if that means nothing."""
    try:
        if isinstance(before, _TIMES) and isinstance(after, _TIMES):
            gap: Any = _minus(after, before)
            if gap != gap:  # pandas' not-a-time
                return ""
            return f"-{-gap}" if gap < dt.timedelta() else f"+{gap}"
        if not _is_number(before) or not _is_number(after):
            return ""
        gap = _minus(after, before)
        if isinstance(gap, complex) or not math.isfinite(gap):
            return ""
        percent = "" if not before else f", {100 * float(gap) / abs(float(before)):+.3g} %"
        return f"{_signed(gap)}{percent}"
    except user_code_errors():  # such as of an aware and a naive time, or of too large a number
        return ""


def _minus(after: Any, before: Any) -> Any:
    return after - before


def _signed(gap: Any) -> str:
    if isinstance(gap, int):
        return f"{gap:+,}"
    return f"{float(gap):+.6g}"


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    numbers = sys.modules.get("numbers"), sys.modules.get("decimal"), sys.modules.get("numpy")
    kinds = zip(numbers, ("Number", "Decimal", "number"), strict=True)
    return isinstance(value, (int, float, *(getattr(m, n) for m, n in kinds if m is not None)))
