"""Questions of steps that are run again, forked, and paid anew; in a real shell."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import nbckpt

ASK = "%%checkpoint clean\nimport nbckpt\nok = bool(nbckpt.approve('delete?', [k]))"


@pytest.fixture
def answered(shell: Any) -> Callable[[str, str], int]:
    """Runs a cell, and answers what it asks; how many questions that were."""

    def run(source: str, verdict: str) -> int:
        before = len(nbckpt.approvals())
        done = threading.Event()

        def answer() -> None:
            while not done.wait(0.01):
                for asked in nbckpt.approvals(waiting=True):
                    nbckpt.answer(asked, verdict)

        person = threading.Thread(target=answer)
        person.start()
        try:
            result = shell.run_cell(source)
        finally:
            done.set()
            person.join()
        assert result.success, result.error_in_exec
        return len(nbckpt.approvals()) - before

    shell.run_cell("%checkpoint start")
    shell.run_cell("%%checkpoint load\nk = 1")
    assert run(ASK, "approve") == 1
    return run


@pytest.mark.slow
def test_a_rerun_asks_nothing_that_was_answered(
    shell: Any, answered: Callable[[str, str], int]
) -> None:
    assert answered("%rerun load --all", "refuse") == 0

    assert shell.user_ns["ok"] is True


@pytest.mark.slow
def test_a_fork_with_other_data_asks_anew_and_keeps_both(
    shell: Any, answered: Callable[[str, str], int]
) -> None:
    assert answered("%fork load other k=2", "refuse") == 0
    assert answered("%rerun", "refuse") == 1
    assert shell.user_ns["ok"] is False

    shell.run_cell("%switch main")
    assert shell.user_ns["ok"] is True
    assert answered("%rerun load --all", "refuse") == 0
    assert shell.user_ns["ok"] is True


def test_an_edited_cell_keeps_its_answer(shell: Any, answered: Callable[[str, str], int]) -> None:
    assert answered(ASK + "\nlater = True", "refuse") == 0

    assert shell.user_ns["ok"] is True


@pytest.mark.slow
def test_what_is_rerun_afresh_asks_anew_and_the_newest_answer_counts(
    shell: Any, answered: Callable[[str, str], int]
) -> None:
    assert answered("%rerun load --fresh", "refuse") == 1
    assert shell.user_ns["ok"] is False

    assert answered("%rerun load --all", "approve") == 0
    assert shell.user_ns["ok"] is False
