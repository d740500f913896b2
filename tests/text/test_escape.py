"""What a record holds does not steer the terminal that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.cli import main
from nbckpt.session.session import Session
from nbckpt.text.escape import legible
from nbckpt.text.tables import facts_text, indented

STEERING = "a\x1b]0;owned\x07\x1b[2Jb\x9b31m\u202egpj.exe\x08\x7f"


@given(st.text(alphabet=st.characters()))
def test_no_text_keeps_what_steers_a_terminal(text: str) -> None:
    shown = legible(text)

    assert all(c.isprintable() or c in "\n\t" or ord(c) > 0x9F for c in shown)
    assert not set("\x1b\x9b\u202e\u2066") & set(shown)


@given(st.text(alphabet="ab \n\té日"))
def test_what_steers_nothing_stays_as_it_is(text: str) -> None:
    assert legible(text) == text


def test_colours_stay_where_a_cell_printed_them() -> None:
    printed = "\x1b[1;31mred\x1b[0m\x1b[2J"

    assert indented(printed) == "    \x1b[1;31mred\x1b[0m\\x1b[2J"
    assert facts_text([("note", printed)]).count("\x1b") == 0


def test_the_command_line_shows_controls_as_text(
    session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NBCKPT_STORE", raising=False)
    session.position.branch = f"branch{STEERING}"
    session.namespace["x"] = 1
    session.checkpoint("first", note=STEERING)
    session.wait()

    for line in (["log", "--all"], ["show", "first"], ["log", "--json"], ["log", "no\x1b[2J"]):
        main(line)
    said, told = capsys.readouterr()

    assert not set("\x1b\x07\x9b\u202e\x08\x7f") & set(said + told)
    assert "owned" in said
    listed = json.loads(said[said.index("[\n") : said.rindex("]") + 1])
    assert listed[0]["note"] == STEERING.strip()
