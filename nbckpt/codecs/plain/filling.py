"""Filling of a stream's lists, dicts and sets, all of them of Python's own types."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

from nbckpt.codecs.plain.stack import Stack, require_value
from nbckpt.errors import UntrustedError

_DICTS = (dict, OrderedDict, defaultdict, Counter)
_LISTS = (list, deque)
_BATCH = 1024


class Filling(Stack):
    """Fills the containers of one stream; how many of their keys may collide is bounded."""

    def _append(self) -> None:
        item = self._stack.pop()
        require_value(item)
        _of(_LISTS, self._stack[-1]).append(item)

    def _appends(self) -> None:
        items = self._to_mark()
        _of(_LISTS, self._stack[-1]).extend(items)

    def _set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        require_value(value)
        require_value(key)
        self._fill([key], [value])

    def _set_items(self) -> None:
        items = self._to_mark()
        if len(items) % 2:
            raise IndexError
        self._fill(items[::2], items[1::2])

    def _fill(self, keys: list[Any], values: list[Any]) -> None:
        target = _of(_DICTS, self._stack[-1])
        self._limits.keys(keys)
        for start in range(0, len(keys), _BATCH):
            before, end = len(target), start + _BATCH
            for key, value in zip(keys[start:end], values[start:end], strict=True):
                target[key] = value
            self._limits.crowd(target, before)

    def _add_items(self) -> None:
        items = self._to_mark()
        self._gather(_of((set,), self._stack[-1]), items)

    def _gather(self, target: set[Any], items: list[Any]) -> None:
        self._limits.keys(items)
        for start in range(0, len(items), _BATCH):
            before = len(target)
            target.update(items[start : start + _BATCH])
            self._limits.crowd(target, before)

    def _frozenset(self) -> None:
        items = self._to_mark()
        self._gather(set(), items)
        group = frozenset(items)  # with its members in the order in which Python has them
        self._limits.weigh(group)
        self._stack.append(group)


def _of(kinds: tuple[type, ...], target: Any) -> Any:
    if type(target) not in kinds:
        message = f"it fills a {type(target).__name__}"
        raise UntrustedError(message)
    return target
