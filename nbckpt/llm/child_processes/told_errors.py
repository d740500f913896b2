"""Errors of a child, as its parent is told of them: by class name and text."""

from __future__ import annotations

_CHAIN = 8
"""Errors of a chain of causes that are told: whether anything was sent is seen by them."""


def chain_of(error: BaseException) -> list[list[str]]:
    """Class and text of an error, and of those that it came from."""
    chain: list[list[str]] = []
    problem: object = error
    while isinstance(problem, BaseException) and len(chain) < _CHAIN:
        try:
            text = str(problem)
        except Exception:  # an error of the user's, whose text fails
            text = ""
        chain.append([type(problem).__name__, text])
        problem = getattr(problem, "reason", None) or problem.__cause__
    return chain


def error_of(told: str | list[list[str]]) -> BaseException | str:
    """An error of the same name and text as one of the child, with those that it came from."""
    if isinstance(told, str):
        return told
    error: BaseException | None = None
    for name, text in reversed(told):
        # One that says "nobody is there" is known by its class, all others by its name.
        is_refusal = name == ConnectionRefusedError.__name__
        kind = ConnectionRefusedError if is_refusal else type(name, (Exception,), {})
        made: BaseException = kind(text)
        made.__cause__, error = error, made
    return error if error is not None else ""
