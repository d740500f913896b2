"""Items of a map that failed: as records, and as the error that is raised."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from types import TracebackType

from nbckpt.steps.calls.attempts import error_text
from nbckpt.text.describe import preview_of
from nbckpt.text.secret_texts import redacted
from nbckpt.text.units import count_text


@dataclass(frozen=True, slots=True)
class Failure:
    """An item of a map for which the function raised.

    Attributes
    ----------
    index
        Of the item; the result there is None.
    item
        What the function was given.
    type
        Qualified name of the error's class: ``openai.RateLimitError``.
    error
        The error in a line.
    traceback
        As Python shows it, without nbckpt's own frames.
    """

    index: int
    item: object
    type: str
    error: str
    traceback: str


def failure_of(index: int, item: object, error: BaseException) -> Failure:
    """Record of an error: text, for the error may hold objects that no checkpoint can."""
    kind = type(error)
    home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    shown = "".join(traceback.format_exception(kind, error, _own_frames(error)))
    text = redacted(shown)
    return Failure(index, item, f"{home}{kind.__qualname__}", error_text(error), text)


def _own_frames(error: BaseException) -> TracebackType | None:
    """The traceback from the function on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("nbckpt."):
        trace = trace.tb_next
    return trace or error.__traceback__


def told(
    error: BaseException, index: int, item: object, total: int, n_kept: int, more: int
) -> None:
    """Say with an error which item it is of, and what the next run begins with."""
    others = f"; {count_text(more, 'more item')} failed" if more else ""
    error.add_note(
        f"nbckpt: item {index + 1} of {total:,}, {preview_of(item)}{others}; "
        f"the results of {count_text(n_kept, 'item')} are there for the next run"
    )
