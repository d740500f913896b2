"""Values that a cell, and the code that it reaches, can hand to a library."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import CodeType
from typing import Any, NamedTuple

from nbckpt.capture.observation.words_of_code import MANY, parts_of, strings_of_code, words_of_code
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.code.nodes import run_nodes
from nbckpt.fingerprint.values.homes import is_named
from nbckpt.fingerprint.values.plain import ATOMS


class Given(NamedTuple):
    """Values that some code can hand to a library.

    Attributes
    ----------
    objects
        By their ids, each held: values of variables and what these hold; no code of libraries.
    strings
        In its text, and those of variables.
    numbers
        As `strings`, each with its type.
    """

    objects: dict[int, object]
    strings: frozenset[str]
    numbers: frozenset[tuple[type, object]]

    def has(self, value: Any) -> bool:
        """True if a value is, or directly holds, something of that."""
        kind = type(value)
        if kind is str:
            return value in self.strings
        if id(value) in self.objects:
            return True
        if kind is dict:
            return any(map(self.has, [*value.keys(), *value.values()][:MANY]))
        return kind in {tuple, list, set} and any(map(self.has, islice(value, MANY)))


def given_by(tree: ast.Module, codes: Iterable[CodeType], namespace: Mapping[str, object]) -> Given:
    """Values that a cell, with the code that it reaches, can hand to a library."""
    names = {node.id for node in nodes_of(tree) if isinstance(node, ast.Name)}
    atoms: list[object] = [n.value for n in nodes_of(tree) if isinstance(n, ast.Constant)]
    for code in codes:
        atoms += strings_of_code(code)
        names |= words_of_code(code)
    objects: dict[int, object] = {}
    for value in [namespace[name] for name in names if name in namespace]:
        for one in (value, *parts_of(value, type(value))):
            if type(one) in ATOMS:
                atoms.append(one)
            elif not is_named(one, namespace):
                objects[id(one)] = one
    strings = frozenset(atom for atom in atoms if type(atom) is str and len(atom) > 1)
    numbers = ((type(atom), atom) for atom in atoms if type(atom) in {int, float, complex, bool})
    return Given(objects, strings, frozenset(numbers))


def statement_calls(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls in a cell that are statements of their own: nothing is made of what they return."""
    for node in run_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node.value


def is_argument(value: object, call: ast.Call, namespace: Mapping[str, object]) -> bool:
    """True if a call is given a value, by a variable or as a constant."""
    if value is None:
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    constants = [node.value for node in given if isinstance(node, ast.Constant)]
    if any(type(one) is type(value) and one == value for one in constants):
        return True
    return any(isinstance(n, ast.Name) and namespace.get(n.id) is value for n in given)
