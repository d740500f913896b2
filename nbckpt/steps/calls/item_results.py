"""Results of functions for the items of maps: several in one blob, one record for each blob.

A blob's first part is JSON, for each result ``[item, number of parts]`` or with a third member,
what the function has read beside the item; the parts of the results follow.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.digests import Digest, Json
from nbckpt.errors import NbckptError
from nbckpt.fingerprint.keys.difference import difference
from nbckpt.model import Key, Record, is_trusted
from nbckpt.runtime import clock
from nbckpt.steps.calls.code import Code
from nbckpt.steps.calls.results import decoded, encoded

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from nbckpt.session.session import Session

KIND = "items"


class Place(NamedTuple):
    """Whose results they are.

    Attributes
    ----------
    step
        Name of the step that maps.
    function
        Name of the function.
    code
        What the function does.
    """

    step: str
    function: str
    code: Code


class Result(NamedTuple):
    """A result as it is kept.

    Attributes
    ----------
    parts
        Of a blob.
    read
        What the function has read beside the item, as `call_inputs` has it.
    """

    parts: Sequence[memoryview]
    read: Mapping[str, Json]


class Kept:
    """The results that a store has for a function's items in a step.

    Attributes
    ----------
    lost
        Why some do not come back, as far as they have been asked for.
    """

    def __init__(self, session: Session, place: Place) -> None:
        self._session = session
        self._place = place
        self._records = [r for r in session.store.records(KIND) if self._is_of_step(r)]
        self._results: dict[str, Result] | None = None
        self.lost: list[str] = []

    def _is_of_step(self, record: Record) -> bool:
        return is_trusted(record) and bool(
            record["step"] == self._place.step and record["function"] == self._place.function
        )

    @property
    def knows_code(self) -> bool:
        """True if some record says what the code was made of."""
        return any(self._is_same(r) and "reads" in r for r in self._records)

    def _is_same(self, record: Record) -> bool:
        return bool(record["code"] == self._place.code.digest)

    def why_none(self) -> str:
        """Difference from the code that has results; empty if this code has some, or none has."""
        if not self._records or any(map(self._is_same, self._records)):
            return ""
        before = next((r["reads"] for r in reversed(self._records) if "reads" in r), None)
        key = Key("", before["inputs"], before["functions"]) if before else None
        lines = difference(key, self._place.code.key) if key else []
        return "; ".join(lines[:3]) or "its code changed"

    def result_of(self, item: str) -> Result | None:
        """The result for an item; None if there is none, or it is lost."""
        if self._results is None:
            self._results = {}
            for record in filter(self._is_same, self._records):
                try:
                    self._results.update(_results(self._session.store.get_blob(record["blob"])))
                except NbckptError as problem:  # the results in other blobs are there
                    self.lost.append(str(problem))
        return self._results.get(item)

    def value_of(self, parts: Sequence[memoryview]) -> object:
        """A new copy of a result."""
        return decoded(parts, self._session.namespace, trusted=True)  # `_is_of_step` has asked


def _results(blob: Sequence[memoryview]) -> Iterator[tuple[str, Result]]:
    at = 1
    for item, n_parts, *read in json.loads(bytes(blob[0])):
        yield item, Result(blob[at : at + n_parts], read[0] if read else {})
        at += n_parts


class Keeping:
    """Writes results as they come, from any thread."""

    def __init__(self, session: Session, place: Place, *, knows_code: bool) -> None:
        self._session = session
        self._place = place
        self._knows_code = knows_code
        self._lock = threading.Lock()
        self._waiting: list[tuple[str, list[bytes], Mapping[str, Json]]] = []
        self._began = time.perf_counter()
        self._written: Future[None] | None = None

    def add(self, item: str, value: object, read: Mapping[str, Json]) -> None:
        """Capture a result as it is now; `flush` writes it.

        Parameters
        ----------
        read
            What the function has read beside the item.

        Raises
        ------
        CaptureError
            If something inside it cannot be kept.
        """
        parts = [_bytes_of(part) for part in encoded(value, self._session.namespace)]
        with self._lock:
            self._waiting.append((item, parts, read))

    def flush(self) -> Future[None] | None:
        """Write what was added; the future is done when all so far is durable.

        Raises
        ------
        StoreError
            If the disk refuses.
        """
        with self._lock:
            waiting, self._waiting = self._waiting, []
            if not waiting:
                return self._written
            now = time.perf_counter()
            duration, self._began = now - self._began, now
            listed = [[item, len(p), *([read] if read else [])] for item, p, read in waiting]
            parts = [json.dumps(listed).encode(), *(part for _, p, _ in waiting for part in p)]
            with self._session.store.writing():
                blob = self._session.store.put_blob(parts)
                size = sum(map(len, parts))
                record = self._record(blob, len(waiting), size, duration)
                self._written = self._session.writes.append([record])
            return self._written

    def _record(self, blob: Digest, count: int, size_bytes: int, duration_s: float) -> Record:
        session, place = self._session, self._place
        record: Record = {
            "kind": KIND,
            "step": place.step,
            "function": place.function,
            "code": place.code.digest,
            "blob": blob,
            "count": count,
            "size_bytes": size_bytes,
            "checkpoint": session.position.id,
            "session": session.id,
            "branch": session.position.branch,
            "duration_s": round(duration_s, 6),
            "created_at": clock.now(),
        }
        if not self._knows_code:
            self._knows_code, key = True, place.code.key
            record = {**record, "reads": {"inputs": key.inputs, "functions": key.functions}}
        return record


def _bytes_of(part: Buffer) -> bytes:
    return bytes(memoryview(part))
