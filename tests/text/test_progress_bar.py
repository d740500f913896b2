"""Bars over loops and bytes: in a terminal, in a file, in a notebook's page."""

from __future__ import annotations

import io
import os
import pty
import re
from pathlib import Path
from types import SimpleNamespace

import nbclient
import nbformat
import pytest

from nbckpt.text import progress_bar
from nbckpt.text.progress_bar import Bar, LoopBar

SLOW_LOOP = """%%checkpoint loop
import time, nbckpt
with nbckpt.checkpoint("embed", vars=["done"]) as step:
    done = []
    for item in step.track(range(6)):
        time.sleep(0.4)
        done.append(item)
"""


class Terminal(io.TextIOBase):
    """The writing end of a pseudo-terminal."""

    def __init__(self) -> None:
        self.other, self._end = pty.openpty()

    def write(self, text: str) -> int:
        return os.write(self._end, text.encode())

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._end

    def shown(self) -> str:
        """All that was written, without colours."""
        os.close(self._end)
        told = b""
        try:
            while piece := os.read(self.other, 65536):
                told += piece
        except OSError:  # so a terminal says that its other end is closed
            pass
        os.close(self.other)
        return re.sub(r"\x1b\[[0-9;]*m", "", told.decode())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal that bars are drawn on: pytest puts its own stream back as a test begins."""
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(progress_bar, "sys", SimpleNamespace(stderr=stream, modules={}))
    return stream


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have bars be shown from the beginning, and each time."""
    monkeypatch.setattr(progress_bar, "PATIENCE_S", 0.0)
    monkeypatch.setattr(progress_bar, "DRAW_EVERY_S", 0.0)


def test_a_loop_draws_one_line_again_and_leaves_it(terminal: Terminal, at_once: None) -> None:
    bar = LoopBar("read [red]", 5)
    bar.begin(2)
    for has_failed in (False, True, False):
        bar.advance(has_failed=has_failed)
    bar.close()

    first, *_, last = terminal.shown().split("\r\x1b[2K")[1:]
    assert "read [red]" in first
    assert " 3/5 " in first
    assert " 5/5 " in last
    assert "1 failed, 2 restored" in last
    assert last.endswith("\r\n")
    assert last.count("\n") == 1


def test_a_loop_of_unknown_length_counts(terminal: Terminal, at_once: None) -> None:
    bar = LoopBar("stream", -1)
    bar.advance()
    bar.close()

    assert " 1/? " in terminal.shown()


def test_bytes_are_shown_and_taken_away(terminal: Terminal, at_once: None) -> None:
    with Bar("saving", 2_000_000) as bar:
        bar.advance(500_000)

    shown = terminal.shown()
    assert "nbckpt: saving" in shown
    assert "0.5/2.0 MB" in shown
    assert shown.endswith("\r\x1b[2K")


def test_a_file_gets_one_line_of_a_loop_and_none_of_bytes(
    capsys: pytest.CaptureFixture[str], at_once: None
) -> None:
    bar = LoopBar("embed", 3)
    for _ in range(3):
        bar.advance()
    bar.close()
    with Bar("saving", 10) as of_bytes:
        of_bytes.advance(10)

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("embed ")
    assert " 3/3 " in line
    assert "\x1b" not in line


def test_a_stream_that_nobody_reads_ends_no_loop(
    monkeypatch: pytest.MonkeyPatch, at_once: None
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    bar = LoopBar("embed", 2)
    bar.advance()
    stream.close()
    bar.advance()
    bar.close()

    assert bar.done == 2


class Written:
    """A notebook's own stream, which can do no more than it must."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def isatty(self) -> bool:
        raise OSError


@pytest.mark.parametrize("stream", [Written(), None])
def test_a_stream_that_can_do_little_ends_no_loop(
    stream: Written | None, monkeypatch: pytest.MonkeyPatch, at_once: None
) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    bar = LoopBar("embed", 1)
    bar.advance()
    bar.close()
    with Bar("saving", 10) as of_bytes:
        of_bytes.advance(10)

    assert bar.done == 1
    assert stream is None or " 1/1 " in stream.text


def test_what_a_terminal_cannot_write_is_written_otherwise(
    terminal: Terminal, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = terminal.write

    def ascii_only(text: str) -> int:
        text.encode("ascii")
        return write(text)

    monkeypatch.setattr(terminal, "write", ascii_only)
    monkeypatch.setattr(Terminal, "encoding", "ascii", raising=False)
    bar = LoopBar("caf\u00e9\nof two lines", 1)
    bar.advance()
    bar.close()

    shown = terminal.shown()
    assert "caf?" in shown
    assert " 1/1 " in shown
    assert shown.count("\n") == 1


def test_the_remaining_time_of_long_items_is_told(
    terminal: Terminal, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("nbckpt.runtime.clock.now", lambda: now)
    bar = LoopBar("embed", 20)
    for _ in range(4):
        now += 60.0
        bar.advance()
    bar.close()

    assert "0:16:00" in terminal.shown()


def test_nothing_is_shown_of_what_is_done_soon(terminal: Terminal) -> None:
    bar = LoopBar("embed", 2)
    bar.advance()
    bar.advance()
    bar.close()

    assert terminal.shown() == ""


def test_in_a_notebook_the_bar_is_one_output_and_comes_back_with_the_cell(tmp_path: Path) -> None:
    where = {"metadata": {"path": str(tmp_path)}}
    first = nbclient.NotebookClient(notebook_of("%load_ext nbckpt", SLOW_LOOP), resources=where)
    first.execute()
    again = nbclient.NotebookClient(notebook_of("%load_ext nbckpt", SLOW_LOOP), resources=where)
    again.execute()

    for client in (first, again):
        shown = [o for o in client.nb.cells[1].outputs if "embed" in str(o.get("data"))]
        (bar,) = [o.data for o in shown if "nbckpt" not in o.metadata]
        assert " 6/6 " in bar["text/plain"]
        assert "6/6" in bar["text/html"]
        assert "<html" not in bar["text/html"]
        assert "\x1b" not in bar["text/plain"]
    assert "restored" in str(again.nb.cells[1].outputs)


def notebook_of(*cells: str) -> nbformat.NotebookNode:
    """A notebook of these cells."""
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
