"""Checkpoints asked for by name, and looked at: `%checkpoint`, `get`, `history`, `wait`."""

from __future__ import annotations

import datetime as dt
import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from nbckpt.errors import CheckpointNotFoundError, StoreError, VariableNotFoundError
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.execution.step_state import StepState
from nbckpt.storage.store import Store
from tests.notebooks import define, restart


def run(shell: Any, source: str, cell_id: str | None = None) -> Any:
    return shell.run_cell(source, store_history=True, cell_id=cell_id)


@pytest.fixture
def open_session(session: Session) -> Any:
    """A session that `nbckpt.get(…)` and the like mean."""
    yield current_session.begin(session)
    current_session.end()


def step(session: Session, name: str, source: str) -> None:
    """Run `source` in the session's namespace, then checkpoint."""
    define(source, session.namespace)
    session.workspace.ran(None)
    session.checkpoint(name)


# -- the line magic


def test_the_line_magic_keeps_what_is_there_now(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "x = [1, 2]; y = {'a': x}")
    capsys.readouterr()

    result = run(shell, "%checkpoint here --tag good --note 'before the change'")

    assert result.success
    assert "checkpoint 'here'" in capsys.readouterr().out
    look = nbckpt.get("here")
    assert (look.tags, look.note, look.cell.source) == (("good",), "before the change", "")
    assert look.values["y"] == {"a": [1, 2]}


def test_the_line_magic_below_other_lines_sees_what_they_did(shell: Any) -> None:
    run(shell, "x = [1]")

    run(shell, "x.append(2)\n%checkpoint here\nx.append(3)")

    assert nbckpt.get("here").values["x"] == [1, 2]
    assert shell.user_ns["x"] == [1, 2, 3]


def test_the_line_magic_keeps_only_the_variables_that_were_named(shell: Any) -> None:
    run(shell, "x = 1; y = 2")

    run(shell, "%checkpoint here --vars x")

    assert dict(nbckpt.get("here").values) == {"x": 1}


def test_the_line_magic_refuses_a_variable_that_does_not_exist(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "xylophone = 1")

    result = run(shell, "%checkpoint here --vars xylofone")

    assert not result.success
    assert "no variable 'xylofone'" in capsys.readouterr().out
    assert current_session.session().history() == []


# -- looking at a checkpoint


def test_the_history_tells_of_each_checkpoint_newest_first(open_session: Session) -> None:
    step(open_session, "one", "x = 1")
    step(open_session, "two", "y = [x]")

    newest, oldest = nbckpt.history()

    assert [newest.name, oldest.name] == ["two", "one"]
    assert (newest.parent, oldest.parent) == (oldest.id, None)
    assert (newest.branch, newest.notebook, newest.state) == ("main", "test", "done")
    assert newest.changed == ("y",)
    assert set(newest.variables) == {"x", "y"}
    assert oldest.next == ("two",)
    assert newest.refused == ()
    assert 0 <= newest.duration_s < 60
    age = dt.datetime.now(dt.UTC) - newest.created_at
    assert dt.timedelta(0) <= age < dt.timedelta(minutes=1)
    assert newest.metadata["session"] == open_session.id


def test_a_variable_tells_its_type_shape_size_and_preview(open_session: Session) -> None:
    step(open_session, "one", "import numpy as np\na = np.zeros((3, 4))\nwords = ['to', 'be']")

    variables = nbckpt.get("one").variables

    assert (variables["a"].type_name, variables["a"].shape) == ("numpy.ndarray", "3 x 4")
    assert variables["a"].size_bytes >= 96
    assert "to" in variables["words"].preview


def test_looking_at_values_leaves_the_namespace_alone(open_session: Session) -> None:
    step(open_session, "one", "x = [1]")
    step(open_session, "two", "x.append(2)")

    then = nbckpt.get("one").values["x"]
    assert isinstance(then, list)
    then.append("mine")

    assert then == [1, "mine"]
    assert open_session.namespace["x"] == [1, 2]
    assert nbckpt.get("one").values["x"] == [1]


def test_a_function_that_is_looked_at_sees_the_variables_of_its_checkpoint(
    open_session: Session,
) -> None:
    step(
        open_session,
        "one",
        "rate = 2\ndef f(x):\n    return g(x) * rate\ndef g(x):\n    return x + 1",
    )
    step(open_session, "two", "rate = 100\ndef g(x):\n    return -1")

    old, new = nbckpt.get("one").values["f"], nbckpt.get("two").values["f"]

    assert callable(old)
    assert callable(new)
    assert (old(1), new(1)) == (4, -100)


def test_a_function_that_is_looked_at_does_not_change_the_notebook(open_session: Session) -> None:
    step(
        open_session,
        "one",
        "count = 0\ndef f():\n    global count\n    count += 1\n    return count",
    )

    f = nbckpt.get("one").values["f"]
    assert callable(f)

    assert (f(), f()) == (1, 2)
    assert open_session.namespace["count"] == 0


def test_values_that_shared_an_object_share_it_when_they_are_looked_at(
    open_session: Session,
) -> None:
    step(open_session, "one", "a = [1]\nb = {'a': a}")

    values = nbckpt.get("one").values

    assert values["b"]["a"] is values["a"]  # type: ignore[index]


def test_a_checkpoint_and_a_variable_that_do_not_exist_are_named(open_session: Session) -> None:
    step(open_session, "embed", "vectors = [1]")

    with pytest.raises(CheckpointNotFoundError, match="embd"):
        nbckpt.get("embd")
    with pytest.raises(VariableNotFoundError, match="no variable 'vector'"):
        nbckpt.get("embed").values["vector"]


# -- until it is durable


def test_what_was_waited_for_is_there_for_another_reader(
    open_session: Session, tmp_path: Path
) -> None:
    step(open_session, "one", "x = list(range(100_000))")
    nbckpt.wait()

    other = Session(Store.open(tmp_path / ".nbckpt", create=False), {})
    values = [c.name for c in other.history()]
    other.store.close()

    assert values == ["one"]


def test_waiting_raises_what_could_not_be_written(open_session: Session) -> None:
    def refuse() -> None:
        message = "the disk is full"
        raise StoreError(message)

    open_session.store.queue.in_background(refuse)

    with pytest.raises(StoreError, match="the disk is full"):
        nbckpt.wait()


# -- a step that is restored


@pytest.mark.slow
def test_a_restored_cell_brings_back_what_its_variables_shared(shell: Any) -> None:
    run(shell, "base = [1]", cell_id="one")
    cell = "%%checkpoint more\nbase.append(2)\nalias = base"
    run(shell, cell, cell_id="two")
    restart(shell)
    run(shell, "base = [1]", cell_id="one")

    run(shell, cell, cell_id="two")

    assert not current_session.session().state(StepState).latest["more"].todo
    assert shell.user_ns["base"] == [1, 2]
    assert shell.user_ns["alias"] is shell.user_ns["base"]


@pytest.mark.slow
def test_a_cell_that_deleted_a_variable_deletes_it_when_it_is_restored(shell: Any) -> None:
    run(shell, "raw = [1, 2]")
    cell = "%%checkpoint tidy\ntotal = sum(raw)\ndel raw"
    run(shell, cell)
    restart(shell)
    run(shell, "raw = [1, 2]")

    run(shell, cell)

    assert not current_session.session().state(StepState).latest["tidy"].todo
    assert shell.user_ns["total"] == 3
    assert "raw" not in shell.user_ns


SOURCES = pytest.mark.parametrize("module", ["random", "sympy.core.random"])


@pytest.mark.slow
@SOURCES
def test_a_cell_that_draws_random_numbers_runs_again_from_another_seed(
    shell: Any, module: str
) -> None:
    cell = "%%checkpoint draw\ndrawn = source.random()"
    run(shell, f"import {module} as source; source.seed(1)")
    run(shell, cell)
    first = shell.user_ns["drawn"]
    restart(shell)
    run(shell, f"import {module} as source; source.seed(2)")

    run(shell, cell)

    assert current_session.session().state(StepState).latest["draw"].todo
    assert shell.user_ns["drawn"] != first


@pytest.mark.slow
@SOURCES
def test_a_cell_that_draws_random_numbers_is_restored_from_the_same_seed(
    shell: Any, module: str
) -> None:
    cell = "%%checkpoint draw\ndrawn = source.random()"
    run(shell, f"import {module} as source; source.seed(1)")
    run(shell, cell)
    run(shell, "after = source.random()")
    first, after = shell.user_ns["drawn"], shell.user_ns["after"]
    restart(shell)
    run(shell, f"import {module} as source; source.seed(1)")

    run(shell, cell)
    run(shell, "after = source.random()")

    assert not current_session.session().state(StepState).latest["draw"].todo
    assert (shell.user_ns["drawn"], shell.user_ns["after"]) == (first, after)


@pytest.mark.parametrize("ask", ["source.getstate()", "state()"])
def test_a_cell_that_asks_where_a_generator_stands_reads_it(shell: Any, ask: str) -> None:
    cell = f"%%checkpoint asked\nfound = {ask}"
    run(shell, "import random as source; source.seed(1)\ndef state(): return source.getstate()")
    run(shell, "source.random()")
    run(shell, cell)
    run(shell, "source.seed(1)")

    run(shell, cell)

    assert current_session.session().state(StepState).latest["asked"].todo
    run(shell, "source.seed(1)")
    run(shell, cell)
    assert not current_session.session().state(StepState).latest["asked"].todo


def test_a_cell_asked_to_rerun_runs(shell: Any) -> None:
    run(shell, "%%checkpoint a\nopen_log = [1]")

    run(shell, "%%checkpoint a --rerun\nopen_log = [1]")

    assert current_session.session().state(StepState).latest["a"].todo
    assert [c.name for c in current_session.session().history()] == ["a", "a"]


# -- what it costs


@pytest.mark.parametrize("made", ["np.arange(9000.)", "np.arange(9.)", "Holder(np.arange(9000.))"])
def test_a_value_that_the_notebook_lets_go_of_is_freed_at_once(
    open_session: Session, made: str
) -> None:
    definition = "import numpy as np\nclass Holder:\n    def __init__(self, a):\n        self.a = a"
    step(open_session, "one", f"{definition}\nbig = {made}")
    freed: list[int] = []
    weakref.finalize(open_session.namespace["big"], freed.append, 1)
    enabled = gc.isenabled()
    gc.disable()

    try:
        step(open_session, "two", "big = None")
        freed_then = list(freed)
    finally:
        if enabled:
            gc.enable()

    assert freed_then == [1]
