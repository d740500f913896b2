"""Iterators of dicts, which show what the dict holds when they come to it.

Pickle writes a list of what is left in their place: what is changed in the dict would not be seen
through the iterator any more.
"""

from __future__ import annotations

import gc
from collections import OrderedDict, deque
from collections.abc import Iterator
from itertools import islice
from operator import is_
from typing import Any, NamedTuple


class Way(NamedTuple):
    """The part of a dict that an iterator shows, and from which end."""

    base: type[dict[Any, Any]]
    what: str
    is_reversed: bool


def skip(iterator: Iterator[Any], count: int) -> None:
    """Take so many items of an iterator, for nothing."""
    deque(islice(iterator, count), maxlen=0)


def dict_iterator(
    way: tuple[type[dict[Any, Any]], str, bool], mapping: dict[Any, Any] | None, n_done: int
) -> Iterator[Any]:
    """An iterator of a dict that has given so much of it; of None, one that has ended.

    Parameters
    ----------
    way
        Members of a `Way`.
    """
    base, what, is_reversed = way
    view = getattr(base, what)(base() if mapping is None else mapping)
    iterator: Iterator[Any] = reversed(view) if is_reversed else iter(view)
    skip(iterator, n_done)
    if mapping is None:
        next(iterator, None)
    return iterator


_WAYS = [
    Way(base, what, is_reversed)
    for base in (dict, OrderedDict)
    for what in ("keys", "values", "items")
    for is_reversed in (False, True)
]

DICT_ITERATORS: dict[type, list[Way]] = {}
"""Types of such iterators → in which ways they may go."""

for _way in _WAYS:
    DICT_ITERATORS.setdefault(type(dict_iterator(_way, _way.base(), 0)), []).append(_way)


def reduction_of_iterator(iterator: Any) -> tuple[object, tuple[object, ...]]:
    """The reduction that makes an iterator of a dict again.

    Raises
    ------
    RuntimeError
        If the dict has grown or shrunk since: the iterator will raise this, too.
    TypeError
        If its way cannot be told: an `OrderedDict` has one type for all.
    """
    _, (rest,) = iterator.__reduce__()
    mapping = next((part for part in gc.get_referents(iterator) if isinstance(part, dict)), None)
    n_done = 0 if mapping is None else len(mapping) - len(rest)
    ways = DICT_ITERATORS[type(iterator)]
    if len(ways) > 1 and rest:
        ways = [way for way in ways if _is_rest(rest, dict_iterator(way, mapping, n_done))]
        if len(ways) > 1:
            message = "the keys of its dict are its values, so it may go over both"
            raise TypeError(message)
    return dict_iterator, (tuple(ways[0]), mapping, n_done)


def _is_rest(rest: list[Any], found: Iterator[Any]) -> bool:
    """True if an iterator has the very objects left that another one has."""
    for one, other in zip(rest, found, strict=True):
        is_pair = type(one) is type(other) is tuple and len(one) == len(other) == 2
        if one is not other and not (is_pair and all(map(is_, one, other))):
            return False
    return True
