"""Report of a check: counts of what was looked at, and the problems found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["damaged", "missing", "unreachable"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not as it should be.

    Attributes
    ----------
    kind
        damaged: the bytes are not those that were written. missing: a record names what is not
        there. unreachable: bytes that no record names, left by a crash or a refused write; they
        only take room.
    where
        A file of the store, and the line or offset in it.
    what
        Which checkpoint and variable it concerns, or what it is.
    """

    kind: Kind
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.what}"


@dataclass(frozen=True, slots=True)
class Report:
    """Counts of what was checked in a store, and the problems found."""

    journals: int
    records: int
    packs: int
    chunks: int
    blobs: int
    tables: int
    size_bytes: int
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """True if every record can be read and all that it names is there and sound."""
        return all(problem.kind == "unreachable" for problem in self.problems)
