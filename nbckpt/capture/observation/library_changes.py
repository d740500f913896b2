"""Changes that a cell made in libraries and on modules, and which of them the notebook made."""

from __future__ import annotations

import ast
from collections.abc import Container, MutableMapping

from nbckpt.capture.observation.attribution import Attribution
from nbckpt.capture.observation.changes import Change
from nbckpt.capture.observation.containers import Containers
from nbckpt.capture.observation.harmless_cells import defines, only_imports
from nbckpt.capture.observation.libraries import Libraries
from nbckpt.capture.observation.library_functions import LibraryFunctions
from nbckpt.capture.observation.stores import Codes, stored_by_name, stores_of
from nbckpt.capture.observation.user_modules import ModuleState
from nbckpt.fingerprint.user_names import Own


class LibraryChanges(Own):
    """Tells what the notebook changed in libraries since the last look.

    Attributes
    ----------
    libraries, functions, containers
        What is followed of libraries: members and registries, functions, lists and dicts.
    modules
        What is followed of modules beside the notebook.
    """

    def __init__(self, namespace: MutableMapping[str, object]) -> None:
        self.libraries = Libraries(namespace)
        self.functions = LibraryFunctions(namespace)
        self.containers = Containers(namespace, self.libraries)
        self.modules = ModuleState()
        self._namespace = namespace
        self._attribution = Attribution(namespace, self.libraries)
        self._n_user_modules = 0
        self._new_modules: list[str] = []

    def step_begins(self) -> None:
        """Forget which modules beside the notebook are new: a step tells those that it imports."""
        self._new_modules = []

    def new_modules(self, known: Container[str]) -> list[str]:
        """Modules beside the notebook that code has imported which did more than that."""
        return [name for name in self._new_modules if name not in known]

    def look(self, tree: ast.Module | None, attached: Container[str]) -> list[Change]:
        """Changes since the last look.

        Parameters
        ----------
        tree
            The cell that ran; None if none did.
        attached
            Places that hold something of the notebook: each of their changes counts.
        """
        changes, fresh = self.libraries.look()
        if len(self.libraries.user_modules) > self._n_user_modules:
            self._n_user_modules = len(self.libraries.user_modules)
            is_as_imported = tree is None or only_imports(tree)
            new = self.modules.meet(self.libraries.user_modules, is_as_imported=is_as_imported)
            self._new_modules = [] if is_as_imported else new
        codes = Codes(self._namespace, self.libraries.user_modules, tree)
        if tree is not None and (fresh or not self.libraries.tells_rebinding):
            changes += self._by_text(tree, set(fresh), codes)
        changes += self.functions.look(tree)
        counted = []
        for change in changes:
            is_counted = change.where in attached or self._attribution.counts(change, tree, codes)
            if change.owner != "sys.modules" and change.kind != "function":
                self.libraries.is_own(change, own=not is_counted)
            if is_counted:
                counted.append(change)
        if tree is not None:
            entries = {c.owner for c in counted if c.kind == "registry"}
            inside = self.containers.changes(tree, set(fresh))
            counted += [c for c in inside if f"{c.owner}.{c.name}" not in entries]
        return counted

    def _by_text(self, tree: ast.Module, fresh: set[str], codes: Codes) -> list[Change]:
        """Changes that a cell and the code it called made on modules and classes they imported."""
        stores = stores_of(tree, self._namespace, codes)
        found = [c for name in stores.names for c in self.libraries.named(name)]
        for holder, name in stores.places:
            place = self.libraries.owner_of(holder)
            if place is not None and place[1] in fresh:
                found.append(self.libraries.entry(*place, name))
            elif place is not None:
                found += self.libraries.named(name)
        if fresh and defines(tree):
            found += self.libraries.users_entries(fresh)
        if fresh and not only_imports(tree):
            stored = [*stored_by_name(tree, codes)]
            found += self.libraries.set_entries(fresh, stored) if stored else ()
        return found
