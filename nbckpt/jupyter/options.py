"""The line of `%%checkpoint` and `%checkpoint`: text → what the step is asked to be."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import NoReturn

from nbckpt.capture.selection import Selection
from nbckpt.errors import UsageError
from nbckpt.steps.execution.step_request import Request
from nbckpt.timeline.references import require_name


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        text = f"%%{self.prog}: {message}; {' '.join(self.format_usage().split())}"
        raise UsageError(text)


def _parser() -> _Parser:
    parser = _Parser(prog="checkpoint", add_help=False, allow_abbrev=False)
    parser.add_argument("name", nargs="?", metavar="NAME")
    parser.add_argument("--vars", action="append", metavar="a,b")
    parser.add_argument("--exclude", action="append", metavar="x", default=[])
    parser.add_argument("--deps", action="append", metavar="FILE,…", default=[])
    parser.add_argument("--tag", action="append", metavar="T", default=[])
    parser.add_argument("--note", metavar="TEXT", default="")
    parser.add_argument("--rerun", action="store_true")
    parser.add_argument("--sync", action="store_true")
    return parser


def parse(line: str, *, default_name: str | None) -> Request:
    """Request that the line makes.

    Parameters
    ----------
    default_name
        The name when the line has none; None if it must have one.

    Raises
    ------
    UsageError
        If the line cannot be read; the message shows the possible options.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        message = f"{line!r} cannot be read: {error}"
        raise UsageError(message) from error
    options = _parser().parse_args(words)
    name = options.name or default_name
    if name is None:
        message = "%checkpoint needs a name: `%checkpoint before-training`"
        raise UsageError(message)
    selection = Selection(
        None if options.vars is None else frozenset(_split(options.vars)),
        frozenset(_split(options.exclude)),
    )
    return Request(
        name=require_name(name),
        selection=selection,
        deps=tuple(_split(options.deps)),
        tags=tuple(options.tag),
        note=options.note,
        rerun=options.rerun,
        sync=options.sync,
    )


def _split(values: list[str]) -> list[str]:
    return [word for value in values for word in re.split(r"[,\s]+", value) if word]
