"""The verb `checkpoint`: the line of `%%checkpoint` and `%checkpoint`, and a page's request."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import TYPE_CHECKING

from nbckpt.errors import UsageError
from nbckpt.verbs.arguments import CELL, NOTEBOOK_ONLY, TAG, VARIABLE, Door, argument, flag
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.parsing import parsed_line
from nbckpt.verbs.registry import VERBS, WRITES, at, declare

if TYPE_CHECKING:
    from nbckpt.steps.execution.step_request import Request

UNNAMED = "checkpoint"
"""Name of a checkpoint that a page asks for without a name."""


@declare(
    "checkpoint",
    "keep what is there now; `%%checkpoint` restores its cell if nothing that it reads has changed",
    argument("name", metavar="NAME", nargs="?", names=CELL),
    argument("--vars", metavar="a,b", action="append", names=VARIABLE, help="only these"),
    argument(
        "--exclude", metavar="x", action="append", default=[], names=VARIABLE, help="all but these"
    ),
    argument(
        "--deps", metavar="FILE,…", action="append", default=[], help="files that the cell reads"
    ),
    argument(
        "--tag",
        metavar="T",
        action="append",
        default=[],
        dest="tags",
        names=TAG,
        help="may be given again",
    ),
    argument("--note", metavar="TEXT", default="", help="a note on the checkpoint"),
    flag("--rerun", help="run the cell even if it could be restored"),
    flag("--sync", help="wait for the disk"),
    doors=NOTEBOOK_ONLY,
    panel=WRITES,
    is_magic=True,
)
def _checkpoint(call: Call) -> Answer:
    """Keep what is there now; a cell of `%%checkpoint` goes through `nbckpt.jupyter.cells`."""
    from nbckpt.session.history.summaries import summary_of

    request = request_of(call.arguments, default_name=None)
    made = call.session.checkpoint(
        request.name,
        vars=request.selection.vars,
        exclude=request.selection.exclude,
        tags=request.tags,
        note=request.note,
        sync=request.sync,
    )
    return Answer(lambda: f"checkpoint {made.name!r}: {summary_of(made)}", checkpoint=made.id)


@at(Door.PANEL, "checkpoint")
def _checkpoint_in_panel(call: Call) -> Answer:
    asked = call.arguments
    made = call.session.checkpoint(
        asked.name or UNNAMED, tags=asked.tags, note=str(asked.note), sync=True
    )
    return Answer(lambda: f"kept as {made.name!r}", checkpoint=made.id)


def parse(line: str, *, default_name: str) -> Request:
    """The request that the line of `%%checkpoint` makes.

    Raises
    ------
    UsageError
        If the line cannot be read; the message shows the possible options.
    """
    return request_of(parsed_line(VERBS["checkpoint"], line), default_name=default_name)


def request_of(asked: Namespace, *, default_name: str | None) -> Request:
    """The request for a step that the arguments make.

    Parameters
    ----------
    default_name
        The name when the arguments have none; None if they must have one.

    Raises
    ------
    UsageError
        If the name is missing, or none that a reference can mean.
    """
    from nbckpt.capture.selection import Selection
    from nbckpt.steps.execution.step_request import Request
    from nbckpt.timeline.references import require_name

    name = asked.name or default_name
    if name is None:
        message = "%checkpoint needs a name: `%checkpoint before-training`"
        raise UsageError(message)
    selection = Selection(
        None if asked.vars is None else frozenset(_split(asked.vars)),
        frozenset(_split(asked.exclude)),
    )
    return Request(
        name=require_name(name),
        selection=selection,
        deps=tuple(_split(asked.deps)),
        tags=tuple(asked.tags),
        note=asked.note,
        rerun=asked.rerun,
        sync=asked.sync,
    )


def _split(values: list[str]) -> list[str]:
    return [word for value in values for word in re.split(r"[,\s]+", value) if word]
