"""Tell from its text whether code may ask nbckpt for what is kept."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from nbckpt.fingerprint.user_names import is_nbckpts_own

_ASKING = frozenset({"diff", "get", "history", "sql"})


def may_ask(tree: ast.Module, namespace: Mapping[str, object]) -> bool:
    """True if code, or a function or class of the notebook that it names, may ask."""
    waiting = list(_nested(compile(tree, "<cell>", "exec")))
    seen: set[int] = set()
    while waiting:
        names = waiting.pop().co_names
        values = [namespace.get(name) for name in names]
        if any(is_nbckpts_own(v) and getattr(v, "__name__", "") in _ASKING for v in values):
            return True
        is_named = "nbckpt" in names or any(v is sys.modules.get("nbckpt") for v in values)
        if is_named and not _ASKING.isdisjoint(names):
            return True
        for value in values:
            if id(value) not in seen:
                seen.add(id(value))
                waiting += [c for code in _codes_of(value, namespace) for c in _nested(code)]
    return False


def _codes_of(value: Any, namespace: Mapping[str, object]) -> Iterator[CodeType]:
    """Code of a function or class of the notebook."""
    kind = type(value)  # `isinstance` would ask a proxy
    if kind is FunctionType and value.__globals__ is namespace:
        yield value.__code__
    elif issubclass(kind, type) and getattr(value, "__module__", None) == "__main__":
        members = list(vars(value).values())
        yield from (m.__code__ for m in members if type(m) is FunctionType)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
