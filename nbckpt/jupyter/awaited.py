"""Has a cell of a kernel await `%rerun`, so that recorded cells can await in the kernel's loop.

A kernel runs each cell inside its loop, and a loop that runs cannot be run from within. A cell
that awaits gives the loop back instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.runtime.source_trees import parse
from nbckpt.verbs.moving import AWAITED

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class Awaiter:
    """An input transformer: where `%rerun` stands outside of functions, its cell awaits it."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def transform(self, lines: list[str]) -> list[str]:
        """The lines of a cell, its magics turned into calls already."""
        if not any("'rerun'" in line for line in lines) or not self._can_await():
            return lines
        try:
            tree = parse("".join(lines))
        except SyntaxError:
            return lines  # the shell says what is wrong
        for call in sorted(_calls(tree), key=lambda n: (n.lineno, n.col_offset), reverse=True):
            lines = _awaited(lines, call)
        return lines

    def _can_await(self) -> bool:
        import asyncio

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False  # a terminal: each cell has the loop that it needs
        return bool(self._shell.autoawait)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls of the magic that the cell itself makes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            continue
        if isinstance(child, ast.Call) and is_call(child):
            yield child
        elif not isinstance(child, ast.Await):
            yield from _calls(child)


def is_call(node: ast.Call) -> bool:
    """True if a call is that of `%rerun`."""
    if ast.unparse(node.func) != "get_ipython().run_line_magic":
        return False
    values = [a.value if isinstance(a, ast.Constant) else None for a in node.args]
    return len(values) == 2 and values[0] == "rerun" and isinstance(values[1], str)


def _awaited(lines: list[str], call: ast.Call) -> list[str]:
    if call.lineno != call.end_lineno:
        return lines
    line = lines[call.lineno - 1].encode()
    argument = call.args[1]
    assert isinstance(argument, ast.Constant)
    rest = f"{AWAITED} {argument.value!s}".strip()
    told = f"await get_ipython().run_line_magic('rerun', {rest!r})"
    line = line[: call.col_offset] + told.encode() + line[call.end_col_offset :]
    return [*lines[: call.lineno - 1], line.decode(), *lines[call.lineno :]]
