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

from nbckpt.capture.observation.process_state.kinds import ANYTHING, Change, Imported, Kind
from nbckpt.capture.observation.process_state.logger_objects import FIELDS, Held, Teller, is_one
from nbckpt.capture.observation.process_state.state_json import MARK, OfVariable
from nbckpt.digests import Json
from nbckpt.timeline.events import is_level_ours

_FIELDS = attrgetter("level", "disabled", "propagate")
_LISTS = attrgetter("handlers", "filters")
_EMPTY: tuple[list[Any], list[Any]] = ([], [])
_SETTERS = re.compile(r"setLevel|disable|propagate|[hH]andler|Config|verbos|logg", re.IGNORECASE)
_ROOT = "root"
_DISABLED = "disable"
_CAPTURING = "captureWarnings"
_OF_WARNINGS = "py.warnings"
_NULL = "null"


class Loggers(Kind):
    """Loggers that have a level, handlers, or are turned off.

    Parameters
    ----------
    namespace
        The live variables: a handler that one holds is that variable.
    """

    name = "logging"
    module = "logging"
    reach = "logging"
    setters = r"basicConfig|setLevel|disable|getLogger|addHandler"

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace
        self._of_others = list(logging.getLogger().handlers)
        self._entries: list[Any] = []
        self._loggers: list[logging.Logger] = []
        self._last: Any = None
        self._found: Mapping[str, Any] = {}

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:
        manager = module.root.manager
        if list(manager.loggerDict.values()) != self._entries:
            return False
        if self._look(module) != self._last:
            return False
        # Objects change as they are used, and get names.
        is_held = any(map(_holds_object, items.values()))
        return not is_held or bool(self.read(module) == items)

    def _look(self, module: Any) -> Any:
        """Summary that tells of a change: a few fields of each logger, read by C code."""
        loggers = self._loggers
        lists = [
            (number, tuple(both[0]), tuple(both[1]))
            for number, both in enumerate(map(_LISTS, loggers))
            if both != _EMPTY
        ]
        inside = [
            (handler.level, handler.formatter, tuple(handler.filters))
            for _, handlers, _ in lists
            for handler in handlers
        ]
        sizes = list(map(len, map(vars, loggers)))
        teller = Teller({})
        own = [o for o, n in zip(loggers, sizes, strict=True) if n > FIELDS]
        # The root has no manager of its own.
        set_there = [teller.set_on(logger) for logger in (*own, module.root)]
        return (
            list(map(_FIELDS, loggers)),
            lists,
            inside,
            sizes,
            set_there,
            module.root.manager.disable,
            _is_capturing(module),
        )

    def read(self, module: Any) -> dict[str, Any]:
        manager = module.root.manager
        self._entries = list(manager.loggerDict.values())
        self._loggers = [e for e in self._entries if type(e) is not logging.PlaceHolder]
        self._loggers.append(module.root)
        self._last = self._look(module)
        teller = Teller(self._namespace)
        found = {_ROOT: self._state(module.root, teller), _DISABLED: manager.disable}
        found[_CAPTURING] = _is_capturing(module)
        for name, logger in list(manager.loggerDict.items()):
            if type(logger) is logging.PlaceHolder:
                continue
            is_plain = logger.propagate and not (logger.handlers or logger.filters)
            is_plain = is_plain and len(vars(logger)) <= FIELDS and not _is_of_own_class(logger)
            if logger.level or logger.disabled or not is_plain:
                state = self._state(logger, teller)
                if is_level_ours(logger):
                    state = (_NEW[0], *state[1:])
                if state != _NEW:
                    found[name] = state
        self._found = found
        return found

    def is_of_import(self, item: str, imported: Imported) -> bool:
        if item in (_ROOT, _DISABLED, _CAPTURING):
            return False
        if imported.has_name(_SETTERS) and item.partition(".")[0] not in imported.modules:
            return False
        return not any(item == s or item.startswith(f"{s}.") for s in imported.strings if s)

    def reach_of(self, item: str) -> str:
        if item in (_CAPTURING, _OF_WARNINGS):  # any code may warn
            return ANYTHING
        is_others = item == _ROOT or item.partition(".")[0] in sys.modules
        # What libraries log reaches the notebook's handler from any code.
        return ANYTHING if is_others and _holds_object(self._found.get(item)) else self.reach

    def put(self, module: Any, change: Change) -> None:
        for item, value in change.values.items():
            if item == _DISABLED:
                module.disable(value)
            elif item == _CAPTURING:
                module.captureWarnings(value)
            else:
                self._put(module.getLogger(None if item == _ROOT else item), value)
        for item in change.gone:
            self._put(module.getLogger(item), _NEW)

    def is_one(self, before: Any, now: Any) -> bool:
        return is_one(before, now, self._namespace)

    def holders(self, module: Any) -> Iterable[object]:
        loggers = (*module.root.manager.loggerDict.values(), module.root)
        for logger in loggers:
            if type(logger) is not logging.PlaceHolder:
                yield logger.filters
                if any(self._is_own(h, logger) for h in logger.handlers):
                    yield logger.handlers
                if len(members := vars(logger)) > FIELDS or logger is module.root:
                    yield members

    def _put(self, logger: logging.Logger, state: Any) -> None:
        level, disabled, propagates, handlers, *more = state
        teller = Teller(self._namespace)
        own = [h for h in logger.handlers if self._is_own(h, logger)]
        if tuple(_described(h, teller) for h in own) != tuple(map(_tuple, handlers)):
            put = [self._handler(described) for described in handlers]
            for handler in own:
                logger.removeHandler(handler)
            for handler in put:
                logger.addHandler(handler)
        filters, members, *classes = more or ((), ())
        for cls in map(self._object, classes):
            if type(logger) is not cls:
                logger.__class__ = cls
        held = [self._object(described) for described in filters]
        if logger.filters != held:
            logger.filters[:] = held
        for name, _ in teller.set_on(logger):
            delattr(logger, name)
        for name, value in members:
            setattr(logger, name, self._object(value))
        if level != _NEW[0] or not is_level_ours(logger):
            logger.setLevel(level)
        logger.disabled, logger.propagate = disabled, propagates

    def _state(self, logger: logging.Logger, teller: Teller) -> Any:
        own = tuple(_described(h, teller) for h in logger.handlers if self._is_own(h, logger))
        state = (logger.level, logger.disabled, logger.propagate, own)
        filters = tuple(map(teller.held, logger.filters))
        members = teller.set_on(logger)
        if _is_of_own_class(logger):
            return (*state, filters, members, teller.held(type(logger)))
        return (*state, filters, members) if filters or members else state

    def _is_own(self, handler: logging.Handler, logger: logging.Logger) -> bool:
        if handler in self._of_others:
            return False
        if type(handler) is logging.NullHandler:  # libraries put one to their loggers
            return logger.name.partition(".")[0] not in sys.modules
        return type(handler).__module__ in ("logging", "logging.handlers", "__main__")

    def _object(self, described: Any) -> Any:
        """The object that an item of process state stands for.

        Raises
        ------
        KeyError
            If it was a variable that is not there.
        """
        if isinstance(described, OfVariable):
            return self._namespace[described.name]
        return described.value if isinstance(described, Held) else described

    def _handler(self, described: Any) -> logging.Handler:
        if isinstance(described, Held | OfVariable):
            handler: logging.Handler = self._object(described)
            if not isinstance(handler, logging.Handler):
                raise TypeError(described)
            if isinstance(described, Held):
                level, formatter, filters = described.parts
                handler.setLevel(level)
                handler.setFormatter(formatter)
                handler.filters[:] = filters
            return handler
        stream, level, text, dates, style = described
        if stream == _NULL:
            handler = logging.NullHandler()
        else:
            handler = logging.StreamHandler(getattr(sys, stream))
        handler.setLevel(level)
        if style:
            handler.setFormatter(logging.Formatter(text, dates, _STYLES.get(style, "%")))  # type: ignore[arg-type]
        return handler


class LogFiles(Kind):
    """Positions in the files that handlers of the notebook have open: nothing sets them."""

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


def _described(handler: Any, teller: Teller) -> Any:
    """Parts that make an equal handler: stream, level, and the three texts of its formatter."""
    formatter = handler.formatter
    is_null = type(handler) is logging.NullHandler
    is_of_process = is_null or (
        type(handler) is logging.StreamHandler and not _is_of_notebook(handler.stream)
    )
    is_plain = formatter is None or type(formatter) is logging.Formatter
    if teller.variable(handler) or handler.filters or not (is_of_process and is_plain):
        return teller.handler(handler)
    style = type(getattr(formatter, "_style", None)).__name__
    texts = (None, None, "") if formatter is None else (formatter._fmt, formatter.datefmt, style)  # noqa: SLF001
    return (_NULL if is_null else _stream(handler), handler.level, *texts)


def _stream(handler: Any) -> str:
    is_out = handler.stream is sys.stdout and sys.stdout is not sys.stderr
    return "stdout" if is_out else "stderr"


def _is_capturing(module: Any) -> bool:
    return getattr(module, "_warnings_showwarning", None) is not None


def _is_of_own_class(logger: logging.Logger) -> bool:
    return type(logger).__module__ == "__main__"


def _holds_object(value: Any) -> bool:
    """True if an object of the notebook is in an item, which may change as it is used."""
    if isinstance(value, tuple | list):
        return any(map(_holds_object, value))
    if isinstance(value, Held):
        held = value.value
        is_own = getattr(held, "__module__", "") in ("__main__", "logging.handlers")
        is_own = is_own or _is_of_notebook(getattr(held, "stream", sys.stderr))
        return is_own or _holds_object(value.parts)
    return isinstance(value, OfVariable) or getattr(value, "__module__", "") == "__main__"


def _is_of_notebook(stream: Any) -> bool:
    """True if a stream is a file or an object of the notebook, and none of the process."""
    if any(stream is one for one in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)):
        return False
    if type(stream) is io.TextIOWrapper:
        return stream.name not in ("<stdout>", "<stderr>", 1, 2)
    return isinstance(stream, io.StringIO) or type(stream).__module__ == "__main__"


def _handlers() -> list[Any]:
    """All handlers that there are."""
    references: Any = getattr(logging, "_handlerList")  # noqa: B009  # nothing public has them
    return [refer() for refer in list(references)]


_STYLES = {"StrFormatStyle": "{", "StringTemplateStyle": "$"}
