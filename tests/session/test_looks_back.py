"""Going back to look at something leaves nothing behind, until something is made from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbckpt.session.session import Session
from nbckpt.session.shutdown import end
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention

Opens = Callable[..., Session]


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """Opens the notebook's next session, after the one before it has ended."""
    before: list[Session] = []

    def opened(notebook: str = "analysis") -> Session:
        finish(before)
        session = Session(Store.open(tmp_path / "store"), {}, notebook=notebook)
        before.append(session)
        return session

    yield opened
    finish(before)


def finish(sessions: list[Session]) -> None:
    for session in sessions:
        end(session)
        session.store.close()
    sessions.clear()


@pytest.fixture
def line(opens: Opens) -> Session:
    session = opens()
    for name in ("a", "b", "c"):
        session.namespace["x"] = name
        session.checkpoint(name)
    return session


def kept(session: Session) -> list[str]:
    timeline = session.timeline
    return [timeline.checkpoints[i].name for i in timeline.newest_first()]


def heads(session: Session) -> dict[str, str]:
    return {n: session.timeline.checkpoints[i].name for n, i in session.timeline.branches.items()}


def test_looks_leave_neither_rows_nor_branches(line: Session) -> None:
    for ref in ("a", "b", "c", "a", "-", "~1"):
        line.rewind(ref)

    assert kept(line) == ["c", "b", "a"]
    assert heads(line) == {"main": "c"}
    assert line.namespace["x"] == "b"
    assert line.position.branch == "main"


def test_what_was_unsaved_is_kept_once_and_on_the_branch(line: Session) -> None:
    line.namespace["y"] = 1
    for ref in ("a", "b", "a", "c"):
        line.rewind(ref)

    assert kept(line) == ["before-rewind", "c", "b", "a"]
    assert heads(line) == {"main": "before-rewind"}


@pytest.mark.parametrize("made", ["d", "b"])
def test_the_first_that_is_made_there_takes_the_branch_along(line: Session, made: str) -> None:
    line.rewind("a")
    line.namespace["x"] = "other"

    line.checkpoint(made)

    assert heads(line) == {"main": made, "main.1": "c"}
    assert line.get("c@1") if made == "c" else line.get("main.1").name == "c"


def test_a_look_at_another_branch_goes_on_there(line: Session) -> None:
    line.fork("a", "try-2", values={"k": 5})
    line.checkpoint("fitted")
    line.switch("main")

    line.rewind("try-2")
    assert (line.position.branch, heads(line)["main"]) == ("try-2", "c")
    line.checkpoint("scored")

    assert heads(line) == {"main": "c", "try-2": "scored"}


def test_back_from_another_branch_is_the_one_before(line: Session) -> None:
    line.fork("a", "try-2", values={"k": 5})
    line.switch("main")
    line.rewind("try-2")

    line.rewind("-")

    assert line.position.branch == "main"
    assert heads(line) == {"main": "c", "try-2": "a"}


def test_a_resume_is_where_the_notebook_looked(line: Session, opens: Opens) -> None:
    line.rewind("a")
    again = opens()

    again.resume(None)

    assert again.namespace["x"] == "a"
    assert heads(again) == {"main": "c"}
    assert again.get("b").name == "b", "the newer ones are found by their names"
    again.resume("main")
    assert again.namespace["x"] == "c"
    third = opens()
    third.resume(None)
    assert third.namespace["x"] == "c", "a branch that was asked for ends the look"


def test_a_resume_is_where_work_went_on_after_a_look(line: Session, opens: Opens) -> None:
    line.rewind("a")
    line.namespace["x"] = "d"
    line.checkpoint("d")
    again = opens()

    again.resume(None)

    assert again.namespace["x"] == "d"


def test_a_look_from_a_resumed_look_can_be_left_with_work(line: Session, opens: Opens) -> None:
    line.rewind("a")
    again = opens()
    again.resume(None)
    again.namespace["x"] = "d"
    again.checkpoint("d")

    assert heads(again) == {"main": "d", "main.1": "c"}


def test_a_prune_keeps_what_a_notebook_looks_at(line: Session, opens: Opens) -> None:
    line.rewind("a")
    opens("other")
    prune(opens("third").store, Retention(keep_last=1))
    again = opens()

    assert kept(again) == ["c", "a"]
    again.resume(None)
    assert again.namespace["x"] == "a"


def test_another_notebook_looks_nowhere(line: Session, opens: Opens) -> None:
    line.rewind("a")

    other = opens("other")

    assert other.timeline.look_of("main", "other") is None
    assert other.timeline.look_of("main", "analysis") is not None


def test_other_bytes_of_an_equal_value_are_nothing_unsaved(line: Session) -> None:
    frame = pd.DataFrame({"x": range(5)})
    line.namespace.update(frame=frame, sums=(frame * 2).sum())
    line.checkpoint("d")
    line.rewind("c")
    line.rewind("d")  # a Series is written with what it has cached

    line.rewind("a")

    assert kept(line) == ["d", "c", "b", "a"]


def test_other_ties_between_equal_values_are_something_unsaved(line: Session) -> None:
    line.namespace.update(p=[1], q=[1])
    line.checkpoint("d")
    line.namespace["q"] = line.namespace["p"]

    line.rewind("a")
    line.rewind("before-rewind")

    assert line.namespace["q"] is line.namespace["p"]


def test_which_object_another_variable_shares_is_unsaved_too(line: Session) -> None:
    one, other = [1], [1]
    line.namespace.update(both=[one, other], x=[one])
    line.checkpoint("shared")
    line.namespace["x"] = [other]

    line.rewind("a")
    line.rewind("-")

    both, x = line.namespace["both"], line.namespace["x"]
    assert isinstance(both, list)
    assert isinstance(x, list)
    assert x[0] is both[1]


def test_the_flags_of_an_array_are_something_unsaved(line: Session) -> None:
    line.namespace["table"] = np.arange(5)
    line.checkpoint("table")
    array: Any = line.namespace["table"]
    array.flags.writeable = False

    line.rewind("~1")
    line.rewind("-")

    now: Any = line.namespace["table"]
    assert not now.flags.writeable
