"""Loaded state of the user's own modules: their code, and the values that they hold.

Notes
-----
Not the text of their files: that of a module which is loaded may have been edited since, or have
been loaded again in part, as ``%autoreload`` does; and a notebook may set values in a module.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from nbckpt.digests import Digest, digest_of
from nbckpt.fingerprint.code.bytecode import digest_of_code
from nbckpt.fingerprint.values.definitions import functions_of_class
from nbckpt.fingerprint.values.homes import (
    is_user_file,
    members_of_module,
    module_of_class,
    space_of_module,
)
from nbckpt.fingerprint.values.kinds import step_for
from nbckpt.fingerprint.values.sources import text_digest
from nbckpt.fingerprint.values.walking import Found, Walk

BUDGET = 300_000


@dataclass(frozen=True, slots=True)
class Loaded:
    """Digests of the code and values that decide the behaviour of a module's functions.

    Attributes
    ----------
    code
        Of its functions, classes and imports; of its text, when it is not loaded.
    values
        Name of each of its other variables, private ones too → digest of its value; one that
        nothing equals if the value cannot be told.
    """

    code: Digest
    values: Mapping[str, Digest] = field(default_factory=dict)


def loaded(name: str) -> Loaded:
    """Code and values that count of one of the user's modules, as it is in this process."""
    module = sys.modules.get(name)
    if not isinstance(module, ModuleType) or not _has_python(module):
        return Loaded(text_digest(name))
    code: list[str] = []
    values = {}
    for member, value in sorted(members_of_module(name).items()):
        is_code = issubclass(type(value), FunctionType | type | ModuleType)
        if member.startswith("__") and not is_code:
            continue
        digest = _digest_of(value, vars(module))
        if is_code:
            code.append(f"{member}={digest or _bare(value)}\n")
        else:  # what cannot be told equals nothing
            values[f"{name}.{member}"] = digest or digest_of(secrets.token_bytes(16))
    return Loaded(digest_of(*code), values)


def looks_into_main(name: str) -> bool:
    """True if code of one of the user's modules finds the notebook's variables by itself."""
    module = sys.modules.get(name)
    main = sys.modules.get("__main__")
    if not isinstance(module, ModuleType) or module is main:
        return False
    for member, value in tuple(space_of_module(name).items()):
        if value is main or (type(value) is str and value == _MAIN and member != "__name__"):
            return True
        if any(map(_names_main, _code_in(value, name, _DEPTH))):
            return True
    return False


_MAIN = "__main__"
_INTO_MAIN = frozenset({_MAIN, "f_globals", "user_global_ns", "user_ns"})
"""Names by which code comes to the notebook's variables."""

_DEPTH = 4
"""Functions in functions in a table of functions: what code of a module is looked for in."""


def _code_in(value: Any, home: str, depth: int) -> Iterator[CodeType]:
    """The code of the functions that a member of a module is, wraps or holds."""
    kind = type(value)
    inside: Iterable[object] = ()
    if kind is FunctionType:
        function: Any = value
        yield function.__code__
        inside = [c.cell_contents for c in function.__closure__ or () if c != _EMPTY]
    elif issubclass(kind, type):
        inside = functions_of_class(value) if module_of_class(value) == home else ()
    elif kind is partial:
        inside = [value.func, *value.args, *value.keywords.values()]
    elif kind in {list, tuple, dict} and len(value) < _MOST_MEMBERS:
        inside = value.values() if kind is dict else value
    elif kind.__name__ == "_lru_cache_wrapper":
        inside = [value.__wrapped__]
    for item in tuple(inside) if depth else ():
        yield from _code_in(item, home, depth - 1)


_EMPTY = CellType()
_MOST_MEMBERS = 1_000


@lru_cache(maxsize=10_000)
def _names_main(code: CodeType) -> bool:
    """True if code imports ``__main__``, or comes to its variables by another name."""
    if not _INTO_MAIN.isdisjoint(code.co_names):
        return True
    if any(type(c) is str and _MAIN in c for c in code.co_consts):
        return True
    return any(_names_main(inner) for inner in code.co_consts if isinstance(inner, CodeType))


def _has_python(module: ModuleType) -> bool:
    origin = getattr(module, "__file__", None)
    return origin is None or not is_user_file(origin) or origin.endswith(".py")


def _digest_of(value: object, namespace: Mapping[str, object]) -> Digest | None:
    """The digest of what a module holds; None if it cannot be told."""
    found = Found(namespace, BUDGET)
    digest = Walk(found, step_for).digest(value)
    return None if found.exhausted or found.is_unknown else digest


def _bare(value: object) -> Digest:
    """Digest of a member that cannot be told: of its own code, or of its type."""
    kind = type(value)
    if isinstance(value, FunctionType):
        return digest_of_code(value.__code__)
    if isinstance(value, type):
        return digest_of(*(digest_of_code(f.__code__) for f in functions_of_class(value)))
    return digest_of(f"{module_of_class(kind)}.{kind.__qualname__}")
