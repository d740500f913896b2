"""A change of something that a library holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["module", "class", "function", "registry", "list", "abc"]

ABSENT: Final = object()
"""Stands for the value of a name that is not there."""

UNKNOWN: Final = object()
"""Stands for what a name held before it was first looked at."""


class Change(NamedTuple):
    """Something that was set, or taken away, between two looks.

    Attributes
    ----------
    owner
        Of what: ``json``, ``pandas.core.frame:DataFrame``, ``copyreg.dispatch_table``.
    key
        The key itself, where it is no text.
    put
        Sets another value there, `ABSENT` for none; None where that cannot be.
    """

    kind: Kind
    owner: str
    name: str
    key: object
    old: object
    new: object
    put: Callable[[object], None] | None

    @property
    def where(self) -> str:
        """A name of the place, the same in every process."""
        return f"{self.kind} {self.owner} {self.name}"
