"""Snapshots of a dict, beside copies of it."""

from __future__ import annotations

import threading
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nbckpt.runtime.snapshot_dict import (
    Difference,
    Snapshot,
    SnapshotDict,
    differing,
)

KEYS = st.sampled_from("abcde")
VALUES = st.integers(0, 2)
CHANGES = st.one_of(
    st.tuples(st.just("set"), KEYS, VALUES),
    st.tuples(st.just("pop"), KEYS, VALUES),
    st.tuples(st.just("setdefault"), KEYS, VALUES),
    st.tuples(st.just("update"), KEYS, VALUES),
    st.tuples(st.just("popitem"), KEYS, VALUES),
    st.tuples(st.just("clear"), KEYS, VALUES),
    st.tuples(st.just("snapshot"), KEYS, VALUES),
    st.tuples(st.just("revert"), KEYS, VALUES),
)


def change(table: dict[str, int], what: str, key: str, value: int) -> None:
    match what:
        case "set":
            table[key] = value
        case "pop":
            table.pop(key, None)
        case "setdefault":
            table.setdefault(key, value)
        case "update":
            table.update({key: value, "z": value})
        case "popitem" if table:
            table.popitem()
        case "clear":
            table.clear()


@given(st.lists(CHANGES, max_size=30))
def test_a_snapshot_is_what_a_copy_is(changes: list[tuple[str, str, int]]) -> None:
    table: SnapshotDict[str, int] = SnapshotDict({"a": 0, "b": 1})
    copies: list[tuple[Snapshot[str, int], dict[str, int]]] = []
    for what, key, value in changes:
        if what == "snapshot":
            copies.append((table.snapshot(), dict(table)))
        elif what == "revert" and copies:
            snapshot, copy = copies[value % len(copies)]
            table.revert(snapshot)
            assert dict(table) == copy
        else:
            change(table, what, key, value)
    for snapshot, copy in copies:
        assert dict(snapshot) == copy
        assert snapshot == copy
        assert len(snapshot) == len(copy)
        assert [snapshot.get(key) for key in "abcdez"] == [copy.get(key) for key in "abcdez"]
        assert [key in snapshot for key in "abcdez"] == [key in copy for key in "abcdez"]
        for other, other_copy in copies:
            found = {k for k in "abcdez" if copy.get(k) != other_copy.get(k)}
            assert differing(snapshot, other) == found
        assert differing(snapshot, {"a": 1}) == {
            k for k in "abcdez" if copy.get(k) != {"a": 1}.get(k)
        }


@given(st.lists(st.tuples(st.booleans(), st.one_of(CHANGES)), max_size=30))
def test_a_difference_is_that_of_the_mappings(
    changes: list[tuple[bool, tuple[str, str, int]]],
) -> None:
    tables: list[SnapshotDict[str, int]] = [SnapshotDict(), SnapshotDict()]
    difference: Difference[str, int] = Difference()
    for number, (what, key, value) in changes:
        if what == "revert":  # another history: nothing is known of it
            tables[number] = SnapshotDict({key: value})
        elif what == "snapshot":
            one, other = (table.snapshot() for table in tables)
            expected = {k for k in "abcdez" if tables[0].get(k) != tables[1].get(k)}
            assert difference.of(one, other) == expected
        else:
            change(tables[number], what, key, value)


def test_a_snapshot_without_changes_is_the_one_before() -> None:
    table: SnapshotDict[str, int] = SnapshotDict({"a": 1})
    first = table.snapshot()
    table["a"] = table["a"]

    assert table.snapshot() is first


def test_nothing_is_noted_for_a_snapshot_that_nobody_holds() -> None:
    table: SnapshotDict[str, Any] = SnapshotDict({"a": 1})
    for n in range(100):
        table.snapshot()
        table["a"] = n

    assert len(table._held) <= 2


def test_another_thread_reads_a_snapshot_while_entries_change() -> None:
    table: SnapshotDict[int, int] = SnapshotDict(dict.fromkeys(range(1000), 0))
    snapshot, wrong, ended = table.snapshot(), [], threading.Event()

    def read() -> None:
        while not ended.is_set():
            wrong.extend(n for n in range(1000) if snapshot.get(n) != 0)

    thread = threading.Thread(target=read)
    thread.start()
    for n in range(1000):
        table[n] = 1
    ended.set()
    thread.join()

    assert not wrong
    assert dict(snapshot) == dict.fromkeys(range(1000), 0)
