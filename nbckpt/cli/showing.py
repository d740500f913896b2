"""Output of a verb, and its exit status."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TextIO

from nbckpt.text.commands import in_terminal
from nbckpt.text.escape import legible, on_a_line

INTERRUPTED, PIPE_CLOSED = 130, 141


def refused(message: str, status: int) -> int:
    """`status`, after its one line was written to stderr."""
    print(f"nbckpt: {on_a_line(in_terminal(message.strip()))}", file=sys.stderr)
    return status


def warn(text: str) -> None:
    """Say something on stderr while a verb goes on."""
    print(f"nbckpt: {on_a_line(in_terminal(text))}", file=sys.stderr, flush=True)


def say(text: str, *, file: TextIO | None = None) -> None:
    """Write lines for people; what a record holds does not steer their terminal."""
    print(legible(text, colours=True), file=file)


def agreed(question: str) -> bool:
    """True if the person at the terminal answers with a yes."""
    print(f"{on_a_line(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def width() -> int | None:
    """Characters of a line on the terminal; None where the output is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def as_typed(path: Path) -> str:
    """`path` as it would be typed here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
