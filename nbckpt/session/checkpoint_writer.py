"""The checkpoints of a session as they are made: a look, a draft, its records, a wait."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nbckpt.digests import Digest, Json
from nbckpt.errors import StoreError
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Cell, Checkpoint, Manifest, Record, State, Variable
from nbckpt.runtime import clock, telemetry
from nbckpt.runtime.gc_pause import switched_off
from nbckpt.runtime.interrupts import wait_for, whole
from nbckpt.runtime.snapshot_dict import Difference
from nbckpt.text.secret_texts import redacted_json
from nbckpt.timeline import events
from nbckpt.timeline.checkpoint_records import MICROSECONDS, checkpoint_record
from nbckpt.timeline.records import event_record

if TYPE_CHECKING:
    from nbckpt.capture.capture import Captured
    from nbckpt.capture.selection import Selection
    from nbckpt.config.settings import Settings
    from nbckpt.session.branch_position import BranchPosition
    from nbckpt.session.history_follower import HistoryFollower
    from nbckpt.session.pending_writes import PendingWrites
    from nbckpt.session.workspace.workspace import Workspace
    from nbckpt.storage.store import Store
    from nbckpt.timeline.timeline import Timeline


_ENCODED = json.JSONEncoder().encode
"""Held from the beginning: a notebook may put another function in the place of `json.dumps`."""


class _Look(NamedTuple):
    """State when a look began: the clock, and the bytes that had been put by then."""

    since: float
    added_bytes: int


class JoinedCells(Protocol):
    """Cells that ran and are not kept yet."""

    @property
    def cells(self) -> list[Cell]:
        """The cells, oldest first."""

    def kept(self, checkpoint: Checkpoint, written: Future[None]) -> None:
        """Take note of a finished checkpoint."""


class WritingSession(Protocol):
    """The parts of a session from which its checkpoints are made."""

    id: str
    notebook: str
    store: Store
    timeline: Timeline
    writes: PendingWrites
    position: BranchPosition
    follower: HistoryFollower

    @property
    def workspace(self) -> Workspace:
        """The namespace, and what may have changed in it."""

    @property
    def settings(self) -> Settings:
        """The settings that hold for it."""

    @property
    def pending_cells(self) -> JoinedCells:
        """The cells that its next checkpoint joins."""

    def emit(self, what: str) -> None:
        """Let who listens know that something happened."""


class CheckpointWriter(Own):
    """Makes the checkpoints of one session."""

    def __init__(self, session: WritingSession) -> None:
        self._session = session
        self._difference: Difference[str, Variable] = Difference()
        self._look: _Look | None = None  # when the look began that a checkpoint is made of
        self._refusal: StoreError | None = None  # of a checkpoint that was waited for

    @property
    def is_looking(self) -> bool:
        """True while a checkpoint is being made of a look."""
        return self._look is not None

    @contextmanager
    def holding(self, name: str = "") -> Iterator[None]:
        """Keep every prune away from what stands between a look and its record.

        What a draft relies on, its parent and the blobs that were there already, must not go
        before the record is written. No code of the user's may run meanwhile.

        Parameters
        ----------
        name
            Of the checkpoint that is being made, for what is told if the disk refuses.
        """
        session, store = self._session, self._session.store
        with store.turn.taken(), store.writing():
            session.follower.take_in_prune()
            outer = self._look
            self._look = outer or _Look(time.perf_counter(), store.added_bytes)
            try:
                yield
            except StoreError as problem:
                if problem is not self._refusal:  # else the write itself has told
                    what = f"checkpoint {name!r}" if name else "a checkpoint"
                    session.writes.owe_event("not_kept", name=name, what=what, error=str(problem))
                raise
            finally:
                self._look = outer

    def base(self) -> Manifest:
        """The manifest of where the session stands; empty in a new process."""
        position, timeline = self._session.position, self._session.timeline
        return timeline.manifest(position.id) if position.id else {}

    def capture(self, selection: Selection) -> Captured:
        """Look at what may have changed, and put what of it is selected into the store."""
        return self._session.workspace.capturer.capture(selection, base=self.base())

    def put_outputs(self, outputs: Sequence[Json]) -> Digest:
        """Put a cell's outputs into the store, beside its variables, and return their digest.

        Secrets in their texts are stars.
        """
        session, text = self._session, _ENCODED(redacted_json(outputs)).encode()
        return session.store.put_blob([text], within=session.settings.max_store_size)

    def keep(
        self,
        name: str,
        selection: Selection,
        *,
        tags: tuple[str, ...] = (),
        note: str = "",
        sync: bool = False,
    ) -> Checkpoint:
        """A checkpoint of what is there now, which no cell made."""
        began = clock.now()
        with self.holding(name):
            captured = self.capture(selection)
            draft = self.draft(name, captured, cell=Cell(""), duration_s=clock.now() - began)
            bound = tuple(sorted(captured.changed))
            draft = replace(draft, tags=tags, note=note, bound=bound)
            self.commit(draft, sync=sync)
        return draft

    def draft(
        self,
        name: str,
        captured: Captured,
        *,
        cell: Cell,
        duration_s: float,
        state: State = "done",
        **members: Any,
    ) -> Checkpoint:
        """A checkpoint of what was captured, as a change of where the namespace was.

        Parameters
        ----------
        members
            Others of the checkpoint's, by their names.
        """
        session, workspace = self._session, self._session.workspace
        session.follower.choose_branch()
        position, base = session.position, self.base()
        now, differing = captured.manifest, self._difference.of(base, captured.manifest)
        changed = {n: now[n] for n in sorted(differing) if n in now}
        is_whole = state == "done" and not captured.omitted
        lost, left_out = workspace.unkept.absent(workspace.tracker.present())
        return Checkpoint(
            id=new_id(),
            parent=position.id,
            name=name,
            branch=position.branch,
            session=session.id,
            notebook=session.notebook,
            created_at=clock.now(),
            duration_s=round(duration_s, MICROSECONDS),
            cell=cell,
            state=state,
            changed=changed,
            removed=tuple(sorted(n for n in differing if n not in now)),
            refused=(*captured.refused, *lost),
            omitted=(*captured.omitted, *sorted(left_out)),
            seeded=tuple(sorted(workspace.seeded)),
            standing=workspace.observer.standing(),
            inherited=session.timeline.inherited(position.id),
            joined=tuple(session.pending_cells.cells) if is_whole else (),
            **members,
        )

    @whole
    def commit(self, checkpoint: Checkpoint, *, sync: bool = False, patience_s: float = -1) -> None:
        """Write a checkpoint, and move the branch to it if it is done.

        Returns when it is durable or, unless `sync`, after the settings' patience.

        Raises
        ------
        StoreError
            If the disk refuses: the checkpoint counts as failed, until the disk takes it with a
            later one.
        """
        session, position = self._session, self._session.position
        is_done = checkpoint.state == "done"
        with switched_off():
            written = self._record(checkpoint, is_done)
        if is_done:
            position.id, position.is_exact = checkpoint.id, True
            session.pending_cells.kept(checkpoint, written)
        patience = session.settings.patience_s if patience_s < 0 else patience_s
        try:
            _await(written, None if sync else patience)
        except StoreError as refusal:
            self._refusal = refusal
            session.writes.settle(raised=checkpoint.id)
            raise
        session.writes.settle()
        session.emit("progress" if checkpoint.state == "partial" else "checkpoint")

    def _record(self, checkpoint: Checkpoint, is_done: bool) -> Future[None]:
        """Give the records of a checkpoint to the writer, and take them into the history."""
        session, writes = self._session, self._session.writes
        records = [checkpoint_record(checkpoint)]
        if is_done:
            records.append(session.position.head_record(checkpoint))
        event = self._event_of(checkpoint)
        written = writes.append([*records, event] if event else records)
        writes.follow(checkpoint, written)
        if event:
            written.add_done_callback(partial(_told, event, telemetry.context()))
        for record in records:
            session.timeline.apply(record, checkpoint if record is records[0] else None)
        session.workspace.live_objects.captured(checkpoint)
        return written

    def _event_of(self, checkpoint: Checkpoint) -> Record | None:
        """Journal event for a checkpoint that was made; None for a failure, which has another."""
        if checkpoint.state == "failed":
            return None
        session, look = self._session, self._look
        parent = session.timeline.checkpoints.get(checkpoint.parent or "")
        known = {refusal.variable for refusal in parent.refused} if parent else set()
        left_out = sorted({refusal.variable for refusal in checkpoint.refused} - known)
        members = {
            "checkpoint": checkpoint.id,
            "name": checkpoint.name,
            "took_s": time.perf_counter() - look.since if look else 0.0,
            "size_bytes": session.store.added_bytes - look.added_bytes if look else 0,
            "left_out": left_out or None,
            "outcome": "partial" if left_out else None,
        }
        kind = "kept" if checkpoint.state == "done" else "progress"
        return event_record(kind, session.id, members)


def new_id() -> str:
    """A new checkpoint's id: random, so that its first characters tell it from all others."""
    return os.urandom(10).hex()


def _told(event: Record, context: object, written: Future[None]) -> None:
    """Tell of a checkpoint that is durable."""
    if written.exception() is None:
        events.tell(event, context)


def _await(written: Future[None], timeout_s: float | None) -> None:
    """Have the user wait for the disk, as long as no interrupt waits: the record is on its way."""
    if wait_for(written, timeout_s):
        written.result()
