"""Levels and handlers of loggers."""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection
from typing import Any

from nbckpt.observation.process_state.kinds import Change, Kind

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

    def read(self, module: Any) -> dict[str, Any]:
        manager = module.root.manager
        found = {_ROOT: self._state(module.root), _DISABLED: manager.disable}
        for name, logger in list(manager.loggerDict.items()):
            if type(logger) is logging.PlaceHolder:
                continue
            if logger.level or logger.handlers or logger.disabled or not logger.propagate:
                state = self._state(logger)
                if state != _NEW:
                    found[name] = state
        return found

    def is_of_import(
        self, item: str, value: Any, modules: Collection[str], words: Collection[str]
    ) -> bool:
        if item.partition(".")[0] not in modules or item in (_ROOT, _DISABLED):
            return False
        return not any(item == w or item.startswith(f"{w}.") for w in words) and value is not None

    def put(self, module: Any, change: Change) -> None:
        for item, value in change.values.items():
            if item == _DISABLED:
                module.disable(value)
            else:
                self._put(module.getLogger(None if item == _ROOT else item), value)
        for item in change.gone:
            self._put(module.getLogger(item), _NEW)

    def _put(self, logger: logging.Logger, state: Any) -> None:
        level, disabled, propagates, handlers = state
        own = [h for h in logger.handlers if self._is_own(h)]
        if tuple(map(_described, own)) != tuple(map(_tuple, handlers)):
            for handler in own:
                logger.removeHandler(handler)
            for handler in handlers:
                logger.addHandler(_handler(handler))
        logger.setLevel(level)
        logger.disabled, logger.propagate = disabled, propagates

    def _state(self, logger: logging.Logger) -> Any:
        own = tuple(_described(h) for h in logger.handlers if self._is_own(h))
        return (logger.level, logger.disabled, logger.propagate, own)

    def _is_own(self, handler: logging.Handler) -> bool:
        if type(handler) is logging.NullHandler or handler in self._of_others:
            return False
        return type(handler).__module__ in ("logging", "logging.handlers", "__main__")


_NEW = (logging.NOTSET, False, True, ())


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _described(handler: Any) -> Any:
    """What makes an equal handler: stream, level, and the three texts of its formatter."""
    formatter = handler.formatter
    if type(handler) is not logging.StreamHandler or handler.filters:
        return handler
    if formatter is not None and type(formatter) is not logging.Formatter:
        return handler
    stream = "stdout" if handler.stream is sys.stdout else "stderr"
    style = type(getattr(formatter, "_style", None)).__name__
    texts = (None, None, "") if formatter is None else (formatter._fmt, formatter.datefmt, style)  # noqa: SLF001
    return (stream, handler.level, *texts)


_STYLES = {"StrFormatStyle": "{", "StringTemplateStyle": "$"}


def _handler(described: Any) -> logging.Handler:
    if isinstance(described, logging.Handler):
        return described
    stream, level, text, dates, style = described
    handler = logging.StreamHandler(getattr(sys, stream))
    handler.setLevel(level)
    if style:
        handler.setFormatter(logging.Formatter(text, dates, _STYLES.get(style, "%")))  # type: ignore[arg-type]
    return handler
