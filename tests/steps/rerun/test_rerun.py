"""Recorded cells run again without Jupyter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nbckpt.capture.selection import Selection
from nbckpt.errors import CheckpointNotFoundError, UsageError
from nbckpt.model import Cell, Checkpoint
from nbckpt.session.history.recorded_cells import recorded, without_marker
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.rerun.plan import made_between, plan
from nbckpt.steps.rerun.rerun import rerun

SCRIPT = """
import nbckpt
with nbckpt.checkpoint('start') as step:
    if step.todo:
        k = 2
with nbckpt.checkpoint('twice') as step:
    if step.todo:
        twice = 2 * k
with nbckpt.checkpoint('other') as step:
    if step.todo:
        other = [1]
"""


@pytest.fixture
def script(session: Session, tmp_path: Path) -> Session:
    """A session in which a script ran."""
    current_session.begin(session)
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    exec(compile(SCRIPT, str(file), "exec"), session.namespace)
    return session


def kept(name: str, source: str = "x = 1", **members: object) -> Checkpoint:
    made = Checkpoint(name, None, name, "main", "s", "n", 0.0, 0.0, Cell(source, 1))
    return replace(made, **members)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_script_runs_its_recorded_blocks_again(script: Session) -> None:
    script.fork("start", values={"k": 5})

    done = rerun(script)

    assert [(c.name, c.state) for c in done.cells] == [("twice", "run"), ("other", "restored")]
    assert script.namespace["twice"] == 10


def test_a_script_tells_that_a_magic_needs_a_kernel(script: Session) -> None:
    script.checkpoints.commit(
        replace(
            script.checkpoints.draft(
                "magic",
                script.checkpoints.capture(Selection()),
                cell=Cell("%time x = 1", 9),
                duration_s=0,
            )
        )
    )

    done = rerun(script, "other")

    assert [c.state for c in done.cells] == ["failed"]
    assert "magics and top-level `await` need the notebook's kernel" in str(done.error)


def test_an_unknown_reference_is_refused_before_anything_moves(script: Session) -> None:
    position = script.position.id

    with pytest.raises(CheckpointNotFoundError, match="'strat'"):
        rerun(script, "strat")

    assert script.position.id == position


def test_a_rerun_inside_a_rerun_is_refused(script: Session) -> None:
    code = (
        "import nbckpt\nwith nbckpt.checkpoint('nested') as step:\n    if step.todo:\n"
        "        from nbckpt.steps import current_session as current\n"
        "        from nbckpt.steps.rerun import rerun as reruns\n"
        "        reruns.rerun(current.session(), 'start')"
    )
    script.checkpoints.commit(replace(
        script.checkpoints.draft("nested", script.checkpoints.capture(Selection()), cell=Cell(code), duration_s=0)))  # fmt: skip

    done = rerun(script, "other", everything=True)

    assert "a rerun is under way" in str(done.error)


def test_the_plan_changes_nothing(script: Session) -> None:
    position, names = script.position.id, dict(script.namespace)

    planned = plan(script, "start")

    assert [piece.name for piece in planned.cells] == ["twice", "other"]
    assert (script.position.id, dict(script.namespace)) == (position, names)


def test_an_empty_history_says_what_to_do(session: Session) -> None:
    with pytest.raises(UsageError, match="nothing was recorded yet: put `%%checkpoint NAME`"):
        plan(session, None)


def test_a_line_is_told_as_pieces_of_code_each_once() -> None:
    block = "with nbckpt.checkpoint('b'):\n    y = 1"
    line = [
        kept("a"),
        kept("b", block, cell=Cell(block)),
        kept("c", f"z = 0\n{block}", joined=(Cell("j = 1", 2),)),
        kept("d", ""),
        kept("e", "k = 5", made_by="fork"),
    ]

    pieces = recorded(line)

    assert [(p.checkpoint.name, p.kind) for p in pieces] == [
        ("a", "cell"), ("c", "joined"), ("c", "cell"), ("d", "nothing"), ("e", "nothing"),
    ]  # fmt: skip


def test_what_no_recorded_code_made_is_told() -> None:
    made = kept("a", removed=("gone", "z"), bound=("x", "z"))

    assert made_between(made) == {"gone"}
    assert made_between(replace(made, joined=(Cell("del gone"),))) == set()
    assert made_between(replace(made, cell=Cell(""))) == {"gone", "z"}


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("%%checkpoint a --vars x\nx = 1\n", "x = 1\n"),
        ("%%time\n%%checkpoint a\nx = 1", "%%time\nx = 1"),
        ("x = 1\n%%checkpointed", "x = 1\n%%checkpointed"),
        ("%%checkpoint\nx", "x"),
    ],
)
def test_the_marker_is_no_code(typed: str, code: str) -> None:
    assert without_marker(typed) == code


def test_a_rerun_tells_who_listens(script: Session) -> None:
    told: list[str] = []
    script.listeners.append(told.append)

    rerun(script, "start", everything=True)

    assert told.count("checkpoint") == 2
    assert [what for what in told if what != "written"][-1] == "moved"
