"""Policies of `auto`: when a user wants cells to be checkpointed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nbckpt.config.amounts import seconds_of
from nbckpt.errors import UsageError

USAGE = (
    "it is on, off, skip, cost, `every 5` (cells), `every 30s`, `every 2 min`, event "
    "or `event NAME`"
)

Kind = Literal["off", "on", "skip", "cost", "cells", "seconds", "event"]


@dataclass(frozen=True, slots=True)
class Policy:
    """When cells that ask for nothing themselves are checkpointed.

    Attributes
    ----------
    kind
        `on`: each; `skip`: each, and it is restored instead of run if that can be; `cost`: when
        it pays; `cells`, `seconds`: when enough of them have gone by; `event`: when the user's
        code says so with `nbckpt.event(NAME)`.
    event
        The only event that counts; empty if all do.
    """

    kind: Kind = "off"
    count: int = 0
    seconds: float = 0.0
    event: str = ""

    @property
    def keeps_each(self) -> bool:
        """True if every cell is a checkpoint of its own."""
        return self.kind in ("on", "skip")

    @property
    def joins(self) -> bool:
        """True if cells may be joined to the next checkpoint."""
        return self.kind in ("cost", "cells", "seconds", "event")

    def __str__(self) -> str:
        """Text that `parse` reads as this policy."""
        match self.kind:
            case "cells":
                return f"every {self.count}"
            case "seconds":
                return f"every {self.seconds:g}s"
            case "event":
                return f"event {self.event}".strip()
        return self.kind


OFF = Policy()
COST = Policy("cost")


def parse(text: str) -> Policy:
    """The policy that `text` names; the cost-aware one if it is empty.

    Raises
    ------
    UsageError
        If it names none.

    Examples
    --------
    >>> [str(parse(t)) for t in ("", "on", "every 5 cells", "every 2 min", "event epoch")]
    ['cost', 'on', 'every 5', 'every 120s', 'event epoch']
    """
    words = text.split()
    match words:
        case []:
            return COST
        case ["on"] | ["every", "cell"]:
            return Policy("on")
        case ["off"]:
            return OFF
        case ["skip"]:
            return Policy("skip")
        case ["cost"]:
            return COST
        case ["event"]:
            return Policy("event")
        case ["event", name]:
            return Policy("event", event=name)
        case ["every", number] | ["every", number, "cell" | "cells"] if number.isdecimal():
            return _every_cells(int(number), text)
        case ["every", *amount] if amount:
            return _every_seconds(" ".join(amount), text)
    raise _unknown(text)


def _every_cells(count: int, text: str) -> Policy:
    if count < 1:
        raise _unknown(text)
    return Policy("on") if count == 1 else Policy("cells", count=count)


def _every_seconds(amount: str, text: str) -> Policy:
    try:
        seconds = seconds_of(amount)
    except UsageError:
        seconds = 0.0
    if seconds <= 0:
        raise _unknown(text)
    return Policy("seconds", seconds=seconds)


def _unknown(text: str) -> UsageError:
    return UsageError(f"auto {text}: {USAGE}")
