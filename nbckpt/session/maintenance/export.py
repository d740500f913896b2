"""Export: one checkpoint, with all that belongs to it, becomes a store of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt.capture.trust_gate import require_trusted
from nbckpt.digests import Digest
from nbckpt.errors import FormatError, NbckptError, StoreError, UsageError
from nbckpt.fingerprint.random_generators import NAMES as RANDOM
from nbckpt.model import Checkpoint, Record, Variable
from nbckpt.runtime.interrupts import result_of
from nbckpt.session.maintenance.export_report import Exported
from nbckpt.session.maintenance.export_selection import ExportSelection
from nbckpt.session.query_tables import TableKeeper
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.records import head_record, session_record
from nbckpt.timeline.timeline import Timeline

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store

_TABLES = ("DataFrame", "Table")


def export_store(
    session: Session,
    ref: str,
    out: Path,
    *,
    encryption: str | None = None,
) -> Exported:
    """A new store at `out` with the checkpoint `ref`, its outputs and the calls of its step.

    Parameters
    ----------
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
        If the user neither made nor trusts it: under this user's name it would be trusted.
    StoreError
        If `out` is taken, or the disk refuses: nothing is at `out` then.
    NotFoundError, FormatError
        If bytes of it are missing or damaged.
    """
    from nbckpt.storage.new_folders import new_store

    out = Path(out).absolute()
    checkpoint = checkpoint_to_export(session, ref, out)
    chosen = ExportSelection(session, checkpoint)
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
        begins = session_record(os.urandom(6).hex(), made.notebook)
        result_of(store.append([begins, *records, checkpoint_record(made), _head(made)]))
        tables = _tables(store, made.id)
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
        encrypted=is_encrypted,
    )


def checkpoint_to_export(session: Session, ref: str, out: Path) -> Checkpoint:
    """The checkpoint `ref`, if it can be exported to `out`.

    Raises
    ------
    CheckpointNotFoundError, UsageError, UntrustedError
        If it is not there, did not end well, or is not the user's and not trusted.
    StoreError
        If `out` is taken, or inside of the store.
    """
    from nbckpt.storage.new_folders import refuse_taken

    refuse_taken(out)
    store = Path(session.store.path).resolve()
    if out.resolve().is_relative_to(store):
        message = f"{out} is inside of the store {store}: name a folder that is not"
        raise StoreError(message)
    checkpoint = session.get(ref)
    require_trusted(checkpoint)
    if checkpoint.state != "done":
        message = f"{checkpoint.name!r} did not end well: export one that did, or its parent"
        raise UsageError(message)
    return checkpoint


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


def _tables(store: Store, checkpoint_id: str) -> tuple[str, ...]:
    """The variables of which Parquet could be made, in the new store."""
    timeline, keeper = Timeline(), TableKeeper(store)
    timeline.apply_all(store.refresh())
    manifest: Mapping[str, Variable] = timeline.manifest(checkpoint_id)
    made = []
    for name in _may_be_tables(manifest.values()):
        try:
            record = keeper.record(manifest[name], manifest)
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
