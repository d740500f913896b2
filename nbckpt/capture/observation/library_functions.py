"""Attributes that a notebook sets on functions of libraries, if its text names them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import FunctionType

from nbckpt.capture.observation.changes import ABSENT, UNKNOWN, Change
from nbckpt.capture.observation.stores import resolved
from nbckpt.fingerprint.code.nodes import nodes_of
from nbckpt.fingerprint.values.homes import home_of

_MOST = 1_000


class LibraryFunctions:
    """Looks at the attributes that code of the notebook sets, wherever in it that stands.

    Not at all functions there are, as at modules and classes: these are a hundred times as many.

    Parameters
    ----------
    namespace
        The live variables.
    """

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace
        self._places: dict[tuple[str, str], ast.expr] = {}
        self._last: dict[tuple[str, str], object] = {}

    def look(self, tree: ast.Module | None) -> list[Change]:
        """Changes since the last look; `tree` may name more to look at."""
        if tree is not None:
            self.learn(tree)
        return list(self._changes())

    def learn(self, tree: ast.Module) -> None:
        """Look from now on where this code sets something, once it is called."""
        for holder, name in _stores(tree):
            if len(self._places) < _MOST:
                self._places[ast.dump(holder), name] = holder

    def _changes(self) -> Iterator[Change]:
        for (_, name), holder in self._places.items():
            function = resolved(holder, self._namespace)
            if type(function) is not FunctionType:
                continue
            if (home := home_of(function, self._namespace)) is None:  # the notebook's own
                continue
            now = vars(function).get(name, ABSENT)
            if now is not self._last.get((home, name), ABSENT):
                self._last[home, name] = now
                yield _change(function, home, name, now)


def _stores(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    for node in nodes_of(tree):
        match node:
            case ast.Attribute(value=holder, attr=name, ctx=ast.Store() | ast.Del()):
                yield holder, name
            case ast.Call(
                func=ast.Name(id="setattr" | "delattr"),
                args=[holder, ast.Constant(value=str(name)), *_],
            ):
                yield holder, name


def _change(function: FunctionType, home: str, name: str, now: object) -> Change:
    def put(value: object) -> None:
        if value is ABSENT:
            vars(function).pop(name, None)
        else:
            setattr(function, name, value)

    return Change("function", home, name, name, UNKNOWN, now, put)
