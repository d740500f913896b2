"""Recordings by what they answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import NamedTuple, TypeAlias

from nbckpt.digests import Digest
from nbckpt.model import Record, is_trusted

Asking: TypeAlias = tuple[str, Digest, int]
"""Step, request, and how many equal ones had begun before."""
MOST_LATEST = 200
"""Recordings of a step that are known as its latest."""
GAP = 32
"""Numbers without a recording after which no more are looked for: so many may be in flight."""


class Index:
    """The recordings of a store that are answers, for looking up one of very many.

    What is not trusted is no answer: it is shown and queried, and never given to a notebook.

    Its keys are texts, and what was recorded once stands in no list: the collector would go through
    a hundred thousand of either again and again.
    """

    def __init__(self) -> None:
        self._found: dict[str, Record] = {}
        self._more: dict[str, list[Record]] = {}
        self._items: dict[str, OfItems] = {}
        self._ids: set[str] = set()
        self._strange: set[str] = set()
        self._of_requests: dict[str, str | list[str]] | None = None
        self._latest: dict[str, deque[tuple[int, str]]] = {}
        self._step: str | None = None
        self._of_step: deque[tuple[int, str]] = deque()

    def take(self, records: Iterable[Record]) -> None:
        """Know these as well; what is known already does no harm."""
        for record in records:
            if record["state"] != "done":
                continue
            asking = _text(record["step"], record["request"], record["occurrence"])
            if not is_trusted(record):
                self._strange.add(asking)
                continue
            if (own := record["id"]) in self._ids:
                self._replace(asking, record)
                continue
            self._ids.add(own)
            if (items := self._items.get(record["step"])) is not None:
                items.take(record)
            if self._found.setdefault(asking, record) is not record:
                self._more.setdefault(asking, []).append(record)
                continue
            if self._of_requests is not None:
                _note(self._of_requests, asking)
            if record["step"] != self._step:  # most come after one of the same step
                self._step = record["step"]
                function = _function_of(self._step)
                self._of_step = self._latest.setdefault(function, deque(maxlen=MOST_LATEST))
            self._of_step.append((len(self._found), asking))

    def _replace(self, asking: str, record: Record) -> None:
        """Hold what a journal says, which is small, instead of what this session wrote into it."""
        if self._found[asking]["id"] == record["id"]:
            self._found[asking] = record
            return
        more = self._more[asking]
        more[:] = [record if other["id"] == record["id"] else other for other in more]

    def find(self, asking: Asking) -> Sequence[Record]:
        """The recordings of one call; several if it was paid for several times."""
        text = _text(*asking)
        found = self._found.get(text)
        return () if found is None else (found, *self._more.get(text, ()))

    def of_request(self, request: Digest) -> list[Record]:
        """The recordings of equal requests of all steps, in the order in which they came."""
        if self._of_requests is None:
            self._of_requests = {}
            for asking in self._found:
                _note(self._of_requests, asking)
        found = self._of_requests.get(request, [])
        askings = [found] if isinstance(found, str) else found
        return [record for a in askings for record in (self._found[a], *self._more.get(a, ()))]

    def of_equals(self, step: str, request: Digest) -> list[Record]:
        """The recordings of equal calls of one step, by their numbers; not beyond a long gap."""
        found, number, missing = list[Record](), 0, 0
        while missing < GAP:
            record = self._found.get(_text(step, request, number))
            missing = missing + 1 if record is None else 0
            number += 1
            if record is not None:
                found.append(record)
        return found

    def latest(self, step: str, most: int) -> list[Record]:
        """The latest recordings of a step, and of those whose names begin as its does.

        Not by going through all: each new step asks for them once. `most` is at most `MOST_LATEST`.
        """
        function = _function_of(step)
        found = [own for name, own in self._latest.items() if name.startswith(function)]
        latest = (asking for _, asking in merge(*map(reversed, found), reverse=True))
        named = (asking for asking in latest if asking.partition(" ")[2].startswith(step))
        return [self._found[asking] for asking in islice(named, most)]

    def is_strange(self, asking: Asking) -> bool:
        """True if there is an answer that cannot be given, because it is not trusted."""
        return _text(*asking) in self._strange

    def of_items(self, step: str) -> OfItems:
        """Calls of a step's items; all recordings of the step are decoded for that, once."""
        items = self._items.get(step)
        if items is None:
            items = self._items[step] = OfItems()
            for record in reversed(self.of_step(step)):
                items.take(record)
        return items

    def of_step(self, step: str) -> list[Record]:
        """All recordings of a step, newest first."""
        more = (record for records in self._more.values() for record in records)
        found = [record for record in (*self._found.values(), *more) if record["step"] == step]
        return sorted(found, key=_time, reverse=True)


def _function_of(step: str) -> str:
    """The name before the arguments, of a call of a function: each call is a step of its own."""
    name, bracket, _ = step.partition("(")
    return name + bracket


def _text(step: str, request: Digest, occurrence: int) -> str:
    return f"{request}{occurrence} {step}"


def _note(of_requests: dict[str, str | list[str]], asking: str) -> None:
    """Note a call with those of equal requests; most are alone, and stand in no list."""
    request = asking[:_DIGITS]
    others = of_requests.setdefault(request, asking)
    if isinstance(others, list):
        others.append(asking)
    elif others is not asking:
        of_requests[request] = [others, asking]


_DIGITS = 64
"""Characters of a digest."""


class OfItems:
    """The recordings of a step's items: by item, and which item has a number of the step."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._owners: dict[str, str] = {}

    def take(self, record: Record) -> None:
        """Know this one as well; it is newer than those that are known."""
        if item := record.get("item"):
            request, number = record["request"], record["occurrence"]
            self._numbers[_text(item, request, record.get("nth", 0))] = number
            self._owners[_text("", request, number)] = item

    def of(self, request: Digest) -> OfRequest:
        """The items' recorded calls of one request."""
        return OfRequest(self._numbers, self._owners, request)


class OfRequest(NamedTuple):
    """Recorded calls of one request by the items of a step."""

    numbers: Mapping[str, int]
    owners: Mapping[str, str]
    request: Digest

    def number_of(self, item: str, nth: int) -> int | None:
        """The number within the step of this item's `nth` call; None if it is not recorded."""
        return self.numbers.get(_text(item, self.request, nth))

    def owner_of(self, number: int) -> str:
        """The item whose call has a number; empty if it is of none."""
        return self.owners.get(_text("", self.request, number), "")


def newest(records: Iterable[Record]) -> Record:
    """The one that was made last; of two of one call, the one that has more of its stream."""
    return max(records, key=lambda record: (_time(record), record.get("duration_s", 0.0)))


def _time(record: Record) -> float:
    return float(record["created_at"])
