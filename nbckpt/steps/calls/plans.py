"""A decorated function, with the options that `step` was given."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
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
        for option, is_right, meaning in self._meanings():
            if not is_right:
                message = f"{what}: {option} is {getattr(self, option)!r}; it is {meaning}"
                raise UsageError(message)
        if self.once and self.retries:
            message = f"{what} is to run once, and again after errors: give retries or once=True"
            raise UsageError(message)
        if self.is_generator and (self.once or self.timeout_s is not None):
            message = f"{what} yields: once and timeout_s are for functions that return"
            raise UsageError(message)

    def _meanings(self) -> Iterator[tuple[str, bool, str]]:
        """Each option of which one can be wrong about the kind: whether it is right, what it is."""
        given: Any = self  # typed by a person, who may not have asked a type checker
        is_text = isinstance(given.name, str) and bool(given.name)
        yield "name", is_text, "a text, such as 'search'"
        is_whole = isinstance(given.retries, int)
        yield "retries", is_whole and given.retries >= 0, "a whole number, 0 or more"
        is_number = isinstance(given.backoff, int | float)
        yield "backoff", is_number and given.backoff >= 0, "a number of seconds, 0 or more"
        limit = given.timeout_s
        is_limit = limit is None or (isinstance(limit, int | float) and limit > 0)
        yield "timeout_s", is_limit, "a number of seconds, more than 0"
        kinds = given.retry_on
        are_errors = all(
            isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds
        )
        yield "retry_on", are_errors, "a class of errors, or a tuple of classes"

    @property
    def is_generator(self) -> bool:
        """True if it yields, with or without `async`."""
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
        """Options that `step` was given."""
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
