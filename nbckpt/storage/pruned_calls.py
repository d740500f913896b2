"""The calls that go in a prune, and those that stay behind because a session lives."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Sequence

from nbckpt.model import Record
from nbckpt.storage.journal import Entry
from nbckpt.timeline.prune_retention import Retention
from nbckpt.timeline.recording_retention import ITEMS, STEP, forgotten
from nbckpt.timeline.recordings import RECORDING, VALUE
from nbckpt.timeline.timeline import Timeline

_CALLS = (RECORDING, STEP, ITEMS)


class Leaving:
    """Division of the calls that a store keeps into those that go and those that stay.

    Parameters
    ----------
    records
        Those that count.
    kept
        Ids of the checkpoints that stay.
    dead
        Names of the journals that are replaced. A record of kept calls in another one has no id by
        which it could be taken back, so that it stays.

    Attributes
    ----------
    gone
        Records of calls that are to go, and of values that their steps were given.
    count
        Number of calls among them.
    steps
        Names of steps of which recordings are to go.
    bereft
        Names of steps that lose their last checkpoint, and of which calls stay.
    unknown
        Tags to forget that no model call has.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        retention: Retention,
        before: Timeline,
        kept: Collection[str],
        dead: Container[str],
        now: float,
    ) -> None:
        checkpoints = before.checkpoints
        names = {checkpoints[i].name for i in kept}
        removed: dict[str, float] = {}
        for checkpoint in checkpoints.values():
            if checkpoint.id not in kept:
                so_far = removed.get(checkpoint.name, 0.0)
                removed[checkpoint.name] = max(so_far, checkpoint.created_at)
        records = [entry.record for entry in entries]
        told = forgotten(records, retention, kept=names, removed=removed, now=now)
        live = {id(e.record) for e in entries if e.journal not in dead}
        self.gone = [r for r in told if r["kind"] == RECORDING or id(r) not in live]
        self.count = sum(record["kind"] != VALUE for record in self.gone)
        self._which = set(map(id, self.gone))
        known = {tag for r in records if r["kind"] == RECORDING for tag in r.get("tags", ())}
        self.unknown = [tag for tag in retention.forget if tag not in known]
        self.steps = {record["step"] for record in self.gone}
        called = {r.get("step") for r in self.stay(records) if r["kind"] in _CALLS}
        self.bereft = sorted(removed.keys() & called - names)

    def has(self, record: Record) -> bool:
        """True if this call is to go."""
        return id(record) in self._which

    def stay(self, records: Iterable[Record]) -> Iterator[Record]:
        """Those that are not to go."""
        return (record for record in records if not self.has(record))
