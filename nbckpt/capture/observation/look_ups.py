"""Names that a window saw looked up, by the audit events that it has collected."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from nbckpt.capture.observation.audit_events import (
    Compiled,
    Evaluated,
    Event,
    Framed,
    Unpickled,
)
from nbckpt.fingerprint.code import Names, names_of_code
from nbckpt.fingerprint.code.bytecode import words_of

_EVALUATE = ("pandas.core.computation", "patsy", "formulaic", "numexpr")
"""Modules that look names of a text up in a caller's frame, once they have compiled it."""

_QUERY = ("duckdb", "polars")
"""Modules that look names of a query up in a caller's frame: its text tells which."""


@dataclass
class LookUps:
    """Names that a window saw looked up.

    Attributes
    ----------
    reads
        Name → whether one that does not exist counts, too: the text may have found it nowhere.
    everything
        Any name may have been looked up.
    queries
        Names of the text of a query were looked up.
    """

    reads: dict[str, bool] = field(default_factory=dict)
    binds: set[str] = field(default_factory=set)
    everything: bool = False
    queries: bool = False


def look_ups_of(events: Iterable[Event], tree: ast.Module | None) -> LookUps:
    """Look-ups in the events; a name that the cell had bound by then was its own."""
    seen = LookUps()
    texts: list[tuple[object, int]] = []
    evaluating = 0
    done: set[object] = set()
    for event in events:
        if isinstance(event, Evaluated):
            key = (event.code.co_code, event.code.co_names, event.line)
            if key in done:
                continue
            done.add(key)
            _note(seen, names_of_code(event.code), event, tree)
        elif isinstance(event, Framed):
            if event.module.startswith(_EVALUATE):
                evaluating = max(evaluating, event.line or 1)
            elif event.module.startswith(_QUERY):
                seen.queries = True
            elif event.code not in done:
                done.add(event.code)
                seen.everything = True
        elif isinstance(event, Compiled) and evaluating:
            texts.append((event.text, evaluating))
        elif isinstance(event, Unpickled):
            seen.reads.setdefault(event.name.partition(".")[0], True)
    for text, line in texts:
        words = words_of(text if isinstance(text, str) else _decoded(text))
        own = _bound_before(tree, line)
        for word in words:
            name = word.removeprefix("__pd_eval_local_")
            if name not in own:
                seen.reads.setdefault(name, False)
    return seen


def _note(seen: LookUps, names: Names, event: Evaluated, tree: ast.Module | None) -> None:
    own = _bound_before(tree, event.line)
    is_users = event.module == "__main__" or event.module.startswith("IPython.")
    for name in names.loads - own:
        seen.reads[name] = seen.reads.get(name, False) or is_users
    if is_users:
        seen.binds |= names.binds
    if names.everything and is_users:
        seen.everything = True


def _decoded(text: object) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else ""


def _bound_before(tree: ast.Module | None, line: int) -> frozenset[str]:
    """Names that a cell has bound for certain before it comes to one of its lines."""
    found: set[str] = set()
    for statement in tree.body if tree is not None and line else ():
        if (statement.end_lineno or 0) >= line:
            break
        if isinstance(statement, ast.Assign):
            found.update(t.id for t in statement.targets if isinstance(t, ast.Name))
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            found.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            found.update(a.asname or a.name.partition(".")[0] for a in statement.names)
    return frozenset(found)
