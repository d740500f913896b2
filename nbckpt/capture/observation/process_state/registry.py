"""The kinds of process state that are looked at, in the order in which they are set."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nbckpt.capture.observation.process_state import (
    environment,
    interpreter,
    libraries,
    loggers,
    plots,
    shell,
    shell_hooks,
    standard,
)
from nbckpt.capture.observation.process_state.kinds import Kind

MadeFor: TypeAlias = Callable[[], Kind]

_KINDS: list[MadeFor] = [
    environment.Environment,
    environment.ChildEnvironment,
    environment.WorkingFolder,
    environment.ModulePath,
    environment.Umask,
    environment.Arguments,
    interpreter.Limits,
    interpreter.Locale,
    interpreter.WarningFilters,
    loggers.LogFiles,
    standard.LevelNames,
    standard.CsvLimit,
    standard.FirstWeekday,
    standard.LoopDebugging,
    standard.StartMethod,
    interpreter.DecimalContext,
    libraries.MpmathPrecision,
    libraries.NumpyErrors,
    libraries.NumpyPrinting,
    libraries.PandasOptions,
    libraries.PolarsOptions,
    libraries.SklearnOptions,
    libraries.SympyPrinting,
    libraries.JoblibSettings,
    libraries.TorchSettings,
    plots.Backend,
    plots.Drawing,
    plots.Showing,
    plots.Plotting,
    shell.Extensions,
    shell.Configuration,
    shell.Showing,
    shell.Printers,
    shell_hooks.Hooks,
    shell.Attributes,
]


def register(kind: MadeFor) -> None:
    """Look at one more kind in sessions that begin from now on."""
    _KINDS.append(kind)


def kinds_for(namespace: dict[str, object]) -> list[Kind]:
    """The kinds of a session with this namespace."""
    of_variables = (
        interpreter.Signals(namespace),
        environment.ContextVariables(namespace),
        loggers.Loggers(namespace),
    )
    return [*(make() for make in _KINDS), *of_variables]
