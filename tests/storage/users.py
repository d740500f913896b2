"""Stores of several users: another user is one with another folder of his own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbckpt.model import Cell, Checkpoint, Record, Variable
from nbckpt.storage.store import Store
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.timeline import Timeline


@contextmanager
def user(home: Path) -> Iterator[None]:
    """What is opened within is opened by the user with this folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NBCKPT_HOME", str(home))
        yield


def variable(store: Store, name: str, value: bytes) -> Variable:
    """A variable whose blob holds some bytes."""
    blob = store.put_blob([value])
    return Variable(name, blob, blob, "bytes", len(value), group=(name,))


def checkpoint(
    store: Store, n: int, value: bytes, *, parent: str | None = None, name: str = "x"
) -> list[Record]:
    """Records of a checkpoint that changes one variable, and of the branch that it moves."""
    made = Checkpoint(
        f"id{n:018}", parent, f"step{n}", "main", "s", "nb", 1000.0 + n, 0.1, Cell(f"{name} = {n}"),
        changed={name: variable(store, name, value)},
    )  # fmt: skip
    head = {"kind": "head", "branch": "main", "checkpoint": made.id, "at": 1000.0 + n}
    return [checkpoint_record(made), head]


def write(path: Path, n: int, value: bytes = b"some bytes", **members: str) -> str:
    """Id of a checkpoint that a session of its own makes."""
    store = Store.open(path)
    records = checkpoint(store, n, value, **members)
    store.append(records).result()
    store.close()
    return str(records[0]["id"])


def timeline_of(store: Store) -> Timeline:
    """What all records of a store say."""
    timeline = Timeline()
    timeline.apply_all(store.all_records())
    return timeline


def trusted_in(path: Path) -> dict[str, bool]:
    """Id of each checkpoint of a store → whether it is trusted, as this user finds it anew."""
    store = Store.open(path, create=False)
    found = {i: c.trusted for i, c in timeline_of(store).checkpoints.items()}
    store.close()
    return found
