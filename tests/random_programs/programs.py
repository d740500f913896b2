"""A random notebook as plain data: its cells, and what its user does with them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

Mode = Literal["on", "skip", "marked"]


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a cell.

    Attributes
    ----------
    statements
        Each whole, of one line or several.
    is_marked
        Whether a `%%checkpoint` line stands above it, where the mode is ``marked``.
    """

    statements: tuple[str, ...]
    is_marked: bool = True

    def text(self) -> str:
        """What the cell runs."""
        return "\n".join(self.statements) or "pass"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that the user does.

    Attributes
    ----------
    verb
        ``all`` (each cell from the top), ``run`` (one cell), ``edit`` (one cell's text),
        ``restart``, ``kill`` (a restart of which nobody knew), ``resume``, ``rewind``,
        ``back`` (`%rewind -`) or ``fork``.
    at
        Index of the cell, or how many moments to go back.
    source
        The new text of an edited cell.
    given
        ``name=expression`` of a fork.
    """

    verb: str
    at: int = 0
    source: Source | None = None
    given: str = ""

    def __str__(self) -> str:
        if self.verb == "edit" and self.source is not None:
            return f"edit {self.at}:\n{indented(self.source.text())}"
        at = f" {self.at}" if self.verb in ("run", "rewind", "fork") else ""
        return f"{self.verb}{at} {self.given}".rstrip()


@dataclass(frozen=True, slots=True)
class Program:
    """A notebook and what is done with it."""

    mode: Mode
    cells: tuple[Source, ...]
    actions: tuple[Action, ...]

    def __str__(self) -> str:
        lines = [f"mode: {self.mode}"]
        for index, cell in enumerate(self.cells):
            mark = " (%%checkpoint)" if self.mode == "marked" and cell.is_marked else ""
            lines.append(f"cell {index}{mark}:\n{indented(cell.text())}")
        return "\n".join([*lines, "actions:", *(indented(str(a)) for a in self.actions)])


def indented(text: str) -> str:
    """Each line four spaces further to the right."""
    return re.sub("^", "    ", text, flags=re.MULTILINE)


def simpler(program: Program) -> list[Program]:
    """Programs with less of one thing each, the least first."""
    return [*_with_fewer_actions(program), *_with_fewer_cells(program), *_with_shorter(program)]


def _with_fewer_actions(program: Program) -> list[Program]:
    actions = program.actions
    halves = [actions[: len(actions) // 2]] if len(actions) > 3 else []
    shorter = [actions[:i] + actions[i + 1 :] for i in range(len(actions))]
    return [replace(program, actions=a) for a in [*halves, *shorter]]


def _with_fewer_cells(program: Program) -> list[Program]:
    found = []
    for index in range(len(program.cells)):
        cells = program.cells[:index] + program.cells[index + 1 :]
        actions = tuple(_moved(a, index) for a in program.actions if not _is_of(a, index))
        found.append(replace(program, cells=cells, actions=actions))
    return found


def _is_of(action: Action, index: int) -> bool:
    return action.verb in ("run", "edit") and action.at == index


def _moved(action: Action, index: int) -> Action:
    is_below = action.verb in ("run", "edit") and action.at > index
    return replace(action, at=action.at - 1) if is_below else action


def _with_shorter(program: Program) -> list[Program]:
    found = []
    for index, cell in enumerate(program.cells):
        for shorter in _shorter(cell):
            cells = (*program.cells[:index], shorter, *program.cells[index + 1 :])
            found.append(replace(program, cells=cells))
    for index, action in enumerate(program.actions):
        for source in _shorter(action.source) if action.source else ():
            changed = replace(action, source=source)
            actions = (*program.actions[:index], changed, *program.actions[index + 1 :])
            found.append(replace(program, actions=actions))
    return found


def _shorter(cell: Source) -> list[Source]:
    statements = cell.statements
    shorter = [statements[:i] + statements[i + 1 :] for i in range(len(statements))]
    for index, statement in enumerate(statements):
        above, below = statements[:index], statements[index + 1 :]
        shorter += [(*above, part, *below) for part in _parts(statement)]
    return [replace(cell, statements=s) for s in shorter]


def _parts(statement: str) -> list[str]:
    """A compound statement without one of its inner lines, or one of several names imported."""
    lines = statement.splitlines()
    if len(lines) < 3:
        return []
    return ["\n".join(lines[:i] + lines[i + 1 :]) for i in range(1, len(lines))]


def as_data(program: Program) -> dict[str, Any]:
    """The program as JSON."""

    def cell(source: Source | None) -> Any:
        return None if source is None else [list(source.statements), source.is_marked]

    actions = [[a.verb, a.at, cell(a.source), a.given] for a in program.actions]
    return {"mode": program.mode, "cells": [cell(c) for c in program.cells], "actions": actions}


def from_data(data: dict[str, Any]) -> Program:
    """The program that `as_data` told."""

    def source(told: Any) -> Source:
        return Source(tuple(told[0]), told[1])

    actions = tuple(Action(v, at, source(s) if s else None, g) for v, at, s, g in data["actions"])
    return Program(data["mode"], tuple(source(c) for c in data["cells"]), actions)
