"""Take the secrets out of a store that a search finds in it.

Texts and model answers have stars where a secret was. A variable, or a kept result, is taken out:
its checkpoint says why, as it does of what could not be kept, and the cell that makes it runs again
when it is needed. What held the secret is written anew without it, and deleted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbckpt.errors import NbckptError
from nbckpt.session.maintenance.secret_search import (
    Found,
    detector,
    encoding_of,
    in_data,
    is_text,
    secrets_as_bytes,
    secrets_found,
)
from nbckpt.storage.counted_records import CHECKPOINT, variables_of
from nbckpt.storage.journal import BATCH, PRUNE
from nbckpt.storage.pruning import rewrite
from nbckpt.storage.rewriting import folded
from nbckpt.text.content_encodings import decoded
from nbckpt.text.secret_texts import redacted
from nbckpt.text.units import count_text
from nbckpt.timeline.recording_retention import ITEMS
from nbckpt.timeline.recordings import RECORDING

if TYPE_CHECKING:
    from nbckpt.digests import Digest
    from nbckpt.model import Record
    from nbckpt.session.maintenance.secret_search import Detector, Findings
    from nbckpt.storage.store import Store

REASON = "held a secret, which was taken out of the store"
_LEFT = (
    "what was left is written by a session, is damaged, or another user's: close the notebooks of "
    "this store, `nbckpt check --repair` it, or `nbckpt trust` it, and repair again"
)


@dataclass(frozen=True, slots=True)
class Removed:
    """Result of a removal.

    Attributes
    ----------
    taken
        Variables and results that are gone, for people.
    starred
        Texts that have stars now.
    left
        Secrets that are still there.
    why_left
        And the next move; empty if nothing is left.
    """

    taken: tuple[str, ...] = ()
    starred: tuple[str, ...] = ()
    left: tuple[Found, ...] = ()
    why_left: str = ""


def remove_secrets(store: Store) -> Removed:
    """Take out what `secrets_found` finds.

    Raises
    ------
    StoreError
        If a prune or another repair is at work, or the disk refuses: the store is as it was.
    """
    with detector() as detects:
        findings = secrets_found(store, detects)
        if not findings.found:
            return Removed()
        removal = _Removal(store, findings, detects)
        with store.writing(until_committed=True):
            removal.prepare()
            written = store.append([])
        written.result()
        if why := rewrite(store, removal):
            return Removed(left=tuple(findings.found), why_left=why)
        left = secrets_found(store, detects).found
        left += _still_there(store, findings, {found.where for found in left})
    starred = {found.where for found in findings.found if found not in left} - removal.without
    taken, starred_now = tuple(sorted(removal.taken)), tuple(sorted(starred))
    return Removed(taken, starred_now, tuple(left), _LEFT if left else "")


def _still_there(store: Store, findings: Findings, but: set[str]) -> Iterator[Found]:
    """Blobs that no record names any more, and that are in a pack to which a session adds."""
    for digest, name in findings.blobs.items():
        with suppress(NbckptError):
            store.get_blob(digest)
            if name not in but:
                yield Found(name, "in a file that a session adds to")


class _Removal:
    """Edit of the records of a store.

    Attributes
    ----------
    taken
        Variables and results that went, for people.
    """

    def __init__(self, store: Store, findings: Findings, detects: Detector) -> None:
        self.taken: set[str] = set()
        self._store = store
        self._blobs = findings.blobs
        self._detects = detects
        self._secrets = secrets_as_bytes()
        self._new: dict[Digest, tuple[Digest, list[int]]] = {}
        self._counts: dict[Digest, int] = {}
        self._timeline = folded(store.all_records())

    def prepare(self) -> None:
        """Put what takes their places: answers and outputs with stars, maps with fewer results."""
        for record in self._store.all_records():
            if record["kind"] == RECORDING and record["blob"] in self._blobs:
                self._put(record["blob"], encoding_of(record))
            elif record["kind"] == ITEMS and record["blob"] in self._blobs:
                self._put_items(record)
            elif (outputs := record.get("outputs")) and outputs in self._blobs:
                self._put(outputs, "")

    @property
    def without(self) -> set[str]:
        """Names of the blobs that go, for people."""
        return {name for digest, name in self._blobs.items() if digest not in self._new}

    def __call__(self, record: Record) -> Record | None:
        kind = record["kind"]
        if kind in (BATCH, PRUNE):
            return record
        new: Record = self._without_secrets(record)
        if kind == CHECKPOINT:
            return self._checkpoint(record, new)
        if kind == RECORDING and record["blob"] in self._new:
            return self._recording(new)
        if record.get("blob") not in self._blobs:
            return new
        if kind == ITEMS:
            if record["blob"] not in self._new:
                return None
            blob, sizes = self._new[record["blob"]]
            return {**new, "blob": blob, "count": self._counts[blob], "size_bytes": sum(sizes)}
        what = "the data of a question" if kind == "approval" else "a kept result"
        self.taken.add(redacted(f"{what} of {record.get('name') or record.get('step')!r}"))
        return {k: v for k, v in new.items() if k not in ("blob", "size_bytes")}

    def _checkpoint(self, record: Record, new: Record) -> Record | None:
        held = self._timeline.manifest(record["id"])
        gone = {n: v.type_name for n, v in held.items() if v.blob in self._blobs}
        if gone and record.get("state", "done") == "partial":
            # A loop does not go on without what it had made of the items before.
            self.taken.add(redacted(f"the progress of {record.get('name')!r}"))
            return None
        if gone:
            refused = [_refusal(name, kind) for name, kind in gone.items()]
            new = {**new, "refused": [*new.get("refused", ()), *refused]}
        if "inherited" in record:
            owners = record["inherited"].items()
            left = {owner: [n for n in names if n not in gone] for owner, names in owners}
            new = {**new, "inherited": {owner: names for owner, names in left.items() if names}}
        if own := [v for v in variables_of(record) if v["blob"] in self._blobs]:
            for member in ("changed", "carried"):
                stays = [v for v in new.get(member, ()) if v["blob"] not in self._blobs]
                new = {**new, member: stays} if member in new else new
            parent = str(record.get("parent"))
            known = parent in self._timeline.checkpoints
            before = self._timeline.manifest(parent) if known else {}
            removed = [*new.get("removed", ()), *(v["name"] for v in own if v["name"] in before)]
            new = {**new, "removed": sorted(dict.fromkeys(removed))} if removed else new
            self.taken.update(_names_of(record, own))
        if record.get("outputs") in self._new:
            new = {**new, "outputs": self._new[record["outputs"]][0]}
        if new["cell"]["source"] != record["cell"]["source"]:
            new = {**new, "cell": {**new["cell"], "starred": True}}
        if "joined" in record:
            pairs = zip(record["joined"], new["joined"], strict=True)
            joined = [
                now if now["source"] == then["source"] else {**now, "starred": True}
                for then, now in pairs
            ]
            new = {**new, "joined": joined}
        return new

    def _recording(self, new: Record) -> Record:
        digest, sizes = self._new[new["blob"]]
        answer = sizes[1] if len(sizes) > 1 else 0
        if sum(new["sizes"]) != answer:
            told = ("content-encoding", "content-length")
            headers = [pair for pair in new["headers"] if pair[0].lower() not in told]
            new = {**new, "sizes": [answer], "headers": headers}
        return {**new, "blob": digest}

    def _put(self, digest: Digest, encoding: str) -> None:
        if digest in self._new:
            return
        parts = []
        for n, part in enumerate(self._store.get_blob(digest)):
            data = bytes(part)
            plain = decoded(data, encoding) if encoding and n else data
            if plain is not None and (starred := self._data(plain)) != plain:
                data = starred
            parts.append(data)
        self._new[digest] = self._store.put_blob(parts), list(map(len, parts))

    def _put_items(self, record: Record) -> None:
        """Put the results of a map in which there is no secret, if some are left."""
        listed, *parts = map(bytes, self._store.get_blob(record["blob"]))
        left, kept, at = [], list[bytes](), 0
        for entry in (entries := json.loads(listed)):
            own = parts[at : at + entry[1]]
            at += entry[1]
            if not any(map(self._is_in, (json.dumps(entry).encode(), *own))):
                left.append(entry)
                kept += own
        gone = len(entries) - len(left)
        what = f"{count_text(gone, 'kept result')} of {record['step']!r}"
        self.taken.add(redacted(what))
        if left:
            parts = [json.dumps(left).encode(), *kept]
            digest = self._store.put_blob(parts)
            self._new[record["blob"]] = digest, list(map(len, parts))
            self._counts[digest] = len(left)

    def _is_in(self, data: bytes) -> bool:
        return next(in_data(data, self._detects, self._secrets), None) is not None

    def _data(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return self._text(text).encode("utf-8", "surrogateescape")

    def _text(self, text: str) -> str:
        text = redacted(text)
        for _, secret in self._detects(text):
            if secret:
                text = text.replace(secret, "***")
        return text

    def _without_secrets(self, value: Any, around: str = "") -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {
                self._text(name): self._without_secrets(inner, name)
                if is_text(name, around)
                else inner
                for name, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._without_secrets(inner, around) for inner in value]
        return value


def _refusal(name: str, kind: str) -> Record:
    return {"variable": name, "path": name, "type_name": kind, "reason": REASON}


def _names_of(record: Record, gone: Iterable[Record]) -> Iterator[str]:
    name = f"checkpoint {record.get('name') or record['id']!r} ({record['id']})"
    return (redacted(f"variable {variable['name']!r} of {name}") for variable in gone)
