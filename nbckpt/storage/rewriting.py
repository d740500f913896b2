"""Journals → one journal of what is kept. Pure: nothing here touches a disk.

A kept checkpoint whose ancestors go is written anew: its parent is the nearest one that is kept,
and it carries what the gone ones had changed and it still holds.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace

from nbckpt.errors import StoreError
from nbckpt.model import Manifest, Record
from nbckpt.storage.counted_records import CHECKPOINT, counting
from nbckpt.storage.journal import BATCH, PRUNE, Entry
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.fold import MICROSECOND
from nbckpt.timeline.timeline import Timeline

NAMING = ("head", "tag", "note")
"""Kinds that say something of a checkpoint, and nothing when it is gone."""


def folded(records: Sequence[Record]) -> Timeline:
    """The timeline of the records that count."""
    timeline = Timeline()
    for record in counting(records):
        if record["kind"] != PRUNE:
            timeline.apply(record)
    return timeline


def rewritten(
    timeline: Timeline, records: Iterable[Record], kept: Collection[str], at: float
) -> dict[str, Record]:
    """Id → new record, of the kept checkpoints that lean on others that go.

    Parameters
    ----------
    records
        Those that count.
    at
        When this is done, for the records to say: of two the later one counts.
    """
    found = {}
    for record in records:
        if record["kind"] != CHECKPOINT or record["id"] not in kept:
            continue
        leans_on = {record.get("parent"), *record.get("inherited", ())} - {None}
        if not all(i in kept for i in leans_on):
            found[record["id"]] = _standing_alone(timeline, record, kept, at)
    return found


def _standing_alone(timeline: Timeline, record: Record, kept: Collection[str], at: float) -> Record:
    line = iter(timeline.line(record["id"]))
    checkpoint = timeline.checkpoints[next(line)]
    parent = next((ancestor for ancestor in line if ancestor in kept), None)
    base: Manifest = timeline.manifest(parent) if parent else {}
    own: Manifest = timeline.manifest(checkpoint.id)
    if not checkpoint.trusted:  # its record says so of all that it holds
        own = {name: variable._replace(trusted=True) for name, variable in own.items()}
        base = {name: variable._replace(trusted=True) for name, variable in base.items()}
    carried = {n: v for n, v in own.items() if n not in checkpoint.changed and base.get(n) != v}
    gone = sorted(base.keys() - own.keys() - set(checkpoint.removed))
    new = {name: member for name, member in record.items() if name != "inherited"}
    # Said even where nothing is carried: it is what tells this record from the first one.
    new["carried"] = checkpoint_record(replace(checkpoint, carried=carried)).get("carried", [])
    new["parent"], new["at"] = parent, at
    if gone:
        new["removed"] = [*checkpoint.removed, *gone]
    return new


def compacted(
    entries: Iterable[Entry],
    dead: Container[str],
    kept: Container[str],
    new: Mapping[str, Record],
    needs_table: Container[str],
) -> list[Record]:
    """Records left of dead journals, with the rewritten checkpoints of all, in the order of time.

    Parameters
    ----------
    entries
        Those that count, of all journals.
    needs_table
        Values of which a kept checkpoint has a variable.
    """
    records = []
    for _, journal, _, record in entries:
        kind = record["kind"]
        if kind == CHECKPOINT and record["id"] in new:
            records.append(new[record["id"]])
        elif journal not in dead or kind in (BATCH, PRUNE):
            continue
        elif kind == CHECKPOINT:
            records += [record] if record["id"] in kept else []
        elif kind in NAMING or (kind == "event" and record.get("checkpoint")):
            records += [record] if record["checkpoint"] in kept else []
        elif kind != "table" or record["value"] in needs_table:
            records.append(record)
    return records


def corrections(
    before: Timeline, after: Timeline, kept: Container[str], drop: Iterable[str], at: float
) -> list[Record]:
    """Moves and drops after which the branches are those from before, without the dropped ones."""
    wanted = {n: tip for n, tip in before.branches.items() if n not in drop and tip in kept}
    found, at = after.named_tips(), after.later_than_all(at)
    # All that differ lose their names before one gets another: an overtaken tip would keep one.
    gone = {name for name, tip in found.items() if wanted.get(name) != tip}
    records: list[Record] = [
        {"kind": "drop", "branch": name, "at": at} for name in sorted({*drop, *gone})
    ]
    for name, tip in wanted.items():
        if found.get(name) != tip:
            moved = {"kind": "head", "branch": name, "checkpoint": tip, "at": at + MICROSECOND}
            # As a branch of its own it would be shown beside one that contains it.
            records.append({**moved, "overtaken": True} if before.is_overtaken(name) else moved)
    return records


def require_same(
    before: Timeline, after: Timeline, kept: Collection[str], drop: Collection[str]
) -> None:
    """Raise unless the kept checkpoints hold what they held, and branches point where they did.

    Raises
    ------
    StoreError
        If anything else would be left: nothing is removed then.
    """
    wanted = {n: tip for n, tip in before.branches.items() if n not in drop}
    same = set(after.checkpoints) == set(kept) and dict(after.branches) == wanted
    for i in kept if same else ():
        old, new = before.checkpoints[i], after.checkpoints[i]
        same = same and (old.tags, old.note) == (new.tags, new.note)
        same = same and _hold_the_same(old.changed, new.changed)
        if new.parent != old.parent or new.inherited != old.inherited:
            same = same and _hold_the_same(before.manifest(i), after.manifest(i))
    if not same:
        message = (
            "what is to be kept could not be told apart from what is to go, so nothing was removed;"
            " `nbckpt check` lists what is damaged"
        )
        raise StoreError(message)


def _hold_the_same(old: Manifest, new: Manifest) -> bool:
    """True if all variables are what they were, and none is trusted now that was not."""
    return old.keys() == new.keys() and all(
        variable._replace(trusted=new[name].trusted) == new[name]
        and variable.trusted >= new[name].trusted
        for name, variable in old.items()
    )
