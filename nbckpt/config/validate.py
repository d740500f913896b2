"""Arguments that may be of any type, held to what they must be: one sentence if they are not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nbckpt.errors import UsageError


def require_text(value: object, what: str) -> None:
    """Raise unless `value` is text.

    Parameters
    ----------
    what
        It is to be, with its article: ``a tag``.
    """
    if not isinstance(value, str):
        message = f"{value!r} is no text: {what} is given as text, in quotes"
        raise UsageError(message)


def require_texts(values: Iterable[object], what: str) -> None:
    """Raise unless all of `values` are text."""
    for value in values:
        require_text(value, what)


def require_number(value: object, name: str, *, whole: bool = False) -> None:
    """Raise unless `value` is a number and not not-a-number; with `whole`, an integer."""
    kinds = int if whole else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool) or value != value:
        message = f"{name} is {value!r}: give a {'whole number' if whole else 'number'}"
        raise UsageError(message)


def require_mapping(values: object) -> None:
    """Raise unless `values` gives variables values."""
    if not isinstance(values, Mapping):
        message = f"{values!r} gives no variable a value: write {{'name': value}}"
        raise UsageError(message)
