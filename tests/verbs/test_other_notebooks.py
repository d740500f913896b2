"""Moves to what another notebook of the folder has made: asked about, by name, at every door."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import UsageError
from nbckpt.jupyter import confirming
from nbckpt.jupyter.shell import attached, load, unload
from nbckpt.jupyter.views import Views
from nbckpt.steps import current_session
from tests.notebooks import run
from tests.running import environment

MOVES = ["rewind", "fork", "rerun", "switch", "resume"]


def become(shell: Any, notebook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin anew as a notebook of this name."""
    unload(shell)
    shell.reset(new_session=False)
    monkeypatch.setenv("NBCKPT_NOTEBOOK", notebook)
    load(shell)


@pytest.fixture
def two(shell: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The shell as notebook `mine`, beside a notebook `other`; each has made a checkpoint."""
    become(shell, "other", monkeypatch)
    run(shell, "%%checkpoint theirs\nx = 'theirs'")
    run(shell, "%%checkpoint theirs-2\ny = x * 2")
    current_session.session().wait()
    become(shell, "mine", monkeypatch)
    run(shell, "x = 'mine'")
    run(shell, "%checkpoint own")
    return shell


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool | None], list[str]]:
    """Have the user answer so; the questions that he is asked."""

    def to(answer: bool | None) -> list[str]:
        asked: list[str] = []

        def confirmed(_: Any, question: str) -> bool | None:
            asked.append(question)
            return answer

        monkeypatch.setattr(confirming, "confirmed", confirmed)
        return asked

    return to


def target(move: str) -> str:
    """What the other notebook has, as `move` takes it."""
    if move in ("switch", "resume"):
        return "main"
    found: Any = current_session.session().timeline.named("theirs")
    return str(found[0].id[:10])


def moved_to(shell: Any, move: str) -> str:
    run(shell, f"%{move} {target(move)}")
    return str(shell.user_ns["x"])


@pytest.mark.parametrize("move", MOVES)
def test_a_magic_asks_by_name_and_goes_there_on_a_yes(two: Any, answers: Any, move: str) -> None:
    asked = answers(True)

    assert moved_to(two, move) == "theirs"

    [question] = asked
    assert "of the notebook 'other', and this is 'mine'" in question


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize(
    ("answer", "told"), [(False, "nothing was changed"), (None, "add --other-notebook to go there")]
)
def test_nothing_moves_on_a_no_nor_where_nobody_can_be_asked(
    two: Any, answers: Any, move: str, answer: bool | None, told: str
) -> None:
    answers(answer)
    session = current_session.session()
    before = dict(session.timeline.branches), session.position.id

    with pytest.raises(UsageError, match=told):
        moved_to(two, move)

    assert two.user_ns["x"] == "mine"
    assert (dict(session.timeline.branches), session.position.id) == before


@pytest.mark.parametrize("move", MOVES)
def test_the_option_goes_there_unasked(two: Any, answers: Any, move: str) -> None:
    asked = answers(False)

    run(two, f"%{move} {target(move)} --other-notebook")

    assert two.user_ns["x"] == "theirs"
    assert asked == []


def test_a_fork_takes_the_option_among_its_values(two: Any, answers: Any) -> None:
    answers(False)

    run(two, f"%fork {target('fork')} --other-notebook k=3, y=[1, 2]")

    names = two.user_ns
    assert (names["x"], names["k"], names["y"]) == ("theirs", 3, [1, 2])


def test_its_own_line_is_gone_to_unasked_also_where_another_began_it(
    two: Any, answers: Any
) -> None:
    asked = answers(True)
    moved_to(two, "fork")
    run(two, "z = 1")
    run(two, "%checkpoint beyond")
    begun = target("rewind")
    asked.clear()

    run(two, "%switch mine")
    run(two, "%rewind -")
    run(two, f"%rewind {begun}")
    run(two, "%rewind -")
    run(two, f"%fork {begun}")

    assert asked == []
    assert two.user_ns["x"] == "theirs"


def test_a_page_lists_whose_they_are_and_says_when_it_means_another(two: Any) -> None:
    views = Views.of(attached(two).cells)
    listed, status = views.now()

    assert status["notebook"] == "mine"
    assert {row["name"]: (row["notebook"], row["own"]) for row in listed.rows} == {
        "theirs": ("other", False),
        "theirs-2": ("other", False),
        "own": ("mine", True),
    }
    refused = views.write("rewind", {"ref": target("rewind")})
    assert (refused["ok"], refused["kind"]) == (False, "UsageError")
    done = views.write("rewind", {"ref": target("rewind"), "other_notebook": True})
    assert done["ok"]
    assert two.user_ns["x"] == "theirs"
    rows = {row["name"]: row["own"] for row in views.now()[0].rows}
    assert (rows["theirs"], rows["theirs-2"]) == (True, False)


def test_the_command_line_asks_at_a_terminal_alone(two: Any, tmp_path: Path) -> None:
    current_session.session().wait()

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "nbckpt", *words, "--notebook", "mine"],
            cwd=tmp_path,
            env={**environment(), "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    for move in ("rewind", "fork", "switch", "rerun"):
        refused = command(move, target(move))
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "'other', and this is 'mine': add --other-notebook to go there" in refused.stderr

    done = command("rewind", target("rewind"), "--other-notebook", "--json")
    assert json.loads(done.stdout)["name"] == "theirs"


def test_the_option_in_a_text_is_a_part_of_it(two: Any, answers: Any) -> None:
    asked = answers(True)

    run(two, f"%fork {target('fork')} aside q='x --other-notebook y'")

    assert two.user_ns["q"] == "x --other-notebook y"
    assert len(asked) == 1


def test_a_page_that_reruns_or_resumes_another_is_asked_too(two: Any) -> None:
    views = Views.of(attached(two).cells)

    for op, args in (("rerun", {"ref": target("rerun")}), ("resume", {"branch": "main"})):
        assert "and this is 'mine'" in views.write(op, args)["error"]
    assert two.user_ns["x"] == "mine"


def test_the_command_line_asks_too_where_no_notebook_is_named(two: Any, tmp_path: Path) -> None:
    current_session.session().wait()
    words = ["rewind", target("rewind")]

    done = subprocess.run(
        [sys.executable, "-m", "nbckpt", *words],
        cwd=tmp_path,
        env={**environment(), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "and this is 'mine'" in done.stderr


def test_a_console_with_anothers_branch_opens_once_it_was_agreed_to(
    two: Any, tmp_path: Path
) -> None:
    current_session.session().wait()
    words = ["resume", "main", "--other-notebook", "-c", "print('x is', x)", "--notebook", "mine"]

    done = subprocess.run(
        [sys.executable, "-m", "nbckpt", *words],
        cwd=tmp_path,
        env={**environment(), "NO_COLOR": "1", "IPYTHONDIR": str(tmp_path / ".ipython")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "x is theirs" in done.stdout
