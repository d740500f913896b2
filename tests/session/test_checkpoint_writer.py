"""A checkpoint that is made, beside the rest of the process, and of odd names and values."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref
from typing import Any

import pytest

from nbckpt.capture.selection import Selection
from nbckpt.session.session import Session
from nbckpt.storage.file_calls import files


class Node:
    me: Node


def keep(session: Session, name: str = "now") -> Any:
    return session.checkpoints.keep(name, Selection())


class Untidy:
    """Leaves a cycle behind each time that it is written."""

    def __getstate__(self) -> dict[str, int]:
        node = Node()
        node.me = node
        LEFT.add(node)
        [[n] for n in range(1000)]
        return {"n": 1}


LEFT: weakref.WeakSet[Node] = weakref.WeakSet()


@pytest.mark.slow
def test_garbage_that_values_make_as_they_are_written_is_found_between_them(
    session: Session,
) -> None:
    gc.unfreeze()
    session.namespace.update({f"u{n}": Untidy() for n in range(300)})
    most = 0

    def note(phase: str, _: object) -> None:
        nonlocal most
        most = max(most, len(LEFT))

    gc.callbacks.append(note)
    try:
        keep(session)
    finally:
        gc.callbacks.remove(note)

    assert max(most, len(LEFT)) < 200


@pytest.mark.slow
def test_garbage_of_the_user_is_found_where_each_checkpoint_makes_many_objects(
    session: Session,
) -> None:
    gc.unfreeze()
    nodes: list[weakref.ref[Node]] = []
    for cell in range(40):
        held = Node()
        held.me = held
        nodes.append(weakref.ref(held))
        session.namespace.update({f"v{i}": (cell, i) for i in range(1500)})
        for _ in range(3000):
            _ = [[] for _ in range(3)]
        keep(session)

    assert sum(node() is not None for node in nodes) < 30


@pytest.mark.slow
def test_garbage_is_found_while_the_disk_is_waited_for_and_in_a_child(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.namespace["x"] = 1
    keep(session)
    seen: list[tuple[int, ...]] = []
    slow, sync = threading.Event(), files.fdatasync

    def at_the_disk(fd: int) -> None:
        seen.append(gc.get_threshold())
        pid = os.fork()
        if not pid:
            os._exit(gc.get_threshold() != before)
        seen.append((os.waitpid(pid, 0)[1],))
        sync(fd)
        slow.set()

    before = gc.get_threshold()
    monkeypatch.setattr(type(files), "fdatasync", staticmethod(at_the_disk))
    session.namespace["x"] = 2
    session.checkpoint("waits", sync=True)

    assert slow.is_set()
    assert set(seen) == {before, (0,)}


@pytest.mark.parametrize("bits", [2_200, 4_000, 8_990])
def test_a_number_that_may_not_be_written_out_is_kept(session: Session, bits: int) -> None:
    session.namespace.update(x=1 << bits, y=3)
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        made = keep(session)
    finally:
        sys.set_int_max_str_digits(most)

    assert made.changed["x"].type_name == "int"
    assert made.changed["y"].preview == "3"


@pytest.mark.parametrize("length", [4_000, 5_000, 70_000, 300_000])
def test_a_long_name_is_kept(session: Session, length: int) -> None:
    session.namespace["a" * length] = "value"
    made = keep(session)

    session.namespace.clear()
    session.rewind(made.id)

    assert session.namespace["a" * length] == "value"
