"""Checkpoints as `nbckpt.history()` and `nbckpt.get()` give them, with values loaded on access."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping

from nbckpt.capture.selection import missing
from nbckpt.capture.trust_gate import require_trusted_value
from nbckpt.codecs.loading import Loading, decode
from nbckpt.errors import UsageError, VariableNotFoundError
from nbckpt.fingerprint.random_generators import NAMES
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Cell, Checkpoint, Manifest, Refusal, Variable
from nbckpt.session.session import Session
from nbckpt.storage.store import Store
from nbckpt.timeline.following import next_names


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


class Look(Own):
    """A checkpoint, read-only; its values are loaded when they are asked for.

    Attributes
    ----------
    id, name, branch, notebook, duration_s, tags, note, state
        As recorded; tags and note as they were when this was looked up.
    parent
        id of the checkpoint before; None for the first.
    """

    def __init__(self, session: Session, checkpoint: Checkpoint) -> None:
        self._session = session
        self._checkpoint = checkpoint
        self.id = checkpoint.id
        self.name = checkpoint.name
        self.parent = checkpoint.parent
        self.branch = checkpoint.branch
        self.notebook = checkpoint.notebook
        self.duration_s = checkpoint.duration_s
        self.state = checkpoint.state
        self.tags = checkpoint.tags
        self.note = checkpoint.note

    def __repr__(self) -> str:
        return f"<checkpoint {self.name!r} {self.id[:8]} on {self.branch!r}>"

    @property
    def cell(self) -> Cell:
        """The source that ran, and where."""
        return self._checkpoint.cell

    @property
    def created_at(self) -> dt.datetime:
        """When it was made, in local time, with its time zone."""
        return dt.datetime.fromtimestamp(self._checkpoint.created_at).astimezone()

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name → type, shape, size and preview of every variable that it holds."""
        manifest = self._session.timeline.manifest(self.id)
        return {name: v for name, v in manifest.items() if name not in NAMES}

    @property
    def changed(self) -> tuple[str, ...]:
        """Names that are new or different from the parent's."""
        return tuple(n for n in self._checkpoint.changed if n not in NAMES)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """Variables that could not be kept, with reasons."""
        return self._checkpoint.refused

    @property
    def heads(self) -> tuple[str, ...]:
        """The branches whose newest checkpoint this is."""
        branches = self._session.timeline.branches.items()
        return tuple(branch for branch, head in branches if head == self.id)

    @property
    def next(self) -> tuple[str, ...]:
        """Names of the recorded steps that follow."""
        return next_names(self._session.timeline, self.id)

    @property
    def values(self) -> Mapping[str, object]:
        """Name → value; each is loaded at its first use, none touches the notebook's."""
        return Values(self._session.store, self._session.timeline.manifest(self.id), self.id[:8])

    @property
    def metadata(self) -> dict[str, object]:
        """All other facts: session, error, progress, tags, note, and the way it was made.

        ``made_by`` is ``"fork"`` or ``"update"`` where values were given by hand; ``joined`` are
        the cells before it that are kept with it.
        """
        c = self._checkpoint
        return {
            "session": c.session,
            "notebook": c.notebook,
            "state": c.state,
            "error": c.error,
            "progress": c.progress,
            "tags": c.tags,
            "note": c.note,
            "omitted": c.omitted,
            "made_by": c.made_by,
            "joined": c.joined,
        }


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
