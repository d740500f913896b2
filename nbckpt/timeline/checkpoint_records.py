"""Checkpoints as records of a journal, and records as checkpoints. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from nbckpt.model import (
    PLACING,
    UNTRUSTED,
    Cell,
    Checkpoint,
    Key,
    Record,
    Refusal,
    Variable,
    is_trusted,
)

_T = TypeVar("_T", "Cell", "Key", "Refusal", "Variable")

_TUPLES = (
    *("removed", "bound", "in_place", "omitted", "unrepeatable", "outside", "seeded"),
    *("finished", "tags"),
)
_OTHERS = (
    *("outputs", "passive", "preconditions", "random_in", "progress", "failures"),
    *("observed", "standing", "lacking"),
    *("error", "note", "inherited", "began_as"),
)
_AS_THEY_ARE, _AS_TUPLES = frozenset((*PLACING[1:], *_OTHERS)), frozenset(_TUPLES)
MICROSECONDS = 6
"""Digits of seconds that records keep."""


def checkpoint_record(checkpoint: Checkpoint) -> Record:
    """The journal record of a checkpoint; members that hold their default are left out.

    What places it in the history comes first, so that readers can leave the rest alone.
    """
    members = ((name, getattr(checkpoint, name)) for name in PLACING[1:])
    record = {"kind": "checkpoint", **{k: v for k, v in members if v not in (None, "")}}
    record["duration_s"] = round(checkpoint.duration_s, MICROSECONDS)
    record["cell"] = _known(checkpoint.cell)
    if checkpoint.joined:
        record["joined"] = [_known(cell) for cell in checkpoint.joined]
    if checkpoint.key is not None:
        record["key"] = {k: v for k, v in _members(checkpoint.key) if v}
    if checkpoint.changed:
        record["changed"] = [_variable_record(v) for v in checkpoint.changed.values()]
    if checkpoint.carried:
        record["carried"] = [_variable_record(v) for v in checkpoint.carried.values()]
    if checkpoint.refused:
        record["refused"] = [dict(_members(refusal)) for refusal in checkpoint.refused]
    others = ((name, getattr(checkpoint, name)) for name in (*_TUPLES, *_OTHERS))
    record.update((k, v) for k, v in others if v)
    return record


def _members(value: Cell | Key | Refusal | Variable) -> Iterator[tuple[str, Any]]:
    return zip(value._fields, value, strict=True)


def _known(cell: Cell) -> Record:
    return {k: v for k, v in _members(cell) if v is not None and v is not False}


def _variable_record(variable: Variable) -> Record:
    record = {k: v for k, v in _members(variable) if v or k == "size_bytes"}
    if not record.pop("trusted", False):
        record[UNTRUSTED] = True
    if variable.value == variable.blob:
        del record["value"]
    if variable.group == (variable.name,):
        del record["group"]
    return record


def checkpoint_from(record: Record) -> Checkpoint:
    """The checkpoint of a journal record; members that a newer nbckpt added are ignored."""
    members = record if isinstance(record, dict) else dict(record.items())
    trusted = is_trusted(members)
    given = {name: members[name] for name in _AS_THEY_ARE & members.keys()}
    given.update((name, tuple(members[name])) for name in _AS_TUPLES & members.keys())
    for name, default in _PLACE:
        given.setdefault(name, default)
    given["cell"] = _made(Cell, members["cell"])
    if key := members.get("key"):
        given["key"] = _made(Key, {**key, "shares": tuple(key.get("shares", ()))})
    for name in ("passive", "inherited"):
        if name in members:
            given[name] = {k: tuple(v) for k, v in members[name].items()}
    if progress := members.get("progress"):
        given["progress"] = tuple(progress)
    for name in ("changed", "carried"):
        if name in members:
            given[name] = _Variables(members[name], trusted)
    if joined := members.get("joined"):
        given["joined"] = tuple(_made(Cell, cell) for cell in joined)
    if refused := members.get("refused"):
        given["refused"] = tuple(_made(Refusal, r) for r in refused)
    return Checkpoint(**given, trusted=trusted)


_PLACE = (("parent", None), ("branch", "main"), ("notebook", ""), ("name", ""))


class _Variables(Mapping[str, Variable]):
    """Name → variable; a record is decoded when it is asked for: a list of checkpoints asks not."""

    __slots__ = ("_decoded", "_records", "_trusted")

    def __init__(self, records: Iterable[Record], trusted: bool) -> None:
        self._trusted = trusted
        self._records = {record["name"]: record for record in records}
        self._decoded: dict[str, Variable] = {}

    def __getitem__(self, name: str) -> Variable:
        if name not in self._decoded:
            self._decoded[name] = _variable_from(self._records[name], self._trusted)
        return self._decoded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self._records.values()), self._trusted)


def _variable_from(record: Record, trusted: bool) -> Variable:
    return _made(
        Variable,
        {
            "value": record["blob"],
            **record,
            "group": tuple(record.get("group") or (record["name"],)),
            "needs": tuple(record.get("needs", ())),
            "trusted": trusted and is_trusted(record),
        },
    )


def _made(cls: type[_T], record: Record) -> _T:
    """The value of a record's members, without those that a newer nbckpt added."""
    known = cls._fields
    return cls(**{k: v for k, v in record.items() if k in known})
