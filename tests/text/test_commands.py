"""Commands in messages are those that can be typed where the message is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from nbckpt.cli import main
from nbckpt.errors import BudgetError, FormatError
from nbckpt.jupyter import notices
from nbckpt.jupyter.shell import attached, load, unload
from nbckpt.jupyter.views import Views
from nbckpt.steps import current_session
from nbckpt.text.commands import in_notebook, in_terminal

TERMINAL = re.compile(r"`nbckpt (?!run|rekey|key|demo)")


@pytest.mark.parametrize(
    ("terminal", "notebook"),
    [
        ("`nbckpt log` lists them", "`%nbckpt log` lists them"),
        ("`nbckpt check --repair` mends", "`%nbckpt check --repair` mends"),
        ("`nbckpt rewind load` goes there", "`%rewind load` goes there"),
        ("nbckpt resume --fallback takes it", None),
        ("`nbckpt rekey`, with no kernel on it", "`nbckpt rekey`, with no kernel on it"),
        ("`nbckpt log --store there`", "`nbckpt log --store there`"),
        ("`nbckpt trust there`, then", "`nbckpt trust there`, then"),
        ("`%nbckpt budget 5`, `%%checkpoint x`", "`%nbckpt budget 5`, `%%checkpoint x`"),
    ],
)
def test_a_message_is_turned_round_for_its_reader(terminal: str, notebook: str | None) -> None:
    if notebook is not None:
        assert in_notebook(terminal) == notebook
        assert in_notebook(notebook) == notebook
        assert in_terminal(notebook) == terminal
    assert in_terminal(terminal) == terminal
    assert in_terminal("%resume --fallback takes it") == "nbckpt resume --fallback takes it"


@pytest.mark.slow
def test_what_a_notebook_says_can_be_typed_there(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("x = list(range(1000))\n%checkpoint first", store_history=True)
    session = current_session.session()
    session.wait()
    unload(shell)
    (pack,) = (session.store.path / "packs").iterdir()
    pack.write_bytes(pack.read_bytes()[:-40])
    (session.store.path / "config.json").write_text('{"auto": "on", "retention_count": 4711}')
    capsys.readouterr()
    load(shell)
    for line in ("check", "status", "show first", "cost", "prune --dry-run"):
        shell.run_line_magic("nbckpt", line)
    notices.warn("`nbckpt check` tells")
    said = "".join(capsys.readouterr())
    told = Views(attached(shell).cells).panel.answer("details", {"id": "nowhere"})

    assert "`%nbckpt check --repair`" in said
    assert "`%resume --fallback`" in said
    assert "then `%nbckpt trust`" in said
    assert not TERMINAL.search(said), said
    assert not TERMINAL.search(str(told)), told
    for error in (FormatError("`nbckpt check` lists"), BudgetError("`nbckpt cost` tells")):
        (line,) = error._render_traceback_()
        assert "`%nbckpt c" in line


def test_what_a_terminal_says_can_be_typed_there(
    tmp_path: Path, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("x = 1\n%checkpoint first", store_history=True)
    store = current_session.session().store.path
    current_session.session().wait()
    capsys.readouterr()

    for line in (["resume", "first"], ["prune", "--drop", "main"], ["cost", "--recompute"],
                 ["tag", "first", "a,b"], ["rerun", "nowhere"], ["check"]):  # fmt: skip
        main([*line, "--store", str(store)])
    said = "".join(capsys.readouterr())

    assert "`nbckpt rewind first`" in said
    assert not re.search(r"(?<!%)%(rewind|fork|switch|resume|rerun|nbckpt)", said), said
