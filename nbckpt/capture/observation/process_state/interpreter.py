"""State of the interpreter and its standard library."""

from __future__ import annotations

import re
import signal
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from types import FunctionType
from typing import Any

from nbckpt.capture.observation.process_state.kinds import ANYTHING, Change, Imported, Kind, Ordered
from nbckpt.capture.observation.process_state.state_json import described
from nbckpt.digests import Json
from nbckpt.runtime import gc_pause


class Limits(Kind):
    """Limits, switch interval, the garbage collector, and the sockets' timeout."""

    name = "interpreter"
    module = "gc"
    setters = (
        r"setrecursionlimit|setswitchinterval|enable|disable|set_threshold|setdefaulttimeout"
        r"|set_int_max_str_digits"
    )

    def read(self, module: Any) -> dict[str, Any]:
        found = {
            "recursion limit": sys.getrecursionlimit(),
            "switch interval": sys.getswitchinterval(),
            "gc enabled": module.isenabled(),
            "gc thresholds": gc_pause.thresholds(),
            "socket timeout": None,
            "nested event loops": False,
            "digits of integers": None,
        }
        if hasattr(sys, "get_int_max_str_digits"):
            found["digits of integers"] = sys.get_int_max_str_digits()
        if socket := sys.modules.get("socket"):
            found["socket timeout"] = socket.getdefaulttimeout()
        if asyncio := sys.modules.get("asyncio"):
            found["nested event loops"] = hasattr(asyncio, "_nest_patched")
        return found

    def defaults(self, module: Any) -> Mapping[str, Any]:
        return {**self.read(module), "gc enabled": True}

    def put(self, module: Any, change: Change) -> None:
        for item, value in change.values.items():
            match item:
                case "recursion limit":
                    sys.setrecursionlimit(value)
                case "switch interval":
                    sys.setswitchinterval(value)
                case "digits of integers":
                    sys.set_int_max_str_digits(value)
                case "gc enabled":
                    module.enable() if value else module.disable()
                case "gc thresholds":
                    module.set_threshold(*value)
                case "socket timeout":
                    __import__("socket").setdefaulttimeout(value)
                case "nested event loops" if value:
                    __import__("nest_asyncio").apply()

    def text(self, item: str) -> str:
        return item


class Locale(Kind):
    """The locale, of all its categories."""

    name = "locale"
    module = "locale"
    setters = "setlocale"

    def read(self, module: Any) -> dict[str, Any]:
        return {"": module.setlocale(module.LC_ALL)}

    def put(self, module: Any, change: Change) -> None:
        module.setlocale(module.LC_ALL, change.values[""])


class DecimalContext(Kind):
    """The decimal context; which flags are up is no state but an outcome."""

    name = "decimal"
    module = "decimal"
    setters = r"getcontext|setcontext|prec|rounding"
    _PLAIN = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")

    def read(self, module: Any) -> dict[str, Any]:
        context = module.getcontext()
        found = {name: getattr(context, name) for name in self._PLAIN}
        found["traps"] = tuple(sorted(s.__name__ for s, on in context.traps.items() if on))
        return found

    def defaults(self, module: Any) -> Mapping[str, Any]:  # noqa: ARG002
        return {
            "prec": 28,
            "rounding": "ROUND_HALF_EVEN",
            "Emin": -999999,
            "Emax": 999999,
            "capitals": 1,
            "clamp": 0,
            "traps": ("DivisionByZero", "InvalidOperation", "Overflow"),
        }

    def put(self, module: Any, change: Change) -> None:
        context = module.getcontext()
        for item, value in change.values.items():
            if item != "traps":
                setattr(context, item, value)
                continue
            for trap in list(context.traps):
                context.traps[trap] = trap.__name__ in value


_TELLING = 8

_SETTER = re.compile(r"^(filterwarnings|simplefilter|resetwarnings)$")


class WarningFilters(Ordered):
    """Filters of warnings, those of the notebook above or below the others."""

    name = "warnings"
    module = "warnings"
    reach = "warnings"
    setters = _SETTER.pattern

    def __init__(self) -> None:
        self._filters: list[Any] = []
        self._made: dict[str, Any] = {}

    def read(self, module: Any) -> dict[str, Any]:
        self._filters = list(module.filters)
        found = {_filter_text(entry): entry for entry in self._filters}
        self._made.update(found)
        return dict.fromkeys(found)

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:  # noqa: ARG002
        return bool(module.filters == self._filters)

    def is_of_import(self, item: str, imported: Imported) -> bool:
        _, message, category, place, _ = item.split("\0")
        if "__import__" not in imported.names and imported.has_name(_SETTER):
            return False  # the code sets filters and imports nothing; something was, meanwhile
        if not (message or place) and category.partition(".")[0] not in imported.modules:
            return False  # one that silences all: people write it, libraries do not
        strings = [s for s in imported.strings if s]
        return not any(
            s in (message, place) or (len(s) > _TELLING and s in message) for s in strings
        )

    def reach_of(self, item: str) -> str:
        # A hook of the notebook hears of warnings in any code.
        is_shown = getattr(warnings.showwarning, "__module__", None) == "warnings"
        return self.reach if is_shown and not item.startswith("error\0") else ANYTHING

    def put(self, module: Any, change: Change) -> None:
        module.filters[:] = [self._filter(entry) for entry in self.ordered(change)]
        if hasattr(module, "_filters_mutated_lock_held"):  # from Python 3.14 on
            with module._lock:  # noqa: SLF001
                module._filters_mutated_lock_held()  # noqa: SLF001
        else:
            module._filters_mutated()  # noqa: SLF001  # it holds what it found for each place
        self._filters = []

    def _filter(self, text: str) -> Any:
        if text in self._made:
            return self._made[text]
        action, message, category, place, line = text.split("\0")
        home, _, name = category.rpartition(".")
        kind = getattr(__import__(home, fromlist=[name]), name)
        patterns = [
            re.compile(message, re.IGNORECASE) if message else None,
            re.compile(place) if place else None,
        ]
        return (action, patterns[0], kind, patterns[1], int(line))

    def text(self, item: str) -> str:
        action, message, category, *_ = item.split("\0")
        return f"warnings {action} {message or category.rpartition('.')[2]}"


def _filter_text(entry: Any) -> str:
    action, message, category, place, line = entry
    patterns = [getattr(p, "pattern", p) or "" for p in (message, place)]
    home = f"{category.__module__}.{category.__qualname__}"
    return "\0".join([str(action), patterns[0], home, patterns[1], str(line)])


class Signals(Kind):
    """Handlers of signals; of those that shells and nbckpt handle, only functions of a notebook."""

    name = "signal"
    module = "_signal"  # what is above it makes an enumeration's member of each answer
    reach = "signals"
    _NAMES = ("SIGALRM", "SIGUSR1", "SIGUSR2", "SIGHUP", "SIGPIPE", "SIGVTALRM", "SIGPROF")
    _NUMBERS = tuple((n, getattr(signal, n)) for n in _NAMES if hasattr(signal, n))
    _PLAIN: Mapping[Any, str] = {signal.SIG_DFL: "default", signal.SIG_IGN: "ignored"}

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace

    def read(self, module: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, number in self._NUMBERS:
            handler = _handler(module.getsignal(number), number)
            if type(handler) is _Awaited and (function := handler.found()) is not None:
                with suppress(ValueError):  # only the main thread may set it
                    signal.signal(number, function)
                    handler = function
            found[name] = self._PLAIN.get(handler, handler)
        return found

    def encoded(self, item: str, value: Any) -> Json:
        if type(value) is _Awaited:
            return {"variable": value.name, "code": value.code}
        if type(value) is FunctionType and self._namespace.get(value.__name__) is value:
            return {"variable": value.__name__, "code": described(value)}
        return super().encoded(item, value)

    def decoded(self, item: str, value: Json) -> Any:
        if isinstance(value, dict) and "variable" in value:
            return _Awaited(self._namespace, str(value["variable"]), str(value["code"]))
        return super().decoded(item, value)

    def put(self, module: Any, change: Change) -> None:  # noqa: ARG002
        handlers = {text: handler for handler, text in self._PLAIN.items()}
        for item, value in change.values.items():
            handler = handlers.get(value, value) if isinstance(value, str) else value
            signal.signal(getattr(signal, item), handler)


class _Awaited:
    """A handler that is a variable: process state is set before variables are loaded."""

    def __init__(self, namespace: Mapping[str, object], name: str, code: str) -> None:
        self.name, self.code = name, code
        self._namespace = namespace

    def found(self) -> FunctionType | None:
        """The function, once it is there."""
        value = self._namespace.get(self.name)
        return value if type(value) is FunctionType and described(value) == self.code else None

    def __call__(self, number: int, frame: object) -> None:
        """Handle a signal; without its function it is let go, for the default would end us."""
        if (function := self.found()) is not None:
            function(number, frame)


def _handler(handler: Any, number: int) -> Any:
    """The handler of a signal, also while nbckpt holds signals back."""
    holder = getattr(handler, "__self__", None)
    if holder is not None and type(holder).__module__ == "nbckpt.runtime.interrupts":
        return holder._handlers.get(number, handler)  # noqa: SLF001
    is_watch = holder is not None and type(holder).__module__ == "nbckpt.runtime.time_limit"
    return signal.SIG_DFL if is_watch else handler
