"""Output of a verb, and its exit status."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from nbckpt.text.commands import in_terminal
from nbckpt.text.escape import legible, on_a_line

if TYPE_CHECKING:
    from nbckpt.config.settings import Settings

DONE, NOTEBOOK_FAILED, MISUSED, DAMAGED, UNANSWERED = 0, 1, 2, 3, 4
INTERRUPTED, PIPE_CLOSED = 130, 141


def refused(message: str, status: int) -> int:
    """`status`, after its one line was written to stderr."""
    print(f"nbckpt: {on_a_line(in_terminal(message.strip()))}", file=sys.stderr)
    return status


def warn(text: str) -> None:
    """Say something on stderr while a verb goes on."""
    print(f"nbckpt: {on_a_line(in_terminal(text))}", file=sys.stderr, flush=True)


def tell_problems(settings: Settings) -> None:
    """Say what of the settings could not be read, or does not count."""
    for problem in settings.problems:
        warn(problem)


def say(text: str, *, file: TextIO | None = None) -> None:
    """Write lines for people; what a record holds does not steer their terminal."""
    print(legible(text, colours=True), file=file)


def print_json(value: object) -> None:
    """Write a value for programs."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_plain)
    print(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


_STEERING = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that JSON lets stand, and a terminal or an encoding does not."""


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def width() -> int | None:
    """Characters of a line on the terminal; None where the output is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def as_typed(path: Path) -> str:
    """`path` as it would be typed here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
