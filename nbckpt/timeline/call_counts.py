"""Counts of the calls of functions that are kept (`nbckpt.step`), by outcome. Pure."""

from __future__ import annotations

from typing import NamedTuple

from nbckpt.model import Record
from nbckpt.text.units import count_text
from nbckpt.timeline.recording_retention import STEP


class Kept(NamedTuple):
    """Numbers of calls of kept functions, by outcome.

    Attributes
    ----------
    ran
        Calls whose result is kept.
    replayed
        Calls that were answered from the store.
    failed
        Calls that raised in the end.
    retried
        Attempts that failed before the last one of a call.
    """

    ran: int = 0
    replayed: int = 0
    failed: int = 0
    retried: int = 0

    @property
    def calls(self) -> int:
        """All of them."""
        return self.ran + self.replayed + self.failed

    def of_call(self, record: Record) -> Kept:
        """With one more that ran."""
        is_done = record["state"] == "done"
        return self._replace(
            ran=self.ran + is_done,
            failed=self.failed + (not is_done),
            retried=self.retried + max(int(record.get("attempts", 1)) - 1, 0),
        )

    def of_event(self, event: Record) -> Kept:
        """With the replays of a run."""
        return self._replace(replayed=self.replayed + int(event.get("calls_replayed", 0)))

    def text(self) -> str:
        """All of it in one line; empty if there were no calls."""
        if not self.calls:
            return ""
        counts = (
            (self.ran, "ran"),
            (self.replayed, "replayed"),
            (self.failed, "failed"),
            (self.retried, "tried again"),
        )
        parts = [f"{n:,} {what}" for n, what in counts if n]
        return f"{count_text(self.calls, 'call')}: {', '.join(parts)}"


def was_tried(record: Record) -> bool:
    """True if a record tells of a call that ran to its end."""
    return record["kind"] == STEP and record["state"] in ("done", "failed")
