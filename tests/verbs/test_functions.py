"""The calls of `import nbckpt`, in a script of its own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from nbckpt.config import auto_policy
from nbckpt.errors import (
    BranchExistsError,
    BranchNotFoundError,
    CheckpointNotFoundError,
    NbckptError,
    UsageError,
)
from nbckpt.steps import current_session

Space = dict[str, Any]


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Space]:
    """A namespace with `load` and `use` on `main`."""
    monkeypatch.delenv("NBCKPT_STORE", raising=False)
    namespace: Space = {"__name__": "__main__", "k": 1, "messages": ["hi"]}
    session = nbckpt.open(tmp_path / ".nbckpt", namespace=namespace, notebook="train")
    session.checkpoint("load")
    namespace["y"] = 2
    session.checkpoint("use")
    yield namespace
    current_session.end()
    session.store.close()


def test_a_fork_takes_values_under_any_name(space: Space) -> None:
    nbckpt.fork("load", "wide", k=5, ref="a", branch="b")

    assert (space["k"], space["ref"], space["branch"]) == (5, "a", "b")
    assert nbckpt.history()[0].metadata["made_by"] == "fork"
    assert nbckpt.history()[0].heads == ("wide",)


def test_a_switch_goes_to_a_head_and_a_rewind_back(space: Space) -> None:
    nbckpt.fork("load")
    nbckpt.switch("main")
    assert space["y"] == 2

    nbckpt.rewind("-")

    assert "y" not in space


def test_an_event_may_be_a_number(space: Space) -> None:
    current_session.session().policy = auto_policy.parse("event")

    nbckpt.event(3)

    assert nbckpt.get("3").id == nbckpt.history()[0].id


def test_a_look_at_a_checkpoint_is_a_reference_to_it(space: Space) -> None:
    load = nbckpt.history()[-1]
    nbckpt.tag(load, "best")
    nbckpt.note(load, "a note")

    assert (nbckpt.get(load).tags, nbckpt.get(load).note) == (("best",), "a note")
    assert nbckpt.diff(load, nbckpt.get("use")).variables[-1].name == "y"
    assert nbckpt.fork(load, "wide").checkpoint.id == load.id
    assert nbckpt.rewind(load).checkpoint.id == load.id


def test_the_history_is_that_of_a_branch_or_of_all(space: Space) -> None:
    nbckpt.fork("load", "wide", k=5)

    assert [look.name for look in nbckpt.history()] == ["load", "load"]
    assert [look.name for look in nbckpt.history("main")] == ["use", "load"]
    assert [look.name for look in nbckpt.history(all=True)] == ["load", "use", "load"]


def test_values_given_by_hand_go_through_reducers(space: Space) -> None:
    nbckpt.reducer("messages", operator.add)

    look = nbckpt.update("use", {"messages": ["there"], "k": 7})

    assert space["messages"] == ["hi", "there"]
    assert (look.name, look.metadata["made_by"], look.values["k"]) == ("use", "update", 7)

    nbckpt.reducer("messages", None)
    nbckpt.update("main", {"messages": []})

    assert space["messages"] == []


def test_tags_and_notes_are_on_the_look_that_comes_back(space: Space) -> None:
    assert nbckpt.tag("load", "raw", "old").tags == ("raw", "old")
    assert nbckpt.tag("load", "old", delete=True).tags == ("raw",)
    assert nbckpt.note("load", "the beginning").note == "the beginning"
    assert nbckpt.get("load").metadata["tags"] == ("raw",)


def test_a_difference_is_told_of_two_checkpoints_or_of_what_is_there(space: Space) -> None:
    assert "y" in str(nbckpt.diff("load", "use"))
    space["new"] = 3

    assert "new" in str(nbckpt.diff("use"))


def test_a_prune_tells_what_went(space: Space) -> None:
    dry = nbckpt.prune(keep_last=1, dry_run=True)
    assert len(nbckpt.history()) == 2

    pruned = nbckpt.prune(keep_last=1)

    assert [name for _, name in pruned.checkpoints] == ["load"]
    assert dry.checkpoints == pruned.checkpoints
    assert repr(dry).startswith("<would prune 1 checkpoint, would free ")
    assert repr(pruned).startswith("<pruned 1 checkpoint, freed ")
    assert repr(pruned).endswith("; 1 kept>")
    assert [look.name for look in nbckpt.history()] == ["use"]
    space.clear()
    nbckpt.rewind("use")
    assert (space["k"], space["y"]) == (1, 2)


def test_everything_public_is_documented_and_typed() -> None:
    for name in set(nbckpt.__all__) - {"__version__"}:
        assert getattr(nbckpt, name).__doc__, name


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: nbckpt.fork("laod"), CheckpointNotFoundError, "did you mean 'load'"),
        (lambda: nbckpt.fork("load", "main"), BranchExistsError, "branch 'main' exists"),
        (lambda: nbckpt.fork("load", "a b"), UsageError, "'a b' is no name for a branch"),
        (lambda: nbckpt.switch("mian"), BranchNotFoundError, "did you mean 'main'"),
        (lambda: nbckpt.rerun("use"), UsageError, "nothing was recorded after 'use'"),
        (lambda: nbckpt.rewind(3), UsageError, "3 is no checkpoint"),  # type: ignore[arg-type]
        (lambda: nbckpt.diff("load", 3), UsageError, "3 is no checkpoint"),  # type: ignore[arg-type]
        (lambda: nbckpt.update("load", [1]), UsageError, "write {'name': value}"),  # type: ignore[arg-type]
        (lambda: nbckpt.update("load", {}), UsageError, "give the values"),
        (lambda: nbckpt.update("load", {"k": 1}, "nothing"), UsageError, "no step 'nothing'"),
        (lambda: nbckpt.update("load", {"2k": 1}), UsageError, "'2k' is no name of a variable"),
        (lambda: nbckpt.reducer("k", 5), UsageError, "the reducer of 'k' is 5"),  # type: ignore[arg-type]
        (lambda: nbckpt.tag("load"), UsageError, "say which tag"),
        (lambda: nbckpt.note("laod", ""), CheckpointNotFoundError, "did you mean 'load'"),
        (lambda: nbckpt.diff("laod"), CheckpointNotFoundError, "did you mean 'load'"),
        (lambda: nbckpt.history("mian"), CheckpointNotFoundError, "did you mean 'main'"),
        (lambda: nbckpt.event("~1"), UsageError, "'~1' is no name of a checkpoint"),
        (lambda: nbckpt.event(""), UsageError, "'' is no name of a checkpoint"),
        (lambda: nbckpt.checkpoint("a@2"), UsageError, "'a@2' is no name of a checkpoint"),
        (lambda: nbckpt.checkpoint("-"), UsageError, "'-' is no name of a checkpoint"),
        (lambda: current_session.session().checkpoint("a b"), UsageError, "'a b' is no name of"),
        (lambda: nbckpt.tag("load", 3), UsageError, "a tag is given as text"),  # type: ignore[arg-type]
        (lambda: nbckpt.note("load", 3), UsageError, "a note is given as text"),  # type: ignore[arg-type]
        (lambda: nbckpt.fork("load", 3), UsageError, "of a branch is given as text"),  # type: ignore[arg-type]
        (lambda: nbckpt.switch(3), UsageError, "of a branch is given as text"),  # type: ignore[arg-type]
        (lambda: nbckpt.resume(3), UsageError, "of a branch is given as text"),  # type: ignore[arg-type]
        (lambda: nbckpt.history(3), UsageError, "3 is no checkpoint"),  # type: ignore[arg-type]
        (lambda: nbckpt.sql(3), UsageError, "a query is given as text"),  # type: ignore[arg-type]
        (lambda: nbckpt.update("load", {3: 1}), UsageError, "variable is given as text"),  # type: ignore[dict-item]
        (lambda: nbckpt.update("load", {"k": 1}, 3), UsageError, "step is given as text"),  # type: ignore[arg-type]
        (lambda: nbckpt.reducer(3, max), UsageError, "variable is given as text"),  # type: ignore[arg-type]
        (lambda: nbckpt.prune(keep_last="x"), UsageError, "keep_last is 'x'"),  # type: ignore[arg-type]
        (lambda: nbckpt.prune(keep_days="x"), UsageError, "keep_days is 'x'"),  # type: ignore[arg-type]
        (lambda: nbckpt.prune(max_size=[1]), UsageError, "max_size is [1]"),  # type: ignore[arg-type]
        (lambda: nbckpt.prune(drop=3), UsageError, "to drop is given as text"),  # type: ignore[arg-type]
        (lambda: nbckpt.prune(keep_last=0), UsageError, "keep_last is 0"),
        (lambda: nbckpt.prune(keep_days=-1), UsageError, "keep_days is -1"),
        (lambda: nbckpt.prune(max_size="much"), UsageError, "'much' is no size"),
        (lambda: nbckpt.prune(drop="main"), UsageError, "this session is on branch 'main'"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(
    space: Space, call: Callable[[], object], error: type[NbckptError], told: str
) -> None:
    before, records = dict(space), len(nbckpt.history(all=True))

    with pytest.raises(error) as refused:
        call()

    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert space == before
    assert len(nbckpt.history(all=True)) == records


def test_without_a_session_every_call_says_how_to_open_one() -> None:
    current_session.end()

    with pytest.raises(UsageError, match="no store is open"):
        nbckpt.fork("load")
