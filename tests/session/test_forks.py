"""Branching by hand: fork, switch, update, and what people write on checkpoints."""

from __future__ import annotations

import ast
import operator
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import (
    BranchExistsError,
    BranchNotFoundError,
    CheckpointNotFoundError,
    NbckptError,
    UsageError,
)
from nbckpt.model import Cell
from nbckpt.session.moves.branching import branch_off
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.step import Step
from nbckpt.storage.store import Store
from nbckpt.timeline.following import next_names


@pytest.fixture
def line(session: Session) -> Session:
    """On main: one, two, three; x is [1], [1, 2], [1, 2, 3], and k is 1."""
    session.namespace.update(x=[1], k=1)
    session.checkpoint("one")
    session.namespace["x"].append(2)  # type: ignore[attr-defined]
    session.checkpoint("two")
    session.namespace["x"].append(3)  # type: ignore[attr-defined]
    session.checkpoint("three")
    return session


def again(session: Session, namespace: dict[str, object] | None = None) -> Session:
    """The same notebook in a new process."""
    session.wait()
    return Session(Store.open(session.store.path), namespace or {}, notebook=session.notebook)


def sizes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def next_of(session: Session, ref: str) -> tuple[str, ...]:
    return next_names(session.timeline, session.get(ref).id)


# -- fork -----------------------------------------------------------------------------------------


def test_a_fork_is_a_new_branch_and_the_old_one_stays(line: Session) -> None:
    old = line.timeline.branches["main"]

    moved = line.fork("one", "try")

    assert moved.checkpoint.name == "one"
    assert line.position.branch == "try"
    assert line.namespace["x"] == [1]
    assert line.timeline.branches == {"main": old, "try": moved.checkpoint.id}


def test_what_was_unsaved_is_kept_before_a_fork(line: Session) -> None:
    line.namespace["x"] = "unsaved"

    line.fork("one", "try")
    moved = line.switch("main")

    assert moved.checkpoint.name == "before-fork"
    assert line.namespace["x"] == "unsaved"


@pytest.mark.parametrize("verb", ["fork", "switch", "resume", "rewind", "update"])
def test_a_dash_goes_back_to_where_the_session_was_and_to_its_branch(
    line: Session, verb: str
) -> None:
    line.fork("one", "other")
    line.switch("main")
    line.namespace["x"] = "here"
    head = line.checkpoint("here").id
    do = {
        "fork": lambda: line.fork("one", "try"),
        "switch": lambda: line.switch("other"),
        "resume": lambda: line.resume("other"),
        "rewind": lambda: line.rewind("one"),
        "update": lambda: line.update("one", {"x": 0}),
    }

    do[verb]()
    moved = line.rewind("-")

    assert moved.checkpoint.id == head
    assert line.namespace["x"] == "here"
    assert line.position.branch == "main"
    assert line.timeline.branches["main"] == head


def test_a_name_is_made_of_the_branchs_own(line: Session) -> None:
    line.namespace["y"] = 1
    line.checkpoint("main-3")
    line.fork("one")
    first = line.position.branch

    line.fork("one")

    assert (first, line.position.branch) == ("main-2", "main-4")


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        ("main", BranchExistsError, "branch 'main' exists: choose another name, or `%switch main`"),
        ("two", UsageError, "'two' is the name of a checkpoint: choose another name"),
        ("a b", UsageError, "'a b' is no name for a branch: use letters, digits"),
        ("~2", UsageError, "'~2' is no name for a branch"),
        ("-", UsageError, "'-' is no name for a branch"),
        ("", UsageError, "'' is no name for a branch"),
        ("a@1", UsageError, "'a@1' is no name for a branch"),
    ],
)
def test_a_name_that_cannot_be_had_is_refused_before_anything_happens(
    line: Session, name: str, error: type[NbckptError], told: str
) -> None:
    line.namespace["x"] = "unsaved"
    count = len(line.timeline.checkpoints)

    with pytest.raises(error) as caught:
        line.fork("one", name)

    assert told in str(caught.value)
    assert line.namespace["x"] == "unsaved"
    assert (line.position.branch, len(line.timeline.checkpoints)) == ("main", count)


def test_values_and_expressions_make_one_checkpoint_after_the_forked_one(line: Session) -> None:
    count = len(line.timeline.checkpoints)
    table = object.__new__(Plain)

    moved = line.fork("two", "try", {"k": 5, "t": table}, {"n": "len(x) + k", "m": "n * 2"})

    made = moved.checkpoint
    assert (line.namespace["n"], line.namespace["m"]) == (7, 14)
    assert len(line.timeline.checkpoints) == count + 1
    assert (made.name, made.made_by, made.parent) == ("two", "fork", line.get("two").parent)
    assert made.cell.source == "k = 5\nt = ...  # Plain\nn = len(x) + k\nm = n * 2"
    assert made.bound == ("k", "m", "n", "t")
    assert set(made.changed) == {"k", "m", "n", "t"}
    assert line.timeline.branches["try"] == made.id


class Plain:
    """A value that has no literal."""


def test_an_expression_sees_the_forked_namespace_and_what_it_shares(line: Session) -> None:
    line.fork("one", "try", expressions={"alias": "x"})

    later = again(line)
    later.resume()

    assert line.namespace["alias"] is line.namespace["x"]
    assert later.namespace["alias"] is later.namespace["x"] == [1]


@pytest.mark.parametrize(
    ("expressions", "told"),
    [
        ({"k": "5", "b": "nowhere"}, "b=nowhere failed: NameError: name 'nowhere' is not defined"),
        ({"k": "x.append(9)", "b": "1 / 0"}, "b=1 / 0 failed: ZeroDivisionError"),
        ({"k": "5 +"}, "k=5 +: this is no expression (invalid syntax)"),
        ({"k": "y = 5"}, "k=y = 5: this is no expression"),
    ],
)
def test_an_expression_that_fails_changes_nothing(
    line: Session, expressions: Mapping[str, str], told: str
) -> None:
    line.namespace["g"] = (n for n in range(3))  # cannot be kept: only its object can come back
    line.namespace["y"] = line.namespace["x"]
    line.checkpoint("four")
    generator, names = line.namespace["g"], list(line.namespace)
    where = (line.position.branch, line.position.id, line.position.before, line.timeline.branches)

    with pytest.raises(UsageError) as caught:
        line.fork("four", "try", expressions=expressions)

    assert told in str(caught.value)
    assert list(line.namespace) == names
    assert (line.namespace["x"], line.namespace["k"]) == ([1, 2, 3], 1)
    assert line.namespace["y"] is line.namespace["x"]
    assert line.namespace["g"] is generator
    assert (
        line.position.branch,
        line.position.id,
        line.position.before,
        line.timeline.branches,
    ) == where
    assert line.checkpoint("five").changed == {}


def test_a_failing_expression_leaves_what_was_never_checkpointed(store: Store) -> None:
    first = Session(store, {"x": [1]}, notebook="test")
    first.checkpoint("one")
    second = again(first, {"other": [5]})
    other = second.namespace["other"]

    with pytest.raises(UsageError, match="nothing was changed"):
        second.fork("one", expressions={"k": "x + nowhere"})

    assert second.namespace == {"other": [5]}
    assert second.namespace["other"] is other


def test_interrupting_an_expression_changes_nothing(line: Session) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    line.namespace["stop"] = interrupted
    line.checkpoint("four")
    line.rewind("four")
    before = {n: v for n, v in line.namespace.items() if n != "__builtins__"}

    with pytest.raises(KeyboardInterrupt):
        line.fork("one", "try", {"stop": interrupted}, {"k": "stop()"})

    assert {n: v for n, v in line.namespace.items() if n != "__builtins__"} == before
    assert line.position.branch == "main"


@pytest.mark.parametrize("name", ["1a", "for", "a-b", "_", "__name__", "exit"])
def test_what_is_no_variable_is_refused(line: Session, name: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}' is no"):
        line.fork("one", expressions={name: "1"})


def test_a_variable_is_given_once(line: Session) -> None:
    with pytest.raises(UsageError, match="'k' is given twice"):
        line.fork("one", values={"k": 1}, expressions={"k": "2"})


def test_a_given_object_that_cannot_be_kept_is_not_made_again_by_an_older_statement(
    session: Session,
) -> None:
    source = "import sqlite3\nconn = sqlite3.connect('file:/nowhere/x.db?mode=ro', uri=True)"
    tree = ast.parse("conn = open_it()")
    session.namespace["x"] = 1
    session.workspace.ran(tree)
    session.checkpoint("one")

    moved = session.fork("one", values={"conn": (n for n in [source])})

    assert [r.variable for r in moved.checkpoint.refused] == ["conn"]
    assert "conn" not in moved.checkpoint.changed


@pytest.mark.slow
def test_a_hundred_forks_store_nothing_but_records(line: Session) -> None:
    line.namespace["big"] = list(range(100_000))
    line.checkpoint("base")
    line.rewind("base")
    line.wait()
    packs, journal = (sizes(line.store.path / part) for part in ("packs", "journal"))

    for _ in range(100):
        line.fork("base")
    line.wait()

    assert sizes(line.store.path / "packs") == packs
    assert sizes(line.store.path / "journal") - journal < 100 * 500
    assert len(line.timeline.branches) == 101


LOOP = "out = []\nfor i in 'loop'.track(range(4)):\n    fill(i)"


def run_loop(session: Session, stop: int) -> list[int]:
    """The loop as a step, whose process dies at an item; the items that ran."""
    session.settings = replace(session.settings, track_share=1e9)  # keep each item
    step = Step.begin(session, Request("loop"), Cell(LOOP), ast.parse(LOOP))
    ran: list[int] = []
    space = session.namespace
    space.update(__step__=step, __ran__=ran, __stop__=stop, out=[])
    code = (
        "for i in __step__.track(range(4)):\n"
        "    if i == __stop__: raise ValueError(i)\n"
        "    out.append(i); __ran__.append(i)"
    )
    try:
        exec(compile(code, "<cell>", "exec"), space)
        step.finish()
    except ValueError:
        step.left()  # a process that dies leaves nothing behind in this one
    return ran


@pytest.mark.slow
def test_a_loop_that_is_unfinished_at_the_forked_checkpoint_goes_on_in_the_fork(
    session: Session,
) -> None:
    session.namespace["fill"] = len
    session.checkpoint("base")
    run_loop(session, stop=2)
    later = again(session)
    later.resume()

    later.fork("base", "try")
    unfinished = [c.name for c in later.timeline.unfinished("try")]
    ran = run_loop(later, stop=9)

    assert unfinished == ["loop"]
    assert ran == [2, 3]
    assert later.namespace["out"] == [0, 1, 2, 3]
    assert later.timeline.unfinished("try") == []
    assert [c.name for c in later.timeline.unfinished("main")] == ["loop"]


def test_a_branch_made_where_the_session_stands_changes_no_value(line: Session) -> None:
    line.namespace["x"] = unsaved = [7]

    name = branch_off(line)

    assert line.position.branch == name == "main-2"
    assert line.namespace["x"] is unsaved
    assert line.timeline.branches["main-2"] == line.position.id


def test_there_is_nothing_to_branch_from_in_a_new_store(session: Session) -> None:
    with pytest.raises(UsageError, match="nothing has been checkpointed here yet"):
        branch_off(session)


# -- switch ---------------------------------------------------------------------------------------


def test_switching_brings_the_head_of_a_branch_and_counts_after_a_restart(line: Session) -> None:
    line.fork("one", "try", {"k": 2})
    line.switch("main")

    later = again(line)
    back = later.resume()

    assert (later.position.branch, back.checkpoint.name) == ("main", "three")
    later.switch("try")
    assert again(later).position.branch == "try"
    assert (later.namespace["k"], later.namespace["x"]) == (2, [1])


def test_what_is_on_no_branch_is_named_with_those_that_are_near(line: Session) -> None:
    line.fork("one", "baseline")

    with pytest.raises(BranchNotFoundError, match="no branch 'baselin'; did you mean 'baseline'"):
        line.switch("baselin")
    with pytest.raises(BranchNotFoundError, match="no branch 'xyz'; there are 'main', 'baseline'"):
        line.switch("xyz")
    assert line.position.branch == "baseline"


@pytest.mark.parametrize("by", ["name", "id", "tag"])
def test_a_checkpoint_is_no_branch_to_resume(line: Session, by: str) -> None:
    line.tag("one", "best")
    ref = {"name": "one", "id": line.get("one").id, "tag": "best"}[by]

    with pytest.raises(BranchNotFoundError, match=f"no branch '{ref}'"):
        line.resume(ref)

    assert list(line.timeline.branches) == ["main"]
    assert line.position.branch == "main"


def test_there_is_no_branch_to_switch_to_in_a_new_store(session: Session) -> None:
    with pytest.raises(BranchNotFoundError, match="nothing has been checkpointed yet"):
        session.switch("main")


def test_an_overtaken_line_can_be_switched_to_and_resumed(line: Session) -> None:
    line.rewind("one")
    line.namespace["x"] = "new"
    line.checkpoint("other")

    line.switch("main.1")
    there = (line.position.branch, line.namespace["x"])
    later = again(line)
    later.resume("main.1")

    assert there == ("main.1", [1, 2, 3])
    assert later.namespace["x"] == [1, 2, 3]
    assert later.position.branch == "main.1"


@pytest.mark.parametrize("verb", ["fork", "switch", "rewind"])
def test_a_new_process_takes_no_branch_by_what_it_holds(line: Session, verb: str) -> None:
    line.fork("one", "try")
    line.switch("main")
    head = line.timeline.branches["main"]
    later = again(line, {"early": 1})

    do = {
        "fork": lambda: later.fork("one", "new"),
        "switch": lambda: later.switch("try"),
        "rewind": lambda: later.rewind("three"),
    }
    do[verb]()

    assert later.timeline.branches["main"] == head
    kept = later.get(later.position.before or "")
    assert (kept.name, kept.parent) == (f"before-{verb}", None)
    assert later.timeline.branch_of(kept.id) == "main.2"
    later.rewind("-")
    assert later.namespace["early"] == 1


# -- resume ---------------------------------------------------------------------------------------


def test_resuming_keeps_what_it_would_overwrite(line: Session) -> None:
    line.namespace["x"] = "unsaved"
    line.fork("one", "try")
    line.namespace["x"] = "unsaved here"

    line.resume("main")
    line.rewind("-")

    assert line.namespace["x"] == "unsaved here"
    assert line.position.branch == "try"


def test_resuming_in_a_new_process_keeps_only_what_it_would_overwrite(line: Session) -> None:
    head = line.position.head
    harmless = again(line, {"other": 1})
    harmless.resume()
    count = len(harmless.timeline.checkpoints)

    later = again(line, {"k": "mine"})
    later.resume()

    assert count == len(line.timeline.checkpoints)
    assert harmless.namespace["other"] == 1
    assert later.position.head == head
    assert later.namespace["k"] == 1
    later.rewind("-")
    assert later.namespace["k"] == "mine"


# -- update ---------------------------------------------------------------------------------------


def test_an_update_at_the_head_goes_on_with_the_branch(line: Session) -> None:
    line.reducers["x"] = operator.add

    made = line.update("three", {"x": [9], "new": True})

    assert (made.name, made.made_by, line.position.branch) == ("three", "update", "main")
    assert made.cell.source == "x = add(x, [9])\nnew = True"
    assert line.namespace["x"] == [1, 2, 3, 9]
    assert line.namespace["new"] is True
    assert line.timeline.branches == {"main": made.id}
    assert again(line).resume().checkpoint == made


def test_an_update_further_back_is_a_new_branch(line: Session) -> None:
    head = line.timeline.branches["main"]

    made = line.update("one", {"x": [9]})

    assert made.parent is not None
    assert line.timeline.checkpoints[made.parent].name == "one"
    assert line.namespace["x"] == [9]
    assert line.timeline.branches == {"main": head, "main-2": made.id}


def test_what_follows_an_update_is_what_followed_the_step_it_stands_for(line: Session) -> None:
    as_two = line.update("one", {"k": 5}, as_step="two")
    next_of_two = next_names(line.timeline, as_two.id)
    as_one = line.update(line.timeline.ancestry(as_two.id)[1].id, {"k": 6})

    assert (as_two.name, next_of_two) == ("two", ("three",))
    assert (as_one.name, next_names(line.timeline, as_one.id)) == ("one", ("two",))
    assert next_of(line, as_two.id) == ("three",)


def test_what_follows_a_fork_is_what_ran_there_once_something_did(line: Session) -> None:
    line.fork("one", "try", {"k": 5})
    made = line.position.head
    assert made is not None
    before = next_of(line, made.id)
    line.namespace["y"] = 1
    line.checkpoint("elsewhere")

    assert before == ("two",)
    assert next_of(line, made.id) == ("elsewhere",)


def test_an_update_takes_expressions(line: Session) -> None:
    line.reducers["x"] = operator.add

    line.update("two", {"k": 4}, expressions={"x": "[k, len(x)]"})

    assert line.namespace["x"] == [1, 2, 4, 2]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"values": {"x": 5}, "as_step": "twoo"}, "no step 'twoo' has been recorded; did you mean"),
        ({"values": {"x": 5}, "as_step": "q"}, "no step 'q' .*; there are 'one', 'two', 'three'"),
        ({"values": {"x": 5}}, "the reducer 'add' of 'x' failed: TypeError: .*nothing was changed"),
        ({"values": {}}, "update 'one': give the values"),
        ({"values": {"a b": 5}}, "'a b' is no name of a variable"),
    ],
)
def test_an_update_that_cannot_be_made_changes_nothing(
    line: Session, arguments: dict[str, Any], told: str
) -> None:
    line.reducers["x"] = operator.add
    before, where = (
        dict(line.namespace),
        (line.position.branch, line.position.id, line.timeline.branches),
    )

    with pytest.raises(UsageError, match=told):
        line.update("one", **arguments)

    assert line.namespace == before
    assert line.namespace["x"] is before["x"]
    assert (line.position.branch, line.position.id, line.timeline.branches) == where


def test_a_reducer_is_read_from_the_notebooks_annotation_even_after_a_restart(
    session: Session,
) -> None:
    source = (
        "%%checkpoint begin\n"
        "import operator\nfrom typing import Annotated\n"
        "messages: Annotated[list, operator.add] = ['a']\n"
        "count: int = 1"
    )
    code = source.partition("\n")[2]
    step = Step.begin(session, Request("begin"), Cell(source), ast.parse(code))
    exec(code, session.namespace)
    step.finish()

    session.update("begin", {"messages": ["b"], "count": 5})
    live = (session.namespace["messages"], session.namespace["count"])
    later = again(session)
    later.resume()
    later.update("begin", {"messages": ["c"]})

    assert live == (["a", "b"], 5)
    assert "__annotations__" not in later.namespace
    assert later.namespace["messages"] == ["a", "b", "c"]


# -- tags and notes -------------------------------------------------------------------------------


def test_tags_and_notes_can_be_given_changed_and_taken_away(line: Session) -> None:
    line.tag("one", "best", "first")
    line.note("one", "  a note\n")
    line.tag("one", "best", delete=True)
    checkpoint = line.note("one", "another")

    assert (checkpoint.tags, checkpoint.note) == (("first",), "another")
    assert again(line).get("one") == checkpoint
    assert line.tag("one", "best").tags == ("first", "best")


def test_a_tag_of_a_checkpoints_own_can_be_taken_away(session: Session) -> None:
    session.namespace["x"] = 1
    session.checkpoint("one", tags=["a", "b"], note="own")

    session.tag("one", "a", delete=True)

    later = again(session).get("one")
    assert (later.tags, later.note) == (("b",), "own")


@pytest.mark.parametrize("tag", ["", "two words", "a,b", "#1", "a\tb", "-", "~1"])
def test_what_is_no_tag_is_refused(line: Session, tag: str) -> None:
    with pytest.raises(UsageError, match="is no tag: write one word"):
        line.tag("one", tag)


def test_a_mark_needs_a_checkpoint_and_a_tag_that_is_there(line: Session) -> None:
    with pytest.raises(CheckpointNotFoundError, match="no checkpoint 'four'"):
        line.tag("four", "best")
    with pytest.raises(UsageError, match="'one' has no tag 'best' to take away; it has none"):
        line.tag("one", "best", delete=True)
    with pytest.raises(UsageError, match="say which tag"):
        line.tag("one")


# -- listeners ------------------------------------------------------------------------------------


def test_listeners_hear_what_happened(line: Session) -> None:
    heard: list[str] = []
    line.listeners.append(heard.append)

    line.namespace["x"] = 0
    line.fork("one", values={"k": 2})
    line.tag("one", "best")
    other = again(line)
    other.namespace["z"] = 1
    other.checkpoint("elsewhere")
    other.wait()
    line.refresh()
    line.refresh()

    told = [what for what in heard if what != "written"]
    assert told == ["checkpoint", "checkpoint", "moved", "tag", "refreshed"]


def test_a_listener_is_told_once_the_journal_has_an_event(line: Session) -> None:
    is_there = threading.Event()

    def listen(what: str) -> None:
        events = {record.get("event") for record in line.store.all_records()}
        if what == "written" and "rewound" in events:
            is_there.set()

    line.listeners.append(listen)

    line.rewind("one")

    assert is_there.wait(timeout=30)


def test_a_listener_that_fails_is_told_and_harms_nobody(line: Session) -> None:
    def failing(what: str) -> None:
        raise RuntimeError(what)

    line.listeners.append(failing)

    line.rewind("one")
    line.tag("one", "best")

    assert line.namespace["x"] == [1]
    line.wait()
    assert sorted(line.writes.news) == [
        "a listener failed at 'moved': RuntimeError: moved",
        "a listener failed at 'tag': RuntimeError: tag",
        "a listener failed at 'written': RuntimeError: written",
    ]
