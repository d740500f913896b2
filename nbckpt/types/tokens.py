"""Pygments and sqlparse: kinds of tokens."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from nbckpt.types.adapter import TypeAdapter


def _reduce_token_type(token: Any) -> Any:
    """A kind of tokens is the one object that is found by its names."""
    return token_of, (type(token).__module__, *token)


def token_of(module: str, *names: str) -> Any:
    """A kind of tokens of Pygments or sqlparse."""
    return functools.reduce(getattr, names, importlib.import_module(module).Token)


ADAPTERS = (
    TypeAdapter(
        ("pygments.token:_TokenType", "sqlparse.tokens:_TokenType"),
        exact=True,
        is_immutable=True,
        reduce=_reduce_token_type,
    ),
)
