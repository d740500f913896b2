"""The calls that a store keeps: found by function, arguments and place among equals."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from nbckpt.digests import Digest
from nbckpt.fingerprint.keys.difference import difference
from nbckpt.llm.step_scope import Scope
from nbckpt.model import Key, Record, is_trusted
from nbckpt.session.session import Session
from nbckpt.steps.calls.code import Code

KIND = "step"


class CallId(NamedTuple):
    """Identity of a call among all calls."""

    name: str
    code: Digest
    arguments: Digest
    n: int

    @property
    def key(self) -> str:
        """Of the code and the arguments."""
        return f"{self.code[:32]}{self.arguments[:32]}"

    @property
    def place(self) -> tuple[str, Digest, int]:
        """The part that stays the same when the code is changed."""
        return self.name, self.arguments, self.n


class Asked(NamedTuple):
    """A call that stopped to ask in this process."""

    id: CallId
    text: str


class Index:
    """Calls in the journals of a store, by all sessions and on all branches.

    Attributes
    ----------
    asked
        Calls that stopped to ask in this process, by their places.
    """

    def __init__(self, session: Session) -> None:
        self._store = session.store
        self._lock = threading.Lock()
        self.asked: dict[tuple[str, Digest, int], Asked] = {}
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._n_seen = 0
        self._generation = self._store.generation
        self._done: dict[tuple[str, str, int], Record] = {}
        self._latest: dict[tuple[str, Digest, int], Record] = {}
        self._of_items: dict[tuple[Any, ...], Record] = {}
        self._codes: dict[Digest, Key] = {}
        self._strange: set[tuple[str, Digest, int]] = set()

    def look(self) -> None:
        """Take in the records that the session has come to know since."""
        with self._lock:
            if self._generation != self._store.generation:
                self._begin_anew()
            records = self._store.records(KIND)
            if len(records) == self._n_seen:
                return
            new = records[self._n_seen :]
            self._n_seen += len(new)
            for record in new:
                self._take(record)

    def note(self, record: Record) -> None:
        """Take in a record of this session's own, before the journal gives it back."""
        with self._lock:
            self._take(record)

    def _take(self, record: Record) -> None:
        try:
            name, code, arguments = record["name"], record["code"], record["arguments"]
            call = CallId(name, code, arguments, record["occurrence"])
            at = record["created_at"]
        except KeyError:  # of a later version
            return
        if not is_trusted(record):  # anybody can write any answer
            if record.get("once"):
                self._strange.add(call.place)
            return
        if "reads" in record:
            reads = record["reads"]
            self._codes[call.code] = Key("", reads["inputs"], reads["functions"])
        if record["state"] == "done" and "blob" in record:
            _keep_newest(self._done, (call.name, call.key, call.n), record, at)
        _keep_newest(self._latest, call.place, record, at)
        if item := record.get("item"):
            of_item = (record.get("step"), name, arguments, item, record.get("nth", 0))
            _keep_newest(self._of_items, of_item, record, at)

    def equals(self, call: CallId, within: Scope | None) -> Equals:
        """Known calls of a step's items that are equal to a call."""
        if within is not None:
            self.look()
        return Equals(self, call, "" if within is None else within.step)

    def done(self, call: CallId) -> Record | None:
        """The newest answer to this call."""
        self.look()
        return self._done.get((call.name, call.key, call.n))

    def latest(self, call: CallId) -> Record | None:
        """Latest record of a call with this name and these arguments, by any code."""
        self.look()
        return self._latest.get(call.place)

    def is_strange(self, call: CallId) -> bool:
        """True if only a record that is not trusted tells of a call that must not be repeated."""
        return call.place in self._strange and call.place not in self._latest

    def of_item(self, step: str, call: CallId, item: str, nth: int) -> Record | None:
        """Latest record of an item's `nth` call of those with equal arguments, if any."""
        record = self._of_items.get((step, call.name, call.arguments, item, nth))
        if record is None:
            return None
        now = self._latest[call._replace(n=record["occurrence"]).place]
        return record if now.get("item") == item else None

    def unresolved(self, name: str) -> list[Record]:
        """Records of calls that must not be repeated and have no result."""
        self.look()
        with self._lock:
            records = list(self._latest.values())
        return [r for r in records if r["name"] == name and r.get("once") and is_open(r)]

    def knows(self, code: Code) -> bool:
        """True if some record says what this code was made of."""
        return code.digest in self._codes

    def why_anew(self, call: CallId, code: Code) -> str:
        """Difference from the code of the latest record; empty without a record or difference."""
        record = self.latest(call)
        if record is None or record["code"] == call.code:
            return ""
        before = self._codes.get(record["code"])
        lines = difference(before, code.key) if before else []
        return "; ".join(lines[:3]) or "its code changed"


class Equals:
    """Kept calls of a step's items that are equal to a call."""

    def __init__(self, index: Index, call: CallId, step: str) -> None:
        self._index = index
        self._call = call
        self._step = step

    def number_of(self, item: str, nth: int) -> int | None:
        """The number within the step of this item's `nth` call; None if it is not kept."""
        record = self._index.of_item(self._step, self._call, item, nth)
        return None if record is None else int(record["occurrence"])

    def owner_of(self, number: int) -> str:
        """The item whose call has a number; empty if it is of none."""
        record = self._index.latest(self._call._replace(n=number))
        if record is None or record.get("step") != self._step:
            return ""
        return str(record.get("item", ""))


def is_open(record: Record) -> bool:
    """True if a call that must not be repeated may have run, and has no result."""
    return record["state"] in ("intent", "failed") or (
        record["state"] == "done" and "blob" not in record
    )


def _keep_newest(records: dict[Any, Record], place: Any, record: Record, at: float) -> None:
    known = records.get(place)
    if known is None or known["created_at"] <= at:
        records[place] = record


_indexes: WeakKeyDictionary[Session, Index] = WeakKeyDictionary()
_indexes_lock = threading.Lock()


def index_of(session: Session) -> Index:
    """Index of the calls in the session's store."""
    with _indexes_lock:
        index = _indexes.get(session)
        if index is None:
            index = _indexes[session] = Index(session)
        return index
