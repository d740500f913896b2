"""Settings of the standard library's modules, each with a function that reads and one that sets."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from nbckpt.capture.observation.process_state.kinds import Change, Imported, Kind


class CsvLimit(Kind):
    """Greatest length of a field of a CSV file."""

    name = "csv"
    module = "_csv"
    setters = "field_size_limit"

    def read(self, module: Any) -> dict[str, Any]:
        return {"field size limit": module.field_size_limit()}

    def defaults(self, module: Any) -> Mapping[str, Any]:  # noqa: ARG002
        return {"field size limit": 131_072}

    def put(self, module: Any, change: Change) -> None:
        module.field_size_limit(change.values["field size limit"])


class FirstWeekday(Kind):
    """First day of the weeks of `calendar`."""

    name = "calendar"
    module = "calendar"
    setters = "setfirstweekday"

    def read(self, module: Any) -> dict[str, Any]:
        return {"first weekday": int(module.firstweekday())}

    def defaults(self, module: Any) -> Mapping[str, Any]:  # noqa: ARG002
        return {"first weekday": 0}

    def put(self, module: Any, change: Change) -> None:
        module.setfirstweekday(change.values["first weekday"])


class StartMethod(Kind):
    """Method by which `multiprocessing` starts a process."""

    name = "multiprocessing"
    module = "multiprocessing"
    setters = "set_start_method"

    def read(self, module: Any) -> dict[str, Any]:
        method = module.get_start_method(allow_none=True)  # to ask for the default would set it
        return {"start method": method or module.get_all_start_methods()[0]}

    def defaults(self, module: Any) -> Mapping[str, Any]:
        return {"start method": module.get_all_start_methods()[0]}

    def put(self, module: Any, change: Change) -> None:
        module.set_start_method(change.values["start method"], force=True)


class LoopDebugging(Kind):
    """Debug settings of the kernel's own event loop; where none runs, those of a new one."""

    name = "asyncio"
    module = "asyncio"
    setters = r"set_debug|slow_callback_duration"

    def __init__(self) -> None:
        self._loop: Any = None

    def _found(self, module: Any) -> Any:
        if self._loop is None:  # of the first thread that asks: a subshell has another
            with suppress(RuntimeError):
                self._loop = module.get_running_loop()
        return self._loop

    def read(self, module: Any) -> dict[str, Any]:
        if (loop := self._found(module)) is None:
            return dict(self.defaults(module))
        return {"debug": loop.get_debug(), "slow callback": loop.slow_callback_duration}

    def defaults(self, module: Any) -> Mapping[str, Any]:  # noqa: ARG002
        return {"debug": False, "slow callback": 0.1}

    def put(self, module: Any, change: Change) -> None:
        if (loop := self._found(module)) is None:
            return
        if "debug" in change.values:
            loop.set_debug(change.values["debug"])
        if "slow callback" in change.values:
            loop.slow_callback_duration = change.values["slow callback"]


class LevelNames(Kind):
    """Names of the levels of logging."""

    name = "logging level"
    module = "logging"
    reach = "logging"
    setters = "addLevelName"
    _STANDARD: Mapping[str, Any] = {
        "0": "NOTSET",
        "10": "DEBUG",
        "20": "INFO",
        "30": "WARNING",
        "40": "ERROR",
        "50": "CRITICAL",
    }

    def read(self, module: Any) -> dict[str, Any]:
        names = module._levelToName  # noqa: SLF001  # nothing public has those without a level
        return {str(level): name for level, name in names.items()}

    def defaults(self, module: Any) -> Mapping[str, Any]:  # noqa: ARG002
        return self._STANDARD

    def is_of_import(self, item: str, imported: Imported) -> bool:  # noqa: ARG002
        return not (imported.names and "addLevelName" in imported.names)

    def put(self, module: Any, change: Change) -> None:
        for item, name in change.values.items():
            module.addLevelName(int(item), name)
        for item in change.gone:
            name = module._levelToName.pop(int(item), "")  # noqa: SLF001
            module._nameToLevel.pop(name, None)  # noqa: SLF001
