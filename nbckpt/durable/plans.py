"""What a step was asked to be, and how many of its calls began."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any

from nbckpt.errors import UsageError


@dataclass(frozen=True)
class Plan:
    """One decorated function.

    Attributes
    ----------
    function
        As it was written.
    name
        Of its records; by default its qualified name.
    retries
        How often it may run again after an error.
    backoff
        Seconds before the first further attempt; each wait is about twice the one before.
    timeout_s
        What one attempt may take.
    retry_on
        The errors after which it runs again.
    once
        Whether it must not be repeated: a call of which only the intent is known asks.
    """

    function: FunctionType
    name: str
    retries: int = 0
    backoff: float = 1.0
    timeout_s: float | None = None
    retry_on: tuple[type[BaseException], ...] = (Exception,)
    once: bool = False

    def __post_init__(self) -> None:
        what = f"step {self.name!r}"
        has_no_time = self.timeout_s is not None and self.timeout_s <= 0
        if self.retries < 0 or self.backoff < 0 or has_no_time:
            message = f"{what}: retries and backoff are 0 or more, timeout_s is more than 0"
            raise UsageError(message)
        if self.once and self.retries:
            message = f"{what} is to run once, and again after errors: give retries or once=True"
            raise UsageError(message)
        if self.is_generator and (self.once or self.timeout_s is not None):
            message = f"{what} yields: once and timeout_s are for functions that return"
            raise UsageError(message)

    @property
    def is_generator(self) -> bool:
        """Whether it yields, with or without `async`."""
        function = self.function
        return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)

    @cached_property
    def signature(self) -> inspect.Signature:
        """Of the function."""
        return inspect.signature(self.function)

    @property
    def namespace(self) -> dict[str, object]:
        """The globals of the function."""
        return self.function.__globals__

    def options(self) -> dict[str, object]:
        """What `step` was given."""
        return {
            "retries": self.retries,
            "backoff": self.backoff,
            "timeout_s": self.timeout_s,
            "retry_on": self.retry_on,
            "name": self.name,
            "once": self.once,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return plan_of, (self.function, self.options())


def plan_of(function: FunctionType, options: dict[str, Any]) -> Plan:
    """The plan that was taken apart."""
    return Plan(function, **options)
