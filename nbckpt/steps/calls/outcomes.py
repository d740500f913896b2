"""Tasks for the items of a map, and their outcomes."""

from __future__ import annotations

from typing import Any, NamedTuple


class Task(NamedTuple):
    """An item that is to be done.

    Attributes
    ----------
    place
        Among the items.
    digest
        What tells it from others; empty where nothing does.
    result
        Under which its result is kept; empty if it cannot be.
    """

    place: int
    item: Any
    digest: bytes
    result: str


class Outcome(NamedTuple):
    """Outcome of a task: a value or an error."""

    task: Task
    value: Any = None
    error: BaseException | None = None
