"""The values that everything else passes around: frozen, and with one JSON form each.

A checkpoint's record holds what changed since its parent; `timeline` folds a chain of records
into a whole manifest.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from nbckpt.digests import Digest, Json, digest_of_json

State: TypeAlias = Literal["done", "failed", "partial"]


Record: TypeAlias = Mapping[str, Any]
"""One line of a journal: JSON members, of which `kind` says how to read the rest."""


UNTRUSTED = "untrusted"
"""Member of a record that the user neither wrote nor vouched for: readers add it, nobody writes it.

Of a variable it is written, where a record of one's own repeats what such a record said.
"""


def is_trusted(record: Record) -> bool:
    """True if the user wrote a record, or vouched for it: only then may what it names be run."""
    return not record.get(UNTRUSTED)


PLACING = (
    "kind",
    "id",
    "parent",
    "name",
    "branch",
    "session",
    "notebook",
    "created_at",
    "duration_s",
    "made_by",
    "state",
)
"""The members that say where a checkpoint stands in the history; a record begins with them."""


AUTOMATIC = "automatic"
"""The tag of checkpoints that nobody asked for: it protects none of them, and no REF means it."""


# Named tuples where nothing changes a copy: a dataclass takes half a millisecond of every start.
class Cell(NamedTuple):
    """A source text and where it ran.

    Attributes
    ----------
    starred
        True if a secret was taken out of the text, so that it is not what ran.
    """

    source: str
    execution_count: int | None = None
    cell_id: str | None = None
    starred: bool = False

    @property
    def source_crc(self) -> int:
        """Tells its text from others; a page finds the same for the text that it shows."""
        return zlib.crc32(self.source.encode("utf-8", "surrogatepass"))


class Variable(NamedTuple):
    """One name of a manifest, and where its value lies.

    Attributes
    ----------
    blob
        The bytes of its group: all variables that share mutable objects with it lie in one blob.
    value
        Digest of this variable's own value, for telling whether it changed.
    group
        The names in that blob, sorted; the variable's own name alone when it shares nothing.
    needs
        Names of notebook functions and classes that the blob refers to instead of holding them.
    size_bytes
        Bytes of the encoded value.
    shape
        Of arrays, tables and containers, as text: `1000 x 3`.
    preview
        The first line or so of what it looks like, for people.
    recipe
        True when the blob holds the statement that makes the value instead of the value.
    trusted
        Whether its blob may be unpickled, or run: see `is_trusted`.
    """

    name: str
    blob: Digest
    value: Digest
    type_name: str
    size_bytes: int
    shape: str | None = None
    preview: str = ""
    group: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    recipe: bool = False
    trusted: bool = True


Manifest: TypeAlias = Mapping[str, Variable]


def size_of_all(variables: Iterable[Variable]) -> int:
    """Bytes of variables; those that share a blob are counted once."""
    return sum({variable.blob: variable.size_bytes for variable in variables}.values())


_NONE: Mapping[str, str] = {}


class Refusal(NamedTuple):
    """A variable that could not be kept: where inside it, and why."""

    variable: str
    path: str
    type_name: str
    reason: str

    def __str__(self) -> str:
        where = "" if self.path == self.variable else f" at {self.path}"
        return f"{self.variable}: {self.type_name}{where} {self.reason}"


class Key(NamedTuple):
    """Everything that a step depends on; two runs with equal keys do the same.

    Attributes
    ----------
    code
        Digest of the parsed code, without comments and spacing.
    inputs
        Name of each variable that the code reads → digest of its value.
    functions
        Qualified name of each of the user's functions and classes that are reached → digest of
        its code; modules of the user's own by file.
    files
        Path of each file named in ``--deps`` → digest of its bytes.
    options
        Options that select the variables that are kept: name → value.
    shares
        Inputs that share an object with each other, each group as `a, b`.
    """

    code: Digest
    inputs: Mapping[str, Digest] = _NONE
    functions: Mapping[str, Digest] = _NONE
    files: Mapping[str, Digest] = _NONE
    options: Mapping[str, str] = _NONE
    shares: tuple[str, ...] = ()

    @property
    def digest(self) -> Digest:
        """The one digest that stands for the whole key."""
        return digest_of_json(self._asdict())


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An immutable record of one moment of a namespace.

    Attributes
    ----------
    id
        Unique across sessions; random, so that a few of its characters tell it from others.
    parent
        The checkpoint that this one changes; None for the first.
    changed
        Variables that are new or different from the parent's manifest.
    removed
        Names of the parent's manifest that are gone.
    bound
        Names that the cell itself bound, changed or deleted: what a restored cell brings back.
    in_place
        Of these, the ones whose object was there before and was changed where it stood.
    refused
        What could not be kept.
    lacking
        Of what could not be kept, each variable that the cell bound or read, or that holds what the
        cell changed → digest of its value after the cell, as a key has it.
    omitted
        Names that were there and, by ``--vars`` or ``--exclude``, were not asked for.
    outputs
        Blob of what the cell printed and showed; None when it showed nothing.
    passive
        Names that shared an object with what the cell names, and that it neither reads nor names:
        those of `in_place`, and those that it left as they were → digests of the value before: as
        it was kept, as a key has it, and together with what the cell reads of its group; the last
        is empty where nobody can tell.
    preconditions
        Of names that the cell binds on some condition, those that it left as they were → the
        digest of the value, `ABSENT` if there was none. Whether it bound them is not known.
    unrepeatable
        Why the cell cannot be restored, whatever it reads: a sentence each.
    outside
        What the cell changed in modules of the user's, as code: no checkpoint brings that back.
    random_in
        Name of each random generator that the cell drew from → digest of its state before, or
        nothing if it had not been seeded.
    seeded
        Random generators that had been seeded by the end of the cell.
    observed
        Of each facet of observation that saw something while the cell ran: inputs and effects that
        its text does not show. It is restored only where they still hold.
    standing
        Of each facet: what a move to this checkpoint has to set, process state above all.
    progress
        Of a partial checkpoint: which loop of the step, items of it that are done, and of how
        many (-1: unknown).
    finished
        Of a partial checkpoint: blobs that hold the digests of that loop's finished items, 16
        bytes each.
    failures
        Items that the step's `map` collected as failed: it runs again for these.
    error
        Of a failed checkpoint: the type and message.
    inherited
        Of a checkpoint here and there: id of each ancestor that last changed variables which this
        one holds unchanged → their names. So readers need not go back to the first.
    carried
        Of a checkpoint whose ancestors were pruned: the variables that it holds and they changed.
    joined
        Cells that ran since the parent and were not kept by themselves, oldest first.
    made_by
        ``fork`` or ``update`` where no code ran but values were given; its name is that of the step
        that they stand for.
    began_as
        Digest of what was kept of all variables when the step began, where nothing else decides
        the digests of its key; else empty.
    trusted
        Whether its record is: see `is_trusted`.
    """

    id: str
    parent: str | None
    name: str
    branch: str
    session: str
    notebook: str
    created_at: float
    duration_s: float
    cell: Cell
    state: State = "done"
    key: Key | None = None
    changed: Mapping[str, Variable] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()
    in_place: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    lacking: Mapping[str, Digest] = field(default_factory=dict)
    omitted: tuple[str, ...] = ()
    outputs: Digest | None = None
    passive: Mapping[str, tuple[Digest, Digest, Digest]] = field(default_factory=dict)
    preconditions: Mapping[str, Digest] = field(default_factory=dict)
    unrepeatable: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    random_in: Mapping[str, Digest] = field(default_factory=dict)
    seeded: tuple[str, ...] = ()
    observed: Mapping[str, Json] = field(default_factory=dict)
    standing: Mapping[str, Json] = field(default_factory=dict)
    progress: tuple[int, int, int] | None = None
    finished: tuple[Digest, ...] = ()
    failures: int = 0
    error: str | None = None
    tags: tuple[str, ...] = ()
    note: str = ""
    inherited: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    carried: Mapping[str, Variable] = field(default_factory=dict)
    joined: tuple[Cell, ...] = ()
    made_by: str = ""
    began_as: str = ""
    trusted: bool = True
