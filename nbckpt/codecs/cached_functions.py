"""Functions under `functools.lru_cache`, with what they remember."""

from __future__ import annotations

import functools
from functools import partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.loading import LOADING
from nbckpt.errors import FormatError
from nbckpt.fingerprint.values import caches
from nbckpt.fingerprint.values.homes import home_of
from nbckpt.types.adapter import RefusalError

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler


def reduce_cached(pickler: NamespacePickler, cached: Any) -> Any:
    """A function under `functools.lru_cache` with what it remembers; a library's by its name.

    Raises
    ------
    RefusalError
        If what it remembers cannot be read, or could not be put back.
    """
    if home_of(cached, pickler.scope.namespace):
        return NotImplemented
    answers = caches.answers_of(cached)
    if answers is None:
        message = "what it remembers cannot be read"
        raise RefusalError(message)
    function, parameters = cached.__wrapped__, cached.cache_parameters()
    if answers and parameters["maxsize"] is not None and not _is_own(pickler, function):
        message = "what it remembers cannot be put back: without a limit (maxsize=None) it can"
        raise RefusalError(message)
    state = (caches.members_of(cached), caches.columns_of(answers))
    arguments = function, parameters["maxsize"], parameters["typed"]
    return make_cached, arguments, state, None, None, set_cached


def _is_own(pickler: NamespacePickler, function: object) -> bool:
    return type(function) is FunctionType and function.__globals__ is pickler.scope.namespace


def make_cached(function: Any, maxsize: int | None, typed: bool) -> Any:
    """`function` with an empty cache."""
    return functools.lru_cache(maxsize, typed)(function)


def set_cached(cached: Any, state: tuple[dict[str, Any], list[Any]]) -> None:
    """Give a cached function its attributes; and what it remembers, when all else is there.

    Arguments may be objects whose class has no `__hash__` before the end.
    """
    members, columns = state
    vars(cached).update(members)
    if answers := caches.answers_in(columns):
        LOADING.get().endings.append(partial(_remember, cached, answers))


def _remember(cached: Any, answers: list[caches.Answer]) -> None:
    """Fill the empty cache of a function, which does not run.

    Raises
    ------
    FormatError
        If it does not have each of the answers then: arguments may have become equal since.
    """
    if cached.cache_info().maxsize is None:
        _put_into_table(cached, answers)
    else:
        _put_by_calls(cached, answers)
    if cached.cache_info().currsize != len(answers):
        message = f"what {cached.__name__}() remembers cannot be put back: arguments are equal now"
        raise FormatError(message)


def _put_by_calls(cached: Any, answers: list[caches.Answer]) -> None:
    """Fill a cache with a limit, whose links only a call makes.

    Meanwhile the function has other code, which gives the answers in their order.
    """
    function = cached.__wrapped__
    code = function.__code__
    function.__code__ = _giving([answer.value for answer in answers], len(code.co_freevars))
    try:
        for arguments, keywords, _ in answers:
            cached(*arguments, **keywords)
    finally:
        function.__code__ = code


def _put_into_table(cached: Any, answers: list[caches.Answer]) -> None:
    """Fill a cache without a limit, in which the table leads to the answers themselves."""
    cache = caches.cache_of(cached)
    if cache is None:
        message = f"this Python keeps what {cached.__name__}() remembers in another way"
        raise FormatError(message)
    is_typed = caches.is_typed_cache(cached)
    for answer in answers:
        cache.table[caches.key_of(answer, cache.mark, is_typed=is_typed)] = answer.value


def _giving(values: list[Any], n_free: int) -> CodeType:
    """Code of a function with so many free variables that gives one value after the other."""
    names = ", ".join(f"_{i}" for i in range(n_free))
    around: dict[str, Any] = {}
    exec(_TEMPLATE.format(arguments=names, free=names or None, mark=_MARK), around)
    code: CodeType = around["make"](*[None] * n_free).__code__
    left = values[::-1]
    constants = tuple(left if c == _MARK else c for c in code.co_consts)
    return code.replace(co_consts=constants)


_MARK = "values that are left"
_TEMPLATE = """
def make({arguments}):
    def give(*_, **__):
        return {mark!r}.pop()
        {free}
    return give
"""
