"""The records of a store that count, and the blobs that they need. Pure.

A prune cannot take a record out of a journal that a live session writes. It says which checkpoints
do not count any more, and writes others again, with what their gone ancestors had changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nbckpt.digests import Digest
from nbckpt.model import Record, is_trusted
from nbckpt.storage.journal import PRUNE
from nbckpt.timeline.recordings import RECORDING

CHECKPOINT = "checkpoint"
TABLE = "table"


class Taken:
    """The checkpoints and recordings that do not count any more.

    Parameters
    ----------
    records
        Those of prunes say so, and one that is not trusted of what is not trusted either.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._by_own: set[str] = set()
        self._by_any: set[str] = set()
        for record in records:
            if record["kind"] == PRUNE:
                ids = record.get("pruned", ())
                self._by_any.update(ids)
                if is_trusted(record):
                    self._by_own.update(ids)

    def has(self, record: Record) -> bool:
        """True if a checkpoint or recording is one of these."""
        own_id = record.get("id", "")
        return own_id in self._by_any and (own_id in self._by_own or not is_trusted(record))


def counting(records: Sequence[Record]) -> list[Record]:
    """The records that count: of each checkpoint one, and nothing that was pruned."""
    taken = Taken(records)
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
        or (not taken.has(record) and best.get(record.get("id", ""), record) is record)
    ]


def _rank(record: Record) -> tuple[bool, bool, float]:
    """A rewritten record counts instead of the first one, and a later one instead of both.

    Whatever it says of itself, one that is not trusted counts for nothing beside one that is.
    """
    return is_trusted(record), "carried" in record, record.get("at", 0.0)


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
