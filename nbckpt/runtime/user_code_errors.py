"""Errors that a value's own code may raise: any but those that are about the whole process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_OF_THE_PROCESS = frozenset({"asyncio", "curio", "gevent", "greenlet", "nbckpt", "trio"})
"""Packages with `BaseException`s that are no failures: a cancelled task, our own ways out."""
_MODULE_OF = type.__dict__["__module__"].__get__


def user_code_errors(*besides: type[BaseException]) -> tuple[type[BaseException], ...]:
    """Classes of errors that code of the user's, or of a library, may raise: for an `except`.

    All but an interrupt, a cancelled task, and our own ways out. A panic in Rust is no
    `Exception`, and each library has a class of its own for it, which is made at its first panic:
    so this is to be asked once something was raised, as an `except` clause does.

    Parameters
    ----------
    besides
        Classes that are to be caught as well.
    """
    kinds = BaseException.__subclasses__()
    return *(kind for kind in kinds if not _goes_through(kind)), *besides


@contextmanager
def user_code_errors_ignored() -> Iterator[None]:
    """As `contextlib.suppress`, for `user_code_errors`."""
    try:
        yield
    except user_code_errors():
        pass


def _goes_through(kind: type[BaseException]) -> bool:
    if kind is KeyboardInterrupt or kind is BaseExceptionGroup:
        return True
    module = _MODULE_OF(kind)  # what a class or its metaclass says in its place may be anything
    return type(module) is str and module.partition(".")[0] in _OF_THE_PROCESS
