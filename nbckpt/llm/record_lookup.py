"""The records of one kind that answer a step when it runs again, found by their places."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from nbckpt.digests import Digest
from nbckpt.llm.occurrence import KnownOccurrences, Occurrence, occurrence_of
from nbckpt.llm.recordings_index import Asking, Index, newest
from nbckpt.llm.step_scope import Scope
from nbckpt.model import Record
from nbckpt.runtime import clock

if TYPE_CHECKING:
    from nbckpt.session.session import Session


class RecordLookup:
    """The records of a kind in a session's store, by step, request and number.

    Parameters
    ----------
    kind
        Of records that begin with what places them, as recordings do.
    """

    def __init__(self, session: Session, kind: str) -> None:
        self._session = session
        self._kind = kind
        self._index = Index()
        self._taken = 0
        self._generation = session.store.generation
        self._lock = threading.Lock()

    def append(self, record: Record, *, durable: bool = True) -> Future[None]:
        """Append a new record to the session's journal, and find it from now on."""
        with self._lock:
            written = self._session.writes.append([record], durable=durable)
            self._index.take([record])
        return written

    def place(self, within: Scope, request: Digest) -> Occurrence:
        """The place of a request that begins now among its equals, in its step and its item."""
        if not within.has_items:
            return Occurrence(within.reserve(request))
        return occurrence_of(
            request, within, within.around or within, self._known(within.step, request)
        )

    def _known(self, step: str, request: Digest) -> KnownOccurrences:
        """The recorded calls of a step's items that are equal to a request."""
        with self._lock:
            self._look()
            return self._index.of_items(step).of(request)

    def find(self, asking: Asking, ttl_s: float | None = None) -> Record | None:
        """The record that answers: of the line that the session is on, else the newest."""
        found = self.made(asking)
        if ttl_s is not None:
            oldest = clock.now() - ttl_s
            found = [record for record in found if record["created_at"] >= oldest]
        if len(found) < 2:
            return found[0] if found else None
        timeline, here = self._session.timeline, self._session.position.id
        line = {None, *timeline.line(here)}
        return newest([r for r in found if r["position"] in line] or found)

    def made(self, asking: Asking) -> Sequence[Record]:
        """The records of one place, of any age."""
        with self._lock:
            self._look()
            return self._index.find(asking)

    def of_request(self, request: Digest) -> Sequence[Record]:
        """The records of equal requests of all steps."""
        with self._lock:
            self._look()
            return self._index.of_request(request)

    def of_equals(self, step: str, request: Digest) -> Sequence[Record]:
        """The records of equal requests of one step."""
        with self._lock:
            self._look()
            return self._index.of_equals(step, request)

    def of_step(self, step: str) -> Sequence[Record]:
        """The records of a step that were known at the last look, newest first."""
        with self._lock:
            return self._index.of_step(step)

    def latest(self, step: str, most: int) -> Sequence[Record]:
        """The latest records of steps whose names begin with one."""
        with self._lock:
            return self._index.latest(step, most)

    def is_strange(self, asking: Asking) -> bool:
        """True if there is a record that cannot be given, because it is not trusted."""
        with self._lock:
            return self._index.is_strange(asking)

    def _look(self) -> None:
        """Take in what the session has seen of others' records."""
        store = self._session.store
        if store.generation != self._generation:
            # What a prune took is not to be found again.
            self._generation, self._taken, self._index = store.generation, 0, Index()
        records = store.records(self._kind)
        if self._taken < len(records):
            self._index.take(records[self._taken :])
            self._taken = len(records)
