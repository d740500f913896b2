"""The variables that a checkpoint keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType, ModuleType
from typing import NamedTuple


class Selection(NamedTuple):
    """The variables that a checkpoint keeps.

    Attributes
    ----------
    vars
        Only these; None is all.
    exclude
        Not these.
    """

    vars: frozenset[str] | None = None
    exclude: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """True if `name` is to be kept."""
        return name not in self.exclude and (self.vars is None or name in self.vars)

    def follows(self, name: str, is_kept: bool) -> bool:
        """True if `name` is to be looked at: also when it was kept before, unless excluded."""
        return self.has(name) or (is_kept and name not in self.exclude)

    def and_definitions(self, names: Iterable[str], namespace: Mapping[str, object]) -> Selection:
        """The same, and those of the names that hold modules, functions or classes.

        They are what later cells are written with, and no data.
        """
        if self.vars is None:
            return self
        kinds = (ModuleType, FunctionType, type)
        found = (n for n in names if issubclass(type(namespace.get(n)), kinds))
        return self._replace(vars=self.vars.union(found))

    def options(self) -> dict[str, str]:
        """The options of this that belong to a step's key."""
        options = {"vars": ",".join(sorted(self.vars))} if self.vars is not None else {}
        if self.exclude:
            options["exclude"] = ",".join(sorted(self.exclude))
        return options


def missing(name: str, known: Iterable[str]) -> str:
    """The sentence about a variable that does not exist."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=3)
    hint = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
    return f"no variable {name!r} in the notebook{hint}"
