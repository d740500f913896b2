"""The command line, magics, SQL and the terminal: each lists questions, and answers them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from nbckpt.cli import main
from nbckpt.errors import UnansweredError
from tests.running import environment
from tests.steps.approvals.conftest import Notebook


@pytest.fixture
def asked(notebook: Notebook, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> nbckpt.Approval:
    """A question that waits in the store of the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NBCKPT_STORE", raising=False)
    with pytest.raises(UnansweredError):
        notebook.asks("delete 2 files?", ["a.csv", "b.csv"], timeout_s=0)
    (waiting,) = nbckpt.approvals(waiting=True)
    return waiting


def test_the_command_line_lists_what_waits_and_answers_it(
    asked: nbckpt.Approval, notebook: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["approvals", "--waiting"]) == 0
    listed = capsys.readouterr().out
    assert main(["answer", asked.id[:4], "approve", "they", "are", "copies"]) == 0
    said = capsys.readouterr().out
    assert main(["approvals", "--waiting"]) == 0
    nothing = capsys.readouterr().out
    main(["approvals", "--json"])
    (told,) = json.loads(capsys.readouterr().out)

    for word in (asked.id, "delete 2 files?", "a.csv · b.csv", "clean"):
        assert word in listed
    assert said.startswith("approved by ")
    assert said.endswith("(command), “they are copies”: delete 2 files?\n")
    assert nothing == "nothing waits for an answer\n"
    assert (told["state"], told["text"]) == ("approved", "they are copies")
    assert notebook.asks("delete 2 files?", ["a.csv", "b.csv"], timeout_s=0)


def test_the_log_and_the_status_say_what_waits_and_how_to_answer(
    asked: nbckpt.Approval, notebook: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    from nbckpt.reports.status import status_text

    main(["log"])

    assert f"nbckpt answer {asked.id} approve|refuse" in capsys.readouterr().out
    session = notebook.session
    status = status_text(session.store, session.timeline, "main", None)
    assert f"asks        delete 2 files? (`nbckpt answer {asked.id} approve|refuse`)" in status


@pytest.mark.parametrize(
    ("typed", "status", "told"),
    [
        (["answer", "zzz", "approve"], 2, "no question 'zzz'; waiting are"),
        (["answer", "", "approve"], 2, "no question ''; waiting are"),
        (["answer", "ID", "perhaps"], 2, "'perhaps' is no answer: approve, refuse or withdraw"),
        (["answer", "ID"], 2, "the following arguments are required: ANSWER"),
        (["approvals", "--store", "nowhere"], 2, "nowhere"),
    ],
)
def test_what_cannot_be_answered_is_one_line_and_exit_status_2(
    asked: nbckpt.Approval,
    typed: list[str],
    status: int,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([asked.id if word == "ID" else word for word in typed]) == status

    assert told in capsys.readouterr().err
    assert nbckpt.approvals()[0].state == "waiting"


def test_sql_sees_questions_and_who_answered(asked: nbckpt.Approval) -> None:
    nbckpt.answer(asked, "refuse", "not now")

    query = "select question, state, text, answered_at > asked_at, step from approvals"
    rows = nbckpt.sql(query).fetchall()

    assert rows == [("delete 2 files?", "refused", "not now", True, "clean")]


def test_magics_list_and_answer(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(
        "import nbckpt\ntry:\n    nbckpt.approve('delete?', [1], timeout_s=0)\n"
        "except nbckpt.UnansweredError as error:\n    pass"
    )
    capsys.readouterr()
    shell.run_cell("%nbckpt approvals --waiting")
    listed = capsys.readouterr().out
    shell.run_cell("q = nbckpt.approvals()[0].id")
    shell.run_cell("%nbckpt answer {q} approve 'all right'")
    said = capsys.readouterr().out
    shell.run_cell("%nbckpt status")

    assert "delete?" in listed
    assert "(magic), “all right”: delete?" in said
    assert "asks" not in capsys.readouterr().out
    assert shell.user_ns["nbckpt"].approve("delete?", [1], timeout_s=0)


def test_tab_offers_the_ids_of_what_waits_and_the_answers(shell: Any) -> None:
    shell.run_cell("import nbckpt\ntry: nbckpt.approve('delete?', timeout_s=0)\nexcept: pass")
    (waiting,) = nbckpt.approvals(waiting=True)
    completions = shell._nbckpt_extension._completion.completions

    assert completions("%nbckpt answer ") == ("", [waiting.id])
    assert completions(f"%nbckpt answer {waiting.id} r") == ("r", ["refuse"])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "answer",
            "something is missing: write `%nbckpt answer ID approve|refuse|withdraw [TEXT]`",
        ),
        ("answer zzz yes", "'yes' is no answer: approve, refuse or withdraw"),
        ("approvals --all", "'--all' is no option here"),
    ],
)
def test_a_magic_that_cannot_be_done_says_why_in_one_line(
    shell: Any, line: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(f"%nbckpt {line}")

    out = capsys.readouterr().out
    assert told in out
    assert "Traceback" not in out


SCRIPT = """
import nbckpt
nbckpt.open(".nbckpt", globals())
with nbckpt.checkpoint("clean") as step:
    if step.todo:
        ok = nbckpt.approve("delete 2 files?", ["a", "b"])
print("said", bool(ok), ok.text, ok.through)
"""


class Terminal:
    """A script at a terminal."""

    def __init__(self, folder: Path) -> None:
        (folder / "script.py").write_text(SCRIPT)
        self._here, there = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "script.py"],
            cwd=folder,
            env=environment(),
            stdin=there,
            stdout=there,
            stderr=there,
        )
        os.close(there)
        self.text = ""

    def read_until(self, text: str) -> None:
        deadline = time.monotonic() + 30
        while text not in self.text and time.monotonic() < deadline:
            try:
                self.text += os.read(self._here, 1000).decode()
            except OSError:  # it has ended
                break
        assert text in self.text, self.text

    def type(self, text: str) -> None:
        os.write(self._here, text.encode())

    def close(self) -> None:
        self.process.wait(30)
        os.close(self._here)


@pytest.mark.slow
def test_at_a_terminal_the_answer_is_typed(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.read_until("and why: ")
    terminal.type("hm\n")
    terminal.read_until("hm\r\napprove or refuse, and why: ")
    terminal.type("y they are copies\n")
    terminal.read_until("said True they are copies prompt")
    terminal.close()


@pytest.mark.slow
def test_at_a_terminal_an_answer_from_elsewhere_counts_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal(tmp_path)
    terminal.read_until("and why: ")
    store = str(tmp_path / ".nbckpt")
    main(["approvals", "--json", "--store", store])
    (asked,) = json.loads(capsys.readouterr().out)

    main(["answer", asked["id"], "refuse", "--store", store])

    terminal.read_until("said False  command")
    assert "refused by" in terminal.text
    terminal.close()
