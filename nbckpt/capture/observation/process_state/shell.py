"""State of IPython: formatters, configuration, extensions, magics. It is asked, never imported."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from nbckpt.capture.observation.process_state.kinds import Change, Imported, Kind, is_equal
from nbckpt.capture.observation.process_state.state_json import as_json, is_settable

_MODULE = "IPython.core.interactiveshell"


class OfShell(Kind):
    """Of the shell that runs, if one does."""

    module = _MODULE

    def read(self, module: Any) -> dict[str, Any]:
        shell = module.InteractiveShell._instance  # noqa: SLF001
        return {} if shell is None else self.of(shell)

    def of(self, shell: Any) -> dict[str, Any]:
        """All items."""
        raise NotImplementedError

    def put(self, module: Any, change: Change) -> None:
        self.put_in(module.InteractiveShell.instance(), change)

    def put_in(self, shell: Any, change: Change) -> None:
        """Set what is to be set."""
        raise NotImplementedError


class Showing(OfShell):
    """The shell's settings for the results that it shows of a cell, and for printing values."""

    name = "IPython"
    reach = "text"
    setters = r"ast_node_interactivity|precision|float_precision|float_format|pprint|config|xmode"
    _OF_TEXT = ("float_format", "pprint", "max_seq_length", "max_width", "verbose", "newline")
    _OF_SHELL = ("ast_node_interactivity", "cache_size")

    def of(self, shell: Any) -> dict[str, Any]:
        values = shell._trait_values  # noqa: SLF001  # a trait that is not there has its default
        found = {n: values.get(n, getattr(shell, n)) for n in self._OF_SHELL}
        formatter = shell.display_formatter.formatters["text/plain"]
        found |= {n: getattr(formatter, n) for n in self._OF_TEXT}
        types = shell.display_formatter.active_types
        return {**found, "active types": tuple(types), "xmode": shell.InteractiveTB.mode}

    def put_in(self, shell: Any, change: Change) -> None:
        formatter = shell.display_formatter.formatters["text/plain"]
        for item, value in change.values.items():
            if item == "active types":
                shell.display_formatter.active_types = list(value)
            elif item == "xmode":
                shell.InteractiveTB.set_mode(mode=value)
            elif item == "float_format":
                formatter.float_format = value
            else:
                setattr(shell if item in self._OF_SHELL else formatter, item, value)

    def reach_of(self, item: str) -> str:
        return "expressions" if item == "ast_node_interactivity" else self.reach


class Printers(OfShell):
    """Functions with which the shell shows values of a type."""

    name = "IPython formatter"
    reach = "text"

    def __init__(self) -> None:
        self._tables: list[dict[Any, Any]] = []
        self._copies: list[dict[Any, Any]] = []

    def of(self, shell: Any) -> dict[str, Any]:
        formatters = shell.display_formatter.formatters
        self._tables = _tables(formatters)
        self._copies = [dict(table) for table in self._tables]
        found = {}
        for mime, formatter in formatters.items():
            for kind, printer in list(formatter.type_printers.items()):
                found[f"{mime} of {kind.__module__}.{kind.__qualname__}"] = printer
            for (home, name), printer in list(formatter.deferred_printers.items()):
                found[f"{mime} of {home}.{name}"] = printer
        return {item: p for item, p in found.items() if " of matplotlib." not in item}

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:
        if module.InteractiveShell._instance is None:  # noqa: SLF001
            return not items
        return self._tables == self._copies

    def put_in(self, shell: Any, change: Change) -> None:
        formatters = shell.display_formatter.formatters
        for item in (*change.gone, *change.values):
            mime, _, name = item.partition(" of ")
            home, _, kind = name.rpartition(".")
            printers = formatters[mime].type_printers
            live = next((k for k in printers if _name(k) == name), (home, kind))
            table = printers if live in printers else formatters[mime].deferred_printers
            table.pop(live, None)
            if item in change.values:
                formatters[mime].for_type(name, change.values[item])


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _tables(formatters: Mapping[str, Any]) -> list[dict[Any, Any]]:
    each = ((f.type_printers, f.deferred_printers) for f in formatters.values())
    return [table for tables in each for table in tables]


class Configuration(OfShell):
    """Settings that `%config` has made."""

    name = "%config"
    reach = "text"
    setters = "config"

    def __init__(self) -> None:
        self._held: dict[str, Any] = {}

    def of(self, shell: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._held = _configs(shell)
        for home, config in self._held.items():
            for trait, value in dict.items(config.get(home, {})):
                found[f"{home}.{trait}"] = value
        return {i: v for i, v in found.items() if not i.startswith("History")}

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:  # noqa: ARG002
        shell = module.InteractiveShell._instance  # noqa: SLF001
        now = _configs(shell)
        held = self._held
        # `update_config` puts another object in the place of the one that was there.
        return now.keys() == held.keys() and all(c is held[n] for n, c in now.items())

    def put_in(self, shell: Any, change: Change) -> None:
        if any(item.startswith("InlineBackend.") for item in change.values):
            inline: Any = __import__("matplotlib_inline.config", fromlist=["InlineBackend"])
            backend = inline.InlineBackend.instance(parent=shell)
            backend.shell = shell
            if backend not in shell.configurables:
                shell.configurables.append(backend)
        for item, value in change.values.items():
            home, _, trait = item.partition(".")
            config = type(shell.config)()
            config[home][trait] = value
            for one in [c for c in shell.configurables if type(c).__name__ == home]:
                one.update_config(config)

    def reach_of(self, item: str) -> str:
        if item.startswith("InlineBackend."):
            return "drawing"
        return "expressions" if item.endswith(".ast_node_interactivity") else self.reach


def _configs(shell: Any) -> dict[str, Any]:
    values = ((type(c).__name__, c._trait_values.get("config")) for c in shell.configurables)  # noqa: SLF001
    return {name: config for name, config in values if config is not None}


class Extensions(OfShell):
    """Extensions that were loaded, and what `%autoreload` reloads."""

    name = "IPython extension"
    reach = "magics"
    setters = r"load_ext|reload_ext|autoreload|aimport"
    _NOT = re.compile(r"nbckpt(\.|$)|storemagic$|google\.colab")

    def of(self, shell: Any) -> dict[str, Any]:
        names = [n for n in shell.extension_manager.loaded if not self._NOT.match(n)]
        found: dict[str, Any] = dict.fromkeys(names, True)
        magics = shell.magics_manager.registry.get("AutoreloadMagics")
        if magics is not None and not isinstance(magics, str):
            found["%autoreload"] = _autoreload(magics._reloader)  # noqa: SLF001
        return found

    def put_in(self, shell: Any, change: Change) -> None:
        for item in change.values:
            if item != "%autoreload":
                shell.extension_manager.load_extension(item)
        for item in change.gone:
            if item != "%autoreload":
                shell.extension_manager.unload_extension(item)
        if (state := change.values.get("%autoreload")) is not None:
            shell.extension_manager.load_extension("autoreload")
            reloader = shell.magics_manager.registry["AutoreloadMagics"]._reloader  # noqa: SLF001
            reloader.enabled, reloader.check_all, reloader.autoload_obj = state[:3]
            reloader.modules = dict.fromkeys(state[3], True)
            reloader.skip_modules = dict.fromkeys(state[4], True)


def _autoreload(reloader: Any) -> tuple[Any, ...]:
    flags = (reloader.enabled, reloader.check_all, getattr(reloader, "autoload_obj", False))
    return (*flags, tuple(sorted(reloader.modules)), tuple(sorted(reloader.skip_modules)))


class Attributes(OfShell):
    """Attributes that a notebook has set on the shell under names that no shell has."""

    name = "get_ipython()"

    def of(self, shell: Any) -> dict[str, Any]:
        kind: type = type(shell)
        known = _named_by(kind)
        own = [n for n in vars(shell) if n[0] != "_" and n not in known and not hasattr(kind, n)]
        return {name: _kept(vars(shell)[name]) for name in own}

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:
        now = self.read(module)
        return now.keys() == items.keys() and all(is_equal(now[n], v) for n, v in items.items())

    def put_in(self, shell: Any, change: Change) -> None:
        for name, value in change.values.items():
            setattr(shell, name, value)
        for name in change.gone:
            delattr(shell, name)

    def is_of_import(self, item: str, imported: Imported) -> bool:
        return item not in imported.names and item not in imported.strings


@functools.cache
def _named_by(kind: type) -> frozenset[str]:
    """The names in the code of a shell's methods, which set some of them as cells run."""
    functions = (f for base in kind.__mro__ for f in vars(base).values())
    return frozenset(n for f in functions if type(f) is FunctionType for n in f.__code__.co_names)


def _kept(value: Any) -> Any:
    """A copy of what a record can set, as it can change where it is."""
    is_plain = type(value) in {list, dict, set} and is_settable(as_json(value))
    return copy.deepcopy(value) if is_plain else value
