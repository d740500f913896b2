"""Which of a store's records count, and the blobs that they need. Pure.

A prune cannot take a record out of a journal that a live session writes. It says which checkpoints
do not count any more, and writes others anew, with what their gone ancestors had changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nbckpt.calls import RECORDING
from nbckpt.digests import Digest
from nbckpt.model import Record
from nbckpt.storage.journal import PRUNE

CHECKPOINT = "checkpoint"
TABLE = "table"


def pruned_in(records: Iterable[Record]) -> set[str]:
    """Ids of the checkpoints and recordings that do not count any more."""
    return {i for record in records if record["kind"] == PRUNE for i in record["pruned"]}


def counting(records: Sequence[Record]) -> list[Record]:
    """The records that count: of each checkpoint one, and nothing that was pruned."""
    pruned = pruned_in(records)
    best: dict[str, Record] = {}
    for record in records:
        if record["kind"] != CHECKPOINT:
            continue
        other = best.get(record["id"])
        if other is None or _rank(record) > _rank(other):
            best[record["id"]] = record
    return [
        record
        for record in records
        if record["kind"] not in (CHECKPOINT, RECORDING)
        or ((own := record.get("id", "")) not in pruned and best.get(own, record) is record)
    ]


def _rank(record: Record) -> tuple[bool, float]:
    """A rewritten record counts instead of the first one, and a later one instead of both."""
    return "carried" in record, record.get("at", 0.0)


def blobs_named(record: Record) -> Iterator[tuple[Digest, str]]:
    """The blobs that a record needs, each with what it is, for people."""
    if record["kind"] != CHECKPOINT:
        if isinstance(digest := record.get("blob"), str) and record["kind"] != TABLE:
            yield digest, f"a record of kind {record['kind']!r}"
        return
    name = f"checkpoint {record.get('name') or record['id']!r} ({record['id']})"
    for variable in variables_of(record):
        yield variable["blob"], f"variable {variable['name']!r} of {name}"
    if outputs := record.get("outputs"):
        yield outputs, f"the outputs of {name}"
    for digest in record.get("finished", ()):
        yield digest, f"the finished items of {name}"


def variables_of(record: Record) -> Iterator[Record]:
    """The variables whose bytes a checkpoint's record names."""
    yield from record.get("changed", ())
    yield from record.get("carried", ())


def values_of(record: Record) -> Iterator[Digest]:
    """Digests of the values of these variables, by which tables are named."""
    return (variable.get("value") or variable["blob"] for variable in variables_of(record))
