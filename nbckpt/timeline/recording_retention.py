"""The model calls and kept calls that a prune removes. Pure.

Paid calls stay unless a prune is asked to remove them. Then the calls of a step go when no
checkpoint of its name is left, and it is known that there was one, or that a run of it has ended
since: the calls of a run that died, and that the next one goes on from, stay.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from nbckpt.model import Record
from nbckpt.timeline.recordings import RECORDING, VALUE

if TYPE_CHECKING:
    from nbckpt.timeline.prune_retention import Retention

DAY_S = 86_400
STEP = "step"
"""Kind of the records of kept calls."""
ITEMS = "items"
"""Kind of the records of what maps returned for items."""


def forgotten(
    records: Sequence[Record],
    retention: Retention,
    *,
    kept: Container[str],
    removed: Mapping[str, float],
    now: float,
) -> list[Record]:
    """The records of calls that are not kept.

    Parameters
    ----------
    kept
        Names of the checkpoints that are kept.
    removed
        Name → time of the newest checkpoint of it, of those that go in this prune.
    now
        Seconds since the epoch.
    """
    if not retention.forgets:
        return []
    tags = set(retention.forget)
    days = retention.calls_days
    since = 0.0 if days is None else now - days * DAY_S
    ended = {} if days is None else _ended(records, removed)

    def goes(step: str | None, at: float) -> bool:
        return step is not None and step not in kept and at <= min(ended.get(step, 0.0), since)

    calls = [record for record in records if record["kind"] == STEP]
    # What must not be repeated is known to be done by its record alone.
    going = [not r.get("once") and goes(r.get("step"), r["created_at"]) for r in calls]
    inner = {scope_name(record) for record in calls}
    theirs = inner - {
        scope_name(r) for r, goes_too in zip(calls, going, strict=True) if not goes_too
    }
    gone = [record for record, goes_too in zip(calls, going, strict=True) if goes_too]
    for record in records:
        if record["kind"] == ITEMS and goes(record["step"], record["created_at"]):
            gone.append(record)
        if record["kind"] not in (RECORDING, VALUE):
            continue
        step = record["step"]
        is_gone = step in theirs if step in inner else goes(step, record["created_at"])
        if is_gone or (tags and not tags.isdisjoint(record.get("tags", ()))):
            gone.append(record)
    return gone


def scope_name(call: Record) -> str:
    """The step that the model calls of a kept call belong to."""
    return f"{call['name']}({call['arguments'][:16]})#{call['occurrence']}"


def _ended(records: Iterable[Record], removed: Mapping[str, float]) -> dict[str, float]:
    """Name of a step → when a run of it last ended, or lost its last checkpoint."""
    found = dict(removed)
    for record in records:
        if record["kind"] != "event":
            continue
        names: Iterable[str] = ()
        if record["event"] == "model_calls":
            names = (record.get("name", ""),)
        elif record["event"] == "pruned":
            names = record.get("steps", ())
        for name in names:
            found[name] = max(found.get(name, 0.0), record["at"])
    return found
