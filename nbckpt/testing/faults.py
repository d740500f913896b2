"""Faults on request: by rules of the provider, or by markers in a prompt. Pure.

A marker is for a request that another process sends: ``[fail=2]`` in the text of a prompt makes
the first two requests with exactly this body fail. The others are ``[status=429]`` (with `fail`,
or always), ``[retry_after=0]``, ``[cut=3]``, ``[error_after=3]``, ``[slow=0.1]``, ``[first=1.5]``,
``[large=10000000]``, ``[malformed]``, ``[wrong_type]``, ``[never_close]`` and ``[gzip]``; with
``[times=1]`` beside them they hold for the first request with this body only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace

MARKER = re.compile(r"\[([a-z_]+)(?:=(\d+|\d*\.\d+))?\]")


@dataclass(frozen=True, slots=True)
class Fault:
    """Faults of an answer; several may occur at once.

    Attributes
    ----------
    status
        An error of this HTTP status instead of the answer; 0 = none.
    retry_after
        Seconds that the error tells the client to wait; None = it does not say.
    cut
        Number of chunks of the answer after which the connection is lost; None = it is not.
    error_after
        Number of chunks after which a stream that has begun well reports an error, and ends.
    first_s, between_s
        Seconds before the answer's head, and between two chunks.
    malformed
        The answer's JSON is broken off.
    media_type
        The type that the answer claims to be of; "" = its own.
    size_bytes
        Length of the answer's text; 0 = its own.
    never_close
        After all is written, neither the answer nor the connection ends.
    gzip
        The answer is compressed, if the client takes that.
    times
        Number of requests that it holds for; None = all.
    path
        Text that the path of a request has in it; "" = any path.
    """

    status: int = 0
    retry_after: float | None = None
    cut: int | None = None
    error_after: int | None = None
    first_s: float = 0.0
    between_s: float = 0.0
    malformed: bool = False
    media_type: str = ""
    size_bytes: int = 0
    never_close: bool = False
    gzip: bool = False
    times: int | None = None
    path: str = ""


NONE = Fault()


@dataclass(slots=True)
class Faults:
    """The rules in force, and how often the prompts with markers came.

    Rules are used up in the order in which they were made: an error at a time, everything else
    at once.
    """

    rules: list[Fault] = field(default_factory=list)
    came: Counter[str] = field(default_factory=Counter)

    def of(self, path: str, text: str) -> Fault:
        """Faults of the next answer; one is taken from the `times` of each rule that applies."""
        found = self._marked(text)
        for at, rule in enumerate(self.rules):
            if rule.path not in path or rule.times == 0 or (rule.status and found.status):
                continue
            found = joined([found, rule])
            if rule.times is not None:
                self.rules[at] = replace(rule, times=rule.times - 1)
        self.rules = [rule for rule in self.rules if rule.times != 0]
        return found

    def _marked(self, text: str) -> Fault:
        marks = {
            name: value
            for name, value in MARKER.findall(text)
            if name in (WITH_VALUE if value else ALONE)
        }
        if not marks:
            return NONE
        self.came[text] += 1
        if "times" in marks and self.came[text] > int(float(marks["times"])):
            return NONE
        if "fail" in marks and self.came[text] > int(float(marks["fail"])):
            marks = {name: marks[name] for name in marks if name not in ("fail", "status")}
        # `fail` first, so that what else is told of the error holds.
        ordered = sorted(marks, key=lambda name: name != "fail")
        return joined(_marker(name, marks[name]) for name in ordered)


def joined(faults: Iterable[Fault]) -> Fault:
    """All that is wrong; of two figures for one thing the later."""
    whole = NONE
    for fault in faults:
        told = {
            each.name: getattr(fault, each.name)
            for each in fields(Fault)
            if getattr(fault, each.name) != each.default
        }
        whole = replace(whole, **told)
    return replace(whole, times=None, path="")


WITH_VALUE = (
    "fail", "status", "retry_after", "cut", "error_after", "slow", "first", "large", "times",
)  # fmt: skip
ALONE = ("malformed", "wrong_type", "never_close", "gzip")


def _marker(name: str, value: str) -> Fault:
    match name:
        case "fail":
            return Fault(status=500, retry_after=0.0)
        case "status":
            return Fault(status=int(float(value)))
        case "retry_after":
            return Fault(retry_after=float(value))
        case "cut":
            return Fault(cut=int(float(value)))
        case "error_after":
            return Fault(error_after=int(float(value)))
        case "slow":
            return Fault(between_s=float(value))
        case "first":
            return Fault(first_s=float(value))
        case "large":
            return Fault(size_bytes=int(float(value)))
        case "malformed":
            return Fault(malformed=True)
        case "wrong_type":
            return Fault(media_type="text/html")
        case "never_close":
            return Fault(never_close=True)
        case "gzip":
            return Fault(gzip=True)
    return NONE
