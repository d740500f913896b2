"""State that a process has from its parent: environment, working folder, umask, module places."""

from __future__ import annotations

import os
import re
import sys
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any

from nbckpt.capture.observation.child_environment import put_in_environment
from nbckpt.capture.observation.process_state.kinds import ABSENT, Change, Imported, Kind, Ordered
from nbckpt.capture.observation.process_state.state_json import secret_json
from nbckpt.digests import Json
from nbckpt.runtime.dict_version import version_of
from nbckpt.text.secret_texts import is_private

_OF_OTHERS = re.compile(
    r"""JPY_\w+ | PYDEVD\w* | (LINES|COLUMNS|PWD|OLDPWD|SHLVL|_)
    | (CLICOLOR(_FORCE)?|FORCE_COLOR|PAGER|GIT_PAGER|TERM|MPLBACKEND)
    | NBCKPT_PARENT | (KMP|TF2|TPU|TORCHINDUCTOR|TRITON|CUDA_MODULE|QT_QPA)_\w+ | PYTEST_\w+""",
    re.VERBOSE,
)
"""Variables that kernels, pagers, debuggers and libraries set for themselves; and nbckpt, for the
moment in which a process starts."""

_SETTER = re.compile(r"^(set_|[Cc]onfig|[Oo]ption)")

_FORMATTING = re.compile(r"POLARS_(FMT|TABLE)_\w+")


def _encoded(name: str, value: str) -> Json:
    return secret_json(value) if is_private(name, value) else value


def is_of_others(name: str) -> bool:
    """True for a variable that kernels, pagers, debuggers and libraries set for themselves."""
    return _OF_OTHERS.fullmatch(name) is not None


class Environment(Kind):
    """Variables of the environment, without those that kernels and libraries set."""

    name = "environment"
    module = "os"
    setters = r"environ|putenv|setenv|env|set_env"

    def __init__(self) -> None:
        self._raw: dict[Any, Any] = {}

    def read(self, module: Any) -> dict[str, Any]:
        self._raw = dict(module.environ._data)  # noqa: SLF001  # the mapping itself decodes each
        return {n: v for n, v in module.environ.items() if not _OF_OTHERS.fullmatch(n)}

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:  # noqa: ARG002
        return bool(module.environ._data == self._raw)  # noqa: SLF001

    def put(self, module: Any, change: Change) -> None:
        module.environ.update(change.values)
        for name in change.gone:
            module.environ.pop(name, None)

    def is_of_import(self, item: str, imported: Imported) -> bool:
        told = (*imported.names, *imported.strings)
        if item in told or any("env" in word.lower() for word in told):
            return False
        if item.partition("_")[0].lower() not in sys.modules:
            return True
        return not imported.has_name(_SETTER)  # else a call of that library has set it

    def reach_of(self, item: str) -> str:
        return "text" if _FORMATTING.fullmatch(item) else self.reach

    def encoded(self, item: str, value: Any) -> Json:
        return _encoded(item, value)


class ChildEnvironment(Kind):
    """Variables that only child processes see: `os.environ` does not know those of `os.putenv`."""

    name = "environment of child processes"
    module = "os"
    setters = r"(put|unset)env"

    def read(self, module: Any) -> dict[str, Any]:
        told = module.environ._data  # noqa: SLF001  # the mapping itself decodes each
        return {
            os.fsdecode(name): None if value is None else os.fsdecode(value)
            for name, value in put_in_environment.items()
            if told.get(name) != value
        }

    def put(self, module: Any, change: Change) -> None:
        environ = module.environ
        wanted = {**change.values, **{name: environ.get(name) for name in change.gone}}
        for name, value in wanted.items():
            if value is None:
                module.unsetenv(name)
            else:
                module.putenv(name, value)
            put_in_environment[environ.encodekey(name)] = (
                None if value is None else environ.encodevalue(value)
            )

    def encoded(self, item: str, value: Any) -> Json:
        return None if value is None else _encoded(item, value)


class WorkingFolder(Kind):
    """The working folder, relative to that of the beginning where it lies inside."""

    name = "working folder"
    module = "os"
    setters = r"chdir|cd"

    def read(self, module: Any) -> dict[str, Any]:
        try:
            return {"": module.getcwd()}
        except OSError:  # it was deleted
            return {}

    def changed(self, items: Any, baseline: Any) -> dict[str, Any]:
        if "" not in items or "" not in baseline or items == baseline:
            return {}
        here, there = Path(items[""]), Path(baseline[""])
        return {"": str(here.relative_to(there) if here.is_relative_to(there) else here)}

    def put(self, module: Any, change: Change) -> None:
        folder = Path(change.baseline[""], change.target.get("", ""))
        if not folder.is_dir():
            message = f"there is no folder {str(change.target.get('', folder))!r}"
            raise FileNotFoundError(message)
        module.chdir(folder)


class Umask(Kind):
    """Permissions that new files do not get."""

    name = "umask"
    module = "os"
    setters = "umask"

    def read(self, module: Any) -> dict[str, Any]:
        now = module.umask(0o077)  # the system tells it only so; who makes a file meanwhile is safe
        module.umask(now)
        return {"": now}

    def put(self, module: Any, change: Change) -> None:
        module.umask(change.values[""])


class ModulePath(Ordered):
    """Folders in which modules are looked for."""

    name = "sys.path"
    module = "sys"
    reach = "imports"

    def read(self, module: Any) -> dict[str, Any]:
        return {str(entry): place for place, entry in enumerate(module.path)}

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:
        return len(items) == len(module.path) and list(items) == module.path

    def put(self, module: Any, change: Change) -> None:
        import importlib

        module.path[:] = self.ordered(change)
        importlib.invalidate_caches()


class Arguments(Kind):
    """Arguments of the command line: how many of the kernel's are left, and what follows them."""

    name = "sys.argv"
    module = "sys"
    reach = "arguments"
    setters = "argv"

    def read(self, module: Any) -> dict[str, Any]:
        return {"": [*module.argv]}

    def changed(self, items: Any, baseline: Any) -> dict[str, Any]:
        now, then = items.get("", []), baseline.get("", [])
        if now == then:
            return {}
        pairs = enumerate(zip(now, then, strict=False))
        left = next((n for n, (a, b) in pairs if a != b), min(len(now), len(then)))
        return {"": [left, *now[left:]]}

    def put(self, module: Any, change: Change) -> None:
        arguments = [*change.baseline.get("", [])]
        if told := change.target.get(""):
            arguments[told[0] :] = told[1:]
        module.argv[:] = arguments


class ContextVariables(Kind):
    """Context variables of the notebook, by the names that they have there."""

    name = "context variable"

    def __init__(self, namespace: dict[str, object]) -> None:
        self._namespace = namespace
        self._version: int | None = None  # of the namespace when there was no such variable in it

    def read(self, module: Any) -> dict[str, Any]:  # noqa: ARG002
        version = version_of(self._namespace)
        if version is not None and version == self._version:
            return {}
        if ContextVar not in set(map(type, self._namespace.values())):
            self._version = version
            return {}
        values = list(self._namespace.items())
        found = {name: v.get(ABSENT) for name, v in values if type(v) is ContextVar}
        return {name: value for name, value in found.items() if value is not ABSENT}

    def defaults(self, module: Any) -> dict[str, Any]:  # noqa: ARG002
        return {}

    def changed(self, items: Any, baseline: Any) -> dict[str, Any]:  # noqa: ARG002
        return {name: value for name, value in items.items() if self._is_set(name)}

    def put(self, module: Any, change: Change) -> None:  # noqa: ARG002
        for name, value in change.values.items():
            variable: Any = self._namespace.get(name)
            if not hasattr(variable, "set"):
                message = f"{name!r} is not there"
                raise LookupError(message)
            variable.set(value)

    def _is_set(self, name: str) -> bool:
        return self._namespace.get(name) in copy_context()
