"""Modules inside packages that code has imported: `import xml.dom.minidom` binds `xml` alone.

A variable that is a module is kept by its name, which says nothing of what else was imported into
it. So a step that is restored imports that again, and a move does so for the steps before it.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import CodeType

from nbckpt.capture.observation.observer import Bystander, Ran, UnrepeatableError
from nbckpt.capture.observation.words_of_code import codes_of_all
from nbckpt.digests import Json
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.code.nodes import once
from nbckpt.runtime.gc_pause import uncollected
from nbckpt.runtime.user_code_errors import user_code_errors, user_code_errors_ignored


class Imports(Bystander):
    """The facet of modules inside of packages that are imported by their whole names.

    Parameters
    ----------
    namespace
        The live variables.
    """

    name = "imports"

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace
        self._imported: dict[str, None] = {}
        self._n_modules = 0

    def cell_begins(self, tree: ast.Module) -> None:  # noqa: ARG002
        """Take note of the number of modules."""
        self._n_modules = len(sys.modules)

    def cell_ends(self, tree: ast.Module) -> None:
        """Take note of what the cell imported."""
        self._imported.update(dict.fromkeys(self._found(tree, self._n_modules)))

    def open(self) -> object:
        """Number of modules now."""
        return len(sys.modules)

    def close(self, window: object, ran: Ran) -> Json:
        """The modules that the step has imported, or found imported."""
        return sorted(self._found(ran.tree, window)) or None

    def difference(self, observed: Json, ran: Ran) -> str | None:  # noqa: ARG002
        """Nothing: to import them again is no difference."""
        return None

    def restored(self, observed: Json) -> Sequence[str]:
        """Import what the step did."""
        with uncollected():
            for name in _texts(observed):
                try:
                    self._import(name)
                except user_code_errors() as error:  # whatever the module's own code raises
                    message = f"{name!r}, which it imports, cannot be imported: {error}"
                    raise UnrepeatableError(message) from None
        return ()

    def standing(self) -> Json:
        """Names of the modules that were imported so far."""
        return sorted(self._imported) or None

    def go_to(self, standing: Json) -> Sequence[str]:
        """Import what had been imported then; what there is besides stays."""
        with uncollected():
            for name in _texts(standing):
                with user_code_errors_ignored():  # the code that needs it will say so
                    self._import(name)
        return ()

    def _import(self, name: str) -> None:
        self._imported[name] = None
        if name not in sys.modules:
            importlib.import_module(name)

    def _found(self, tree: ast.Module, n_modules: object) -> set[str]:
        names = set(once(tree, "imported inside packages", lambda: frozenset(_dotted(tree))))
        if len(sys.modules) != n_modules:  # functions may have imported, too
            names.update(*map(_dotted_in, codes_of_all(self._namespace)))
        return {name for name in names if name in sys.modules}


def _dotted(tree: ast.Module) -> Iterator[str]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if "." in alias.name)


@lru_cache(maxsize=4096)
def _dotted_in(code: CodeType) -> frozenset[str]:
    inside = [_dotted_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return frozenset(n for n in code.co_names if "." in n).union(*inside)


def _texts(observed: Json) -> Iterable[str]:
    return [name for name in observed if isinstance(name, str)] if type(observed) is list else ()
