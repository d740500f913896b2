"""Retries of calls that failed, and the waits before them."""

from __future__ import annotations

import random
from concurrent.futures import CancelledError
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from nbckpt.errors import line_of
from nbckpt.runtime import clock
from nbckpt.steps import current_session
from nbckpt.steps.calls.plans import Plan
from nbckpt.text.secret_texts import redacted

LONGEST_S = 60.0
"""No wait of one's own is longer."""

MOST_ASKED_S = 600.0
"""A server that asks to wait longer than this is not asked again."""

_random = random.Random()  # not the notebook's generator, whose numbers are the user's
_SHOWN = 300


@dataclass
class Attempts:
    """The attempts of one call, of which so many have failed."""

    plan: Plan
    failed: int = 0

    def wait_after(self, error: BaseException) -> float | None:
        """Seconds to wait before the next attempt; None if there is none.

        Each attempt that failed and is followed by another is an event in the history.
        """
        self.failed += 1
        plan = self.plan
        if self.failed > plan.retries or not isinstance(error, plan.retry_on):
            return None
        if isinstance(error, CancelledError):
            return None
        asked = asked_wait_s(error)
        if asked is not None and asked > MOST_ASKED_S:
            return None
        wait_s = waited_s(plan.backoff, self.failed) if asked is None else asked
        if session := current_session.opened():
            session.writes.record_event(
                "attempt_failed",
                name=plan.name,
                attempt=self.failed,
                error=error_text(error),
                wait_s=wait_s,
            )
        return wait_s


def waited_s(backoff: float, n: int) -> float:
    """The wait after the `n`-th attempt: twice the one before, and between half and all of that.

    So that many calls which a server refused at once do not come back at once.
    """
    longest = min(backoff * 2.0 ** (n - 1), LONGEST_S)
    return longest * _random.uniform(0.5, 1.0)


def asked_wait_s(error: BaseException) -> float | None:
    """Seconds to wait by `Retry-After` in the response that an error carries; None without it."""
    response = getattr(error, "response", None)
    headers = getattr(response if response is not None else error, "headers", None)
    try:
        if (text := _header(headers, "retry-after-ms")) is not None:
            return max(float(text) / 1000, 0.0)
        if (text := _header(headers, "retry-after")) is None:
            return None
        return max(_seconds(text), 0.0)
    except Exception:  # whatever a server puts there, and a library makes of it
        return None


def _header(headers: Any, name: str) -> str | None:
    """A header's text; a plain dict may have its name written in either way."""
    if not hasattr(headers, "get"):
        return None
    found = (headers.get(written) for written in (name, name.title()))
    return next((str(value) for value in found if value is not None), None)


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return parsedate_to_datetime(text).timestamp() - clock.now()


def error_text(error: BaseException) -> str:
    """An error as a record holds it: without what the environment calls a secret."""
    return redacted(line_of(error))[:_SHOWN]
