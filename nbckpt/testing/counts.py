"""Requests to a provider and counts of its answers, safe to read from any thread."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from nbckpt.testing.wire import Json


class Received(NamedTuple):
    """A request that came.

    Attributes
    ----------
    path
        Without the query.
    body
        Its object; of a form the fields, files as bytes.
    """

    path: str
    body: Json


class Counts:
    """The provider's own count, which what users pay is held against."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.in_flight = 0
        self.clear()

    def clear(self) -> None:
        """Begin anew; serial numbers go on."""
        with self._lock:
            self.received: list[Received] = []
            self.answered: Counter[str] = Counter()
            self.errors: Counter[int] = Counter()
            self.lost = 0
            self.most_in_flight = self.in_flight

    def came(self, request: Received) -> None:
        """A request came that this provider understands."""
        with self._lock:
            self.received.append(request)

    def begun(self) -> None:
        """A request is being answered from now on."""
        with self._lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)

    @contextmanager
    def written(self, path: str, status: int) -> Iterator[None]:
        """While the last bytes of an answer are written.

        Who has read the answer to its end and asks for the counts waits for this, and finds it
        counted.
        """
        with self._lock:
            yield
            self.in_flight -= 1
            if status == 200:
                self.answered[path] += 1
            else:
                self.errors[status] += 1

    def lost_one(self) -> None:
        """The connection was lost before the answer's end."""
        with self._lock:
            self.in_flight -= 1
            self.lost += 1

    def as_json(self) -> Json:
        """All of it, for another process."""
        with self._lock:
            return {
                "answered": self.answered.total(),
                "received": len(self.received),
                "by_path": dict(self.answered),
                "errors": {str(status): times for status, times in self.errors.items()},
                "lost": self.lost,
                "in_flight": self.in_flight,
                "most_in_flight": self.most_in_flight,
            }
