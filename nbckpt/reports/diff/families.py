"""Families of values that can be compared: the first that gives a detail of two values counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from nbckpt.reports.diff import (
    arrays,
    frames,
    models,
    nested_values,
    plain,
    texts,
)
from nbckpt.reports.diff.details import Detail, Limits
from nbckpt.runtime.user_code_errors import user_code_errors

Family: TypeAlias = Callable[[Any, Any, Limits], Detail | None]

FAMILIES: tuple[Family, ...] = (
    frames.detail,
    arrays.detail,
    models.detail,
    texts.detail,
    nested_values.detail,
    plain.detail,
)


nested_values.LEAVES[:] = (frames.detail, arrays.detail, texts.detail)


def detail(before: object, after: object, limits: Limits) -> Detail:
    """Differences between two values.

    Examples
    --------
    >>> found = detail({"lr": 0.1, "k": 3}, {"lr": 0.2, "k": 3}, Limits())
    >>> found.summary, found.rows
    ('1 changed', (Row(path="['lr']", before='0.1', after='0.2'),))
    """
    for family in FAMILIES:
        if found := said_by(family, before, after, limits):
            return found
    return Detail("unreadable", "the values refuse to be looked at")


def said_by(family: Family, before: object, after: object, limits: Limits) -> Detail | None:
    """Detail by one family; None if it has none, or a value raises when it is looked at."""
    try:
        return family(before, after, limits)
    except user_code_errors():  # the next family, or `plain` in the end, says what can be said
        return None
