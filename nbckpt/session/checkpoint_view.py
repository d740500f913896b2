"""Checkpoints as `nbckpt.history()` and `nbckpt.get()` give them, with values loaded on access."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nbckpt.capture.selection import missing
from nbckpt.capture.trust_gate import require_trusted_value
from nbckpt.codecs.loading import Loading, decode
from nbckpt.codecs.stored_names import stored
from nbckpt.digests import Json
from nbckpt.errors import CheckpointNotFoundError, UsageError, VariableNotFoundError
from nbckpt.fingerprint.random_generators import NAMES
from nbckpt.model import Cell, Checkpoint, Manifest, Refusal, Variable
from nbckpt.session.checkpoint_facts import VALUE, as_answer, fact_of, value_answer
from nbckpt.session.session import Session
from nbckpt.storage.store import Store


def ref_of(ref: object) -> str:
    """The reference that somebody gave: as text, or a look at the checkpoint itself."""
    if isinstance(ref, str):
        return ref
    if isinstance(ref, Look):
        return ref.id
    message = (
        f"{ref!r} is no checkpoint: give its name or the beginning of its id as text, a branch, "
        "a tag, '~2' or '-'"
    )
    raise UsageError(message)


class Look:
    """A checkpoint, read-only; its values are loaded when they are asked for.

    Parameters
    ----------
    reference
        With which code of the notebook asked for it; by default its id.

    Notes
    -----
    What it tells is an input of the cell that asked for it. Kept as a variable it is the name of
    its checkpoint, with the tags and the note that it had.
    """

    def __init__(
        self, session: Session, checkpoint: Checkpoint, reference: str | None = None
    ) -> None:
        self._session = session
        self._checkpoint = checkpoint
        reads = session.workspace.checkpoint_reads
        self._given = reads.give(self, reference or checkpoint.id, checkpoint.id)

    def __reduce__(self) -> tuple[object, ...]:
        c = self._checkpoint
        return stored("look"), (c.id, *((c.tags, c.note) if c.tags or c.note else ()))

    def __repr__(self) -> str:
        return f"<checkpoint {self.name!r} {self.id[:8]} on {self.branch!r}>"

    def _fact(self, question: str) -> Any:
        fact = fact_of(self._session.timeline, self._checkpoint, question)
        self._told(question, as_answer(fact))
        return fact

    def _told(self, question: str, answer: Json) -> None:
        self._session.workspace.checkpoint_reads.read(self._given, question, answer)

    @property
    def id(self) -> str:
        """Its name among all checkpoints, hex digits."""
        return str(self._fact("id"))

    @property
    def name(self) -> str:
        """As given above the cell, or made of it."""
        return str(self._fact("name"))

    @property
    def parent(self) -> str | None:
        """Id of the checkpoint before; None for the first."""
        parent: str | None = self._fact("parent")
        return parent

    @property
    def branch(self) -> str:
        """On which it was made."""
        return str(self._fact("branch"))

    @property
    def notebook(self) -> str:
        """Name of the notebook that made it; empty if unknown."""
        return str(self._fact("notebook"))

    @property
    def duration_s(self) -> float:
        """Seconds that its cell took."""
        return float(self._fact("duration_s"))

    @property
    def state(self) -> str:
        """``done``, ``failed`` or ``partial``."""
        return str(self._fact("state"))

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags as it was looked up."""
        return tuple(self._fact("tags"))

    @property
    def note(self) -> str:
        """Its note as it was looked up."""
        return str(self._fact("note"))

    @property
    def cell(self) -> Cell:
        """The source that ran, and where."""
        cell: Cell = self._fact("cell")
        return cell

    @property
    def created_at(self) -> dt.datetime:
        """When it was made, in local time, with its time zone."""
        return dt.datetime.fromtimestamp(self._fact("created_at")).astimezone()

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name → type, shape, size and preview of every variable that it holds."""
        variables: Mapping[str, Variable] = self._fact("variables")
        return variables

    @property
    def changed(self) -> tuple[str, ...]:
        """Names that are new or different from the parent's."""
        return tuple(self._fact("changed"))

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """Variables that could not be kept, with reasons."""
        return tuple(self._fact("refused"))

    @property
    def heads(self) -> tuple[str, ...]:
        """The branches whose newest checkpoint this is."""
        return tuple(self._fact("heads"))

    @property
    def next(self) -> tuple[str, ...]:
        """Names of the recorded steps that follow."""
        return tuple(self._fact("next"))

    @property
    def values(self) -> Mapping[str, object]:
        """Name → value; each is loaded at its first use, none touches the notebook's."""
        checkpoint_id = self._checkpoint.id
        manifest = self._session.timeline.manifest(checkpoint_id)
        values = _LookValues(self._session.store, manifest, checkpoint_id[:8])
        values.checkpoint_id, values.told = checkpoint_id, self._told
        self._session.workspace.checkpoint_reads.give(values, self._given.reference, checkpoint_id)
        return values

    @property
    def metadata(self) -> dict[str, object]:
        """All other facts: session, error, progress, tags, note, and the way it was made.

        ``made_by`` is ``"fork"`` or ``"update"`` where values were given by hand; ``joined`` are
        the cells before it that are kept with it.
        """
        return dict(self._fact("metadata"))


class PrunedLook:
    """What a variable held of a checkpoint that is there no more: it says so when it is asked."""

    def __init__(self, arguments: tuple[object, ...]) -> None:
        self._arguments = arguments

    def __reduce__(self) -> tuple[object, ...]:
        return stored("look"), self._arguments

    def __repr__(self) -> str:
        return f"<checkpoint {str(self._arguments[0])[:8]}, which was pruned>"

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        message = f"checkpoint {str(self._arguments[0])[:8]!r} is there no more: it was pruned"
        raise CheckpointNotFoundError(message)


class _Globals(dict[str, object]):
    """The globals of functions that are looked at: the other values of their checkpoint."""

    def __init__(self, values: Values) -> None:
        super().__init__(__builtins__=__builtins__, __name__="__main__")
        self._values = values

    def __missing__(self, name: str) -> object:
        return self._values[name]


class Values(Mapping[str, object]):
    """Name → value of a manifest, each loaded from `store` at its first use.

    Parameters
    ----------
    name
        What errors call the checkpoint.
    """

    def __init__(self, store: Store, manifest: Manifest, name: str) -> None:
        self._store = store
        self._manifest = {n: v for n, v in manifest.items() if n not in NAMES}
        self._name = name
        self._loaded: dict[str, object] = {}

    def __getitem__(self, name: str) -> object:
        if name not in self._manifest:
            message = f"{missing(name, self._manifest)} at checkpoint {self._name!r}"
            raise VariableNotFoundError(message)
        if name not in self._loaded:
            variable = self._manifest[name]
            require_trusted_value(variable, self._name)
            parts = self._store.get_blob(variable.blob)
            loading = Loading(_Globals(self), self.__getitem__)
            self._loaded |= decode(parts, loading, trusted=variable.trusted)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._manifest  # without a value that is built

    def __iter__(self) -> Iterator[str]:
        return iter(self._manifest)

    def __len__(self) -> int:
        return len(self._manifest)

    def __repr__(self) -> str:
        return f"<values of {', '.join(self._manifest)}>"


class _LookValues(Values):
    """The values of a look, which tells what was asked for.

    Attributes
    ----------
    checkpoint_id
        Of the checkpoint.
    told
        Is called with each question and what it was answered with.
    """

    checkpoint_id: str
    told: Callable[[str, Json], None]

    def __getitem__(self, name: str) -> object:
        self.told(f"{VALUE}{name}", value_answer(self._manifest.get(name)))
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.told(f"{VALUE}{name}", value_answer(self._manifest.get(str(name))))
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self.told("names", as_answer(sorted(self._manifest)))
        return super().__iter__()

    def __len__(self) -> int:
        self.told("names", as_answer(sorted(self._manifest)))
        return super().__len__()

    def __reduce__(self) -> tuple[object, ...]:
        return stored("look_values"), (self.checkpoint_id,)
