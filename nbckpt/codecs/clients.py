"""Clients of services: with their settings, without their connections and keys of the environment.

A connection is of one process; a client opens another when it needs one. A key that came from the
environment is written as the name that it has there, and read there again.
"""

from __future__ import annotations

import os
import queue
import re
from collections.abc import Callable
from typing import Any

from nbckpt.fingerprint.values.reducing import (
    asks_for_its_state,
    by_members,
    past_getattr,
    reduction_of,
)
from nbckpt.text.secret_texts import SHORTEST, is_private

Reducer = Callable[[object, Any], Any]

_SDKS = frozenset(
    {"openai", "anthropic", "groq", "mistralai", "cohere", "together", "langchain_openai",
     "langchain_anthropic", "botocore"}
)  # fmt: skip
_SECRETS = frozenset({("pydantic.types", "SecretStr")})
_SECRET_MEMBER = re.compile(r"(?i)_?(.*(api_?key|token|secret|password).*|access_key)")


def reducer_for(kind: type) -> Reducer | None:
    """The reducer for pools of connections and clients of type `kind`; None for anything else."""
    package = str(kind.__module__).partition(".")[0]
    for base in kind.__mro__[:-1]:
        if reducer := _POOLS.get((str(base.__module__).partition(".")[0], base.__name__)):
            return reducer
    is_client = package in _SDKS or (kind.__module__, kind.__name__) in _SECRETS
    return _reduce_client if is_client and _is_told_by_members(kind) else None


def _is_told_by_members(kind: type) -> bool:
    ways: tuple[object, object] = kind.__reduce_ex__, kind.__reduce__
    return ways == (object.__reduce_ex__, object.__reduce__)


def _reduce_httpcore_pool(_: object, pool: Any) -> Any:
    return by_members(pool, {**vars(pool), "_connections": [], "_requests": []})


def _reduce_manager(_: object, manager: Any) -> Any:
    pools = manager.pools
    fresh = type(pools)(pools._maxsize, pools.dispose_func)  # noqa: SLF001
    return by_members(manager, {**vars(manager), "pools": fresh})


def _reduce_urllib3_pool(_: object, pool: Any) -> Any:
    members = {**vars(pool), "num_connections": 0}
    if isinstance(pool.pool, queue.Queue):
        members["pool"] = type(pool.pool)(pool.pool.maxsize)
        for _n in range(pool.pool.maxsize):
            members["pool"].put(None)
    return by_members(pool, members)


_POOLS: dict[tuple[str, str], Reducer] = {
    ("httpcore", "ConnectionPool"): _reduce_httpcore_pool,
    ("httpcore", "AsyncConnectionPool"): _reduce_httpcore_pool,
    ("httpcore2", "ConnectionPool"): _reduce_httpcore_pool,
    ("httpcore2", "AsyncConnectionPool"): _reduce_httpcore_pool,
    ("urllib3", "PoolManager"): _reduce_manager,
    ("urllib3", "HTTPConnectionPool"): _reduce_urllib3_pool,
}
"""By the package and the name of a class; those that derive from one count, too."""

# -- keys -----------------------------------------------------------------------------------


def _reduce_client(_: object, client: Any) -> Any:
    reduced = reduction_of(client, 5)
    if asks_for_its_state(type(client)):
        reduced = past_getattr(reduced)
    if not isinstance(reduced, tuple) or len(reduced) < 3 or type(reduced[2]) is not dict:
        return reduced
    names = {n: found for n, v in reduced[2].items() if (found := _name_of(n, v))}
    state = {n: _Named(names[n]) if n in names else v for n, v in reduced[2].items()}
    return (*reduced[:2], state if names else reduced[2], *reduced[3:])


def _name_of(member: Any, value: Any) -> str:
    """The variable of the environment that a client's key is from; empty if it is from none."""
    is_text = type(member) is str and type(value) is str and len(value) >= SHORTEST
    if not is_text or not _SECRET_MEMBER.fullmatch(member):
        return ""
    names = [n for n, v in os.environ.items() if v == value and is_private(n, v)]
    return min(names, default="")


class _Named:
    """Stands in a stream for a key of the environment."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> Any:
        return from_environment, (self.name,)


def from_environment(name: str) -> str:
    """A key of the environment.

    Raises
    ------
    RestoreError
        If it is not there.
    """
    from nbckpt.errors import RestoreError

    try:
        return os.environ[name]
    except KeyError:
        message = f"its key was {name} of the environment, which is not set here: set it first"
        raise RestoreError(message) from None
