"""Levels and handlers of loggers."""

from __future__ import annotations

import io
import logging
import re
import sys
import weakref
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

from nbckpt.digests import Json
from nbckpt.events import is_level_ours
from nbckpt.observation.process_state.held import Held, held_handler, set_on, told_of
from nbckpt.observation.process_state.kinds import MARK, Change, Imported, Kind

_FIELDS = attrgetter("level", "disabled", "propagate")
_LISTS = attrgetter("handlers", "filters")
_SETTERS = re.compile(r"setLevel|disable|propagate|[hH]andler|Config|verbos|logg", re.IGNORECASE)
_ROOT = "root"
_DISABLED = "disable"


class Loggers(Kind):
    """Loggers that have a level, handlers, or are turned off."""

    name = "logging"
    module = "logging"
    reach = "logging"
    setters = r"basicConfig|setLevel|disable|getLogger|addHandler"

    def __init__(self) -> None:
        self._of_others = list(logging.getLogger().handlers)
        self._entries: list[Any] = []
        self._loggers: list[logging.Logger] = []
        self._last: Any = None

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:  # noqa: ARG002
        manager = module.root.manager
        if list(manager.loggerDict.values()) != self._entries:
            return False
        return bool(self._look(module) == self._last)

    def _look(self, module: Any) -> Any:
        """What tells of a change: a few fields of each logger, read by C code."""
        fields = list(map(_FIELDS, self._loggers))
        lists = [(tuple(hs), tuple(fs)) for hs, fs in map(_LISTS, self._loggers)]
        inside = [
            (handler.level, handler.formatter, tuple(handler.filters))
            for handlers, _ in lists
            for handler in handlers
        ]
        return (
            fields,
            lists,
            inside,
            list(map(set_on, self._loggers)),
            module.root.manager.disable,
        )

    def read(self, module: Any) -> dict[str, Any]:
        manager = module.root.manager
        self._entries = list(manager.loggerDict.values())
        self._loggers = [e for e in self._entries if type(e) is not logging.PlaceHolder]
        self._loggers.append(module.root)
        self._last = self._look(module)
        found = {_ROOT: self._state(module.root), _DISABLED: manager.disable}
        for name, logger in list(manager.loggerDict.items()):
            if type(logger) is logging.PlaceHolder:
                continue
            is_plain = logger.propagate and not (logger.handlers or logger.filters)
            is_plain = is_plain and not set_on(logger)
            if logger.level or logger.disabled or not is_plain:
                state = self._state(logger)
                if is_level_ours(logger):
                    state = (_NEW[0], *state[1:])
                if state != _NEW:
                    found[name] = state
        return found

    def is_of_import(self, item: str, imported: Imported) -> bool:
        if item in (_ROOT, _DISABLED):
            return False
        if imported.has_name(_SETTERS) and item.partition(".")[0] not in imported.modules:
            return False
        return not any(item == s or item.startswith(f"{s}.") for s in imported.strings if s)

    def put(self, module: Any, change: Change) -> None:
        for item, value in change.values.items():
            if item == _DISABLED:
                module.disable(value)
            else:
                self._put(module.getLogger(None if item == _ROOT else item), value)
        for item in change.gone:
            self._put(module.getLogger(item), _NEW)

    def _put(self, logger: logging.Logger, state: Any) -> None:
        level, disabled, propagates, handlers, *more = state
        own = [h for h in logger.handlers if self._is_own(h)]
        if tuple(map(_described, own)) != tuple(map(_tuple, handlers)):
            for handler in own:
                logger.removeHandler(handler)
            for handler in handlers:
                logger.addHandler(_handler(handler))
        filters, members = more or ((), ())
        held = [_unheld(described) for described in filters]
        if logger.filters != held:
            logger.filters[:] = held
        for name, _ in set_on(logger):
            delattr(logger, name)
        for name, value in members:
            setattr(logger, name, _unheld(value))
        if level != _NEW[0] or not is_level_ours(logger):
            logger.setLevel(level)
        logger.disabled, logger.propagate = disabled, propagates

    def _state(self, logger: logging.Logger) -> Any:
        own = tuple(_described(h) for h in logger.handlers if self._is_own(h))
        state = (logger.level, logger.disabled, logger.propagate, own)
        filters = tuple(Held(f, told_of(f)) for f in logger.filters)
        members = set_on(logger)
        return (*state, filters, members) if filters or members else state

    def _is_own(self, handler: logging.Handler) -> bool:
        if type(handler) is logging.NullHandler or handler in self._of_others:
            return False
        return type(handler).__module__ in ("logging", "logging.handlers", "__main__")


class LogFiles(Kind):
    """How far the files are written that handlers of the notebook have open: nothing sets that."""

    name = "log file"
    module = "logging"
    reach = "logging"

    def __init__(self) -> None:
        self._of_others = [weakref.ref(handler) for handler in _handlers() if handler is not None]

    def read(self, module: Any) -> dict[str, Any]:  # noqa: ARG002
        others = [refer() for refer in self._of_others]
        found: dict[str, Any] = {}
        for handler in _handlers():
            stream = getattr(handler, "stream", None)
            if type(stream) is not io.TextIOWrapper or any(handler is one for one in others):
                continue
            if not stream.closed and stream.seekable() and _is_of_notebook(stream):
                found[str(stream.name)] = stream.tell()
        return found

    def encoded(self, item: str, value: Any) -> Json:  # noqa: ARG002
        return {MARK: "other", "v": str(value)}


_NEW = (logging.NOTSET, False, True, ())


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _described(handler: Any) -> Any:
    """What makes an equal handler: stream, level, and the three texts of its formatter."""
    formatter = handler.formatter
    is_plain = type(handler) is logging.StreamHandler and not handler.filters
    is_plain = is_plain and (formatter is None or type(formatter) is logging.Formatter)
    if not is_plain or _is_of_notebook(handler.stream):
        return held_handler(handler)
    is_out = handler.stream is sys.stdout and sys.stdout is not sys.stderr
    stream = "stdout" if is_out else "stderr"
    style = type(getattr(formatter, "_style", None)).__name__
    texts = (None, None, "") if formatter is None else (formatter._fmt, formatter.datefmt, style)  # noqa: SLF001
    return (stream, handler.level, *texts)


def _is_of_notebook(stream: Any) -> bool:
    """Whether a stream is a file or an object of the notebook, and none of the process."""
    if any(stream is one for one in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)):
        return False
    if type(stream) is io.TextIOWrapper:
        return stream.name not in ("<stdout>", "<stderr>", 1, 2)
    return isinstance(stream, io.StringIO) or type(stream).__module__ == "__main__"


def written_to(namespace: Mapping[str, object]) -> set[str]:
    """Variables that a handler writes to."""
    streams = [getattr(handler, "stream", None) for handler in _handlers()]
    held = {id(s) for s in streams if s is not None and _is_of_notebook(s)}
    return {n for n, value in list(namespace.items()) if id(value) in held} if held else set()


def follow(replaced: Iterable[tuple[object, object]]) -> None:
    """Have handlers that write to an object write to the one that takes its place."""
    streams = {id(old): (old, new) for old, new in replaced if hasattr(new, "write")}
    if not streams:
        return
    for handler in _handlers():
        old, new = streams.get(id(getattr(handler, "stream", None)), (None, None))
        if old is not None:
            handler.stream = new  # `setStream` would flush the old one, which may be closed


def _handlers() -> list[Any]:
    """All handlers that there are."""
    references: Any = getattr(logging, "_handlerList")  # noqa: B009  # nothing public has them
    return [refer() for refer in list(references)]


def _unheld(described: Any) -> Any:
    return described.value if isinstance(described, Held) else described


_STYLES = {"StrFormatStyle": "{", "StringTemplateStyle": "$"}


def _handler(described: Any) -> logging.Handler:
    if isinstance(described, Held):
        handler: logging.Handler = described.value
        level, formatter, filters = described.parts
        handler.setLevel(level)
        handler.setFormatter(formatter)
        handler.filters[:] = filters
        return handler
    stream, level, text, dates, style = described
    handler = logging.StreamHandler(getattr(sys, stream))
    handler.setLevel(level)
    if style:
        handler.setFormatter(logging.Formatter(text, dates, _STYLES.get(style, "%")))  # type: ignore[arg-type]
    return handler
