"""A namespace bound to a branch of a store, without a shell."""

from __future__ import annotations

import pytest

import nbckpt
from nbckpt.errors import CheckpointNotFoundError, VariableNotFoundError
from nbckpt.session.session import Session
from nbckpt.storage.store import Store


def test_two_notebooks_on_one_store_have_a_branch_each(store: Store) -> None:
    one = Session(store, {"x": 1}, notebook="one")
    one.checkpoint("start")
    two = Session(Store.open(store.path), {"y": 2}, notebook="two")

    two.checkpoint("start")

    assert (one.position.branch, two.position.branch) == ("main", "two")
    assert Session(Store.open(store.path), {}, notebook="one").position.branch == "main"
    again = Session(Store.open(store.path), {}, notebook="two")
    assert again.resume().came_back == ("y",)


def test_resume_brings_back_the_newest_checkpoint(store: Store) -> None:
    first = Session(store, {"x": [1]})
    first.checkpoint("a")
    first.namespace["y"] = first.namespace["x"]
    first.checkpoint("b")

    second = Session(Store.open(store.path), {})
    moved = second.resume()

    assert moved.checkpoint.name == "b"
    assert second.namespace["y"] is second.namespace["x"]


def test_rewind_restores_only_what_differs(session: Session) -> None:
    session.namespace.update(a=[1], b=[2])
    session.checkpoint("here")
    kept = session.namespace["b"]
    session.namespace["a"] = [9]

    moved = session.rewind("here")

    assert moved.came_back == ("a",)
    assert session.namespace["a"] == [1]
    assert session.namespace["b"] is kept


def test_after_looks_back_the_newer_ones_are_still_found_by_name(session: Session) -> None:
    for name in ("a", "b", "c"):
        session.namespace["x"] = name
        session.checkpoint(name)
    session.namespace["x"] = "unsaved"

    for name in ("a", "b", "a", "c@1", "b"):
        session.rewind(name)

        assert session.namespace["x"] == name[0]
    session.rewind("before-rewind")
    assert session.namespace["x"] == "unsaved"
    assert len(session.timeline.newest_first()) == 4, "what was unsaved is kept once"
    assert session.timeline.branches == {"main": session.position.id}


def test_what_a_look_back_keeps_by_itself_is_not_the_line_that_one_is_on(session: Session) -> None:
    for name in ("a", "b", "c"):
        session.namespace["x"] = name
        session.checkpoint(name)
    session.rewind("b")
    session.namespace["k"] = 1
    session.rewind("a")

    session.rewind("c")

    assert session.namespace["x"] == "c"
    session.rewind("a")
    session.rewind("b")
    assert session.namespace["x"] == "b"


def test_names_of_the_newer_line_are_gone_once_something_was_made(session: Session) -> None:
    for name in ("a", "b"):
        session.namespace["x"] = name
        session.checkpoint(name)
    session.rewind("a")
    session.namespace["x"] = "other"
    session.checkpoint("c")

    with pytest.raises(CheckpointNotFoundError, match=r"'b' is on branch 'main\.1'"):
        session.rewind("b")


def test_a_rewind_can_be_undone(session: Session) -> None:
    session.namespace["a"] = 1
    session.checkpoint("here")
    session.namespace["a"] = 2

    session.rewind("here")
    session.rewind("-")

    assert session.namespace["a"] == 2


def test_a_move_leaves_nbckpt_itself_to_move_on_with(session: Session) -> None:
    session.namespace["x"] = 1
    session.checkpoint("one")
    session.namespace.update(x=2, nb=nbckpt, rewind=nbckpt.rewind, checkpoint=nbckpt.checkpoint)
    two = session.checkpoint("two")

    moved = session.rewind("one")

    assert moved.removed == ()
    assert session.namespace["nb"] is nbckpt
    assert {"rewind", "checkpoint"} <= session.namespace.keys()

    n_checkpoints = len(session.timeline.checkpoints)
    session.rewind(two.id)

    assert len(session.timeline.checkpoints) == n_checkpoints


def test_a_line_that_was_rewound_from_stays_reachable(session: Session) -> None:
    session.namespace["a"] = 1
    session.checkpoint("one")
    session.namespace["a"] = 2
    session.checkpoint("two")
    session.rewind("one")
    session.namespace["a"] = 3

    session.checkpoint("three")

    assert session.timeline.branches.keys() == {"main", "main.1"}
    tip = session.timeline.head("main.1")
    assert tip is not None
    assert session.timeline.manifest(tip.id)["a"].preview == "2"


def test_resume_on_an_empty_store_says_what_to_do(session: Session) -> None:
    with pytest.raises(CheckpointNotFoundError, match="nothing to resume: branch 'main'"):
        session.resume()


def test_an_unknown_variable_is_named(session: Session) -> None:
    session.namespace["weights"] = 1

    with pytest.raises(VariableNotFoundError, match=r"no variable 'weight'.*'weights'"):
        session.checkpoint("a", vars=["weight"])


def test_checkpoints_add_only_what_changed(session: Session) -> None:
    session.namespace.update(a=list(range(1000)), b=1)
    session.checkpoint("one")
    session.namespace["b"] = 2

    second = session.checkpoint("two")

    assert set(second.changed) == {"b"}
    assert set(session.timeline.manifest(second.id)) >= {"a", "b"}
