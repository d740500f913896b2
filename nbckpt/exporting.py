"""Export: one checkpoint, with all that belongs to it, becomes a store of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt.digests import Digest
from nbckpt.errors import FormatError, NbckptError, StoreError, UntrustedError, UsageError
from nbckpt.exported import Exported
from nbckpt.interrupts import result_of
from nbckpt.locked import CODE, why_not_plain
from nbckpt.model import Checkpoint, Record, Refusal, Variable, checkpoint_record, is_trusted
from nbckpt.randomness import NAMES as RANDOM
from nbckpt.records import head_record
from nbckpt.spending import book_of, replays_in
from nbckpt.standing import MAIN, Standing

if TYPE_CHECKING:
    from nbckpt.session import Session
    from nbckpt.storage.store import Store

MODULE = "is imported, which runs its code: whoever needs it imports it"
FOREIGN = "is not trusted: somebody else wrote it"
_TABLES = ("DataFrame", "Table")


def export(
    session: Session,
    ref: str,
    out: Path,
    *,
    portable: bool = False,
    encryption: str | None = None,
) -> Exported:
    """A new store at `out` with the checkpoint `ref`, its outputs and the calls of its step.

    Parameters
    ----------
    portable
        Only variables that can be restored without trust, so that the receiver need not trust
        the store; the others are named.
    encryption
        Where the key is that the new store is encrypted with, as in the setting `encryption`, or
        ``off``; by default as the setting says.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names none.
    UsageError
        If it failed, or is of a loop that did not finish.
    UntrustedError
        If somebody else made it: under this user's name it would be trusted.
    StoreError
        If `out` is taken, or the disk refuses: nothing is at `out` then.
    NotFoundError, FormatError
        If bytes of it are missing or damaged.
    """
    from nbckpt.storage.beside import new_store, refuse_taken

    out = Path(out).absolute()
    refuse_taken(out)
    checkpoint = session.get(ref)
    if not checkpoint.trusted:
        message = (
            f"{checkpoint.name!r} was not made by you, and would look as if it were: look at it,"
            f" then `nbckpt trust {session.store.path}`, then export it"
        )
        raise UntrustedError(message)
    if checkpoint.state != "done":
        message = f"{checkpoint.name!r} did not end well: export one that did, or its parent"
        raise UsageError(message)
    chosen = _Choice(session, checkpoint, portable=portable)
    with new_store(out, encryption) as store:
        is_encrypted = store.cipher is not None
        writer = _Writing(session.store, store)
        for digest in chosen.blobs():
            writer.copy(digest)
        records = chosen.records()
        for record in records:
            if isinstance(blob := record.get("blob"), str):
                writer.copy(blob, of=record)
        made = chosen.checkpoint()
        target = Standing(store, made.notebook, made.branch)
        result_of(target.append([*records, checkpoint_record(made), _head(made)]))
        target.refresh()
        tables = _tables(target, made.id)
    kinds = [record["kind"] for record in records]
    return Exported(
        path=out,
        checkpoint=made,
        variables=tuple(n for n in sorted(chosen.kept) if n not in RANDOM),
        left=tuple(chosen.left),
        recordings=kinds.count("recording"),
        calls=kinds.count("step"),
        tables=tables,
        left_records=chosen.left_records,
        size_bytes=writer.size_bytes,
        portable=portable,
        encrypted=is_encrypted,
    )


class _Choice:
    """What of a checkpoint goes out.

    Attributes
    ----------
    kept
        The variables, by name.
    left
        Those that do not, each with its reason.
    left_records
        How many calls of its step do not.
    """

    def __init__(self, session: Session, checkpoint: Checkpoint, *, portable: bool) -> None:
        self._session = session
        self._checkpoint = checkpoint
        self._portable = portable
        self._reasons: dict[Digest, str | None] = {}
        self.left_records = 0
        self.kept: dict[str, Variable] = {}
        self.left: list[Refusal] = []
        for name, variable in session.timeline.manifest(checkpoint.id).items():
            if (reason := self._reason(variable)) is None:
                self.kept[name] = variable
            elif name not in RANDOM:
                reason = MODULE if variable.type_name == "module" else reason
                self.left.append(Refusal(name, name, variable.type_name, reason))
        self._leave_torn_groups()
        self.left.sort()

    def blobs(self) -> list[Digest]:
        """Of the variables, and the outputs."""
        outputs = self._checkpoint.outputs
        found = [variable.blob for variable in self.kept.values()]
        found += [outputs] if outputs else []
        return list(dict.fromkeys(found))

    def records(self) -> list[Record]:
        """The model calls of its step, those that were replayed too, and its kept calls."""
        store, timeline = self._session.store, self._session.timeline
        book, own = book_of(store, timeline), self._checkpoint.id
        calls = [*book.calls_of(own), *replays_in(store, book, own)]
        known = {record["id"]: record for record in calls}  # what was replayed may be its own
        found = [*known.values(), *(r for r in book.steps_of(own) if self._can_go(r))]
        trusted = [record for record in found if is_trusted(record)]
        self.left_records += len(found) - len(trusted)
        return trusted

    def checkpoint(self) -> Checkpoint:
        """It, as the first of its line: the cells before it are told as joined to it."""
        old = self._checkpoint
        line = self._session.timeline.ancestry(old.id)
        before = [c for one in reversed(line[1:]) for c in (*one.joined, one.cell) if c.source]
        carried = {n: v for n, v in self.kept.items() if n not in old.changed}
        changed = {n: v for n, v in old.changed.items() if n in self.kept}
        gone = {refusal.variable for refusal in self.left}
        return replace(
            old,
            # So that whoever opens it is there, whatever their notebook's name is.
            branch=MAIN,
            notebook="",
            parent=None,
            changed=changed,
            carried=carried,
            inherited={},
            removed=(),
            joined=(*before, *old.joined),
            refused=(*old.refused, *(r for r in self.left if r.reason != MODULE)),
            omitted=(*old.omitted, *(r.variable for r in self.left if r.reason == MODULE)),
            # A run that found it by its key would lack what was left out.
            key=None if gone else old.key,
            bound=tuple(name for name in old.bound if name not in gone),
            in_place=tuple(name for name in old.in_place if name not in gone),
        )

    def _leave_torn_groups(self) -> None:
        """Variables of one blob go together, and with the definitions that they refer to."""
        while torn := [v for v in self.kept.values() if self._missing(v)]:
            for variable in torn:
                reason = f"belongs together with {self._missing(variable)!r}, which is left out"
                refusal = Refusal(variable.name, variable.name, variable.type_name, reason)
                self.left.append(refusal)
                del self.kept[variable.name]

    def _missing(self, variable: Variable) -> str | None:
        return next((n for n in variable.needs if n not in self.kept), None)

    def _can_go(self, record: Record) -> bool:
        digest = record.get("blob")
        if not self._portable or not isinstance(digest, str):
            return True
        try:
            can = self._reason_of(digest) is None
        except FormatError:  # no variables, so nobody restores it without trust
            can = False
        self.left_records += not can
        return can

    def _reason(self, variable: Variable) -> str | None:
        """Why a variable does not go out; None if it does."""
        if not variable.trusted:
            return FOREIGN
        if not self._portable:
            return None
        return CODE if variable.recipe else self._reason_of(variable.blob)

    def _reason_of(self, digest: Digest) -> str | None:
        """Why a value cannot be restored without trust; None if it can."""
        if digest not in self._reasons:
            why = why_not_plain(self._session.store, digest)
            self._reasons[digest] = why and f"needs trust: {why}"
        return self._reasons[digest]


class _Writing:
    """Copies blobs from one store to another, each once."""

    def __init__(self, source: Store, target: Store) -> None:
        self.size_bytes = 0
        self._source = source
        self._target = target
        self._done: set[Digest] = set()

    def copy(self, digest: Digest, *, of: Record | None = None) -> None:
        """Have the target hold a blob of the source."""
        if digest in self._done:
            return
        self._done.add(digest)
        parts: list[Any] = list(self._source.get_blob(digest, of=of))
        self.size_bytes += sum(part.nbytes for part in parts)
        if parts:  # streams are cut by their content, and are known by being `bytes`
            stream = [bytes(parts[0]), *parts[1:]]
            if self._target.put_blob(stream) == digest or self._target.put_blob(parts) == digest:
                return
        message = f"blob {digest[:12]}… cannot be written as it was: nothing was exported"
        raise FormatError(message)


def _head(checkpoint: Checkpoint) -> Record:
    return head_record(
        checkpoint.branch, checkpoint, None, notebook=checkpoint.notebook, at=checkpoint.created_at
    )


def _tables(target: Standing, checkpoint_id: str) -> tuple[str, ...]:
    """The variables of which Parquet could be made, in the new store."""
    manifest: Mapping[str, Variable] = target.timeline.manifest(checkpoint_id)
    made = []
    for name in _may_be_tables(manifest.values()):
        try:
            record = target.tables.record(manifest[name], manifest)
        except NbckptError:  # no table, or not to be built here: its bytes are there all the same
            continue
        if (file := record.get("file")) is None:
            continue
        if Path(file).is_absolute():  # aside, where it would help this process alone
            message = f"the table of {name!r} cannot be written: make room, then export again"
            raise StoreError(message)
        made.append(name)
    return tuple(sorted(made))


def _may_be_tables(variables: Iterable[Variable]) -> list[str]:
    return [v.name for v in variables if v.type_name.rpartition(".")[2] in _TABLES]
