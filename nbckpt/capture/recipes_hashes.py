"""Hash objects: what they were fed, from the statements that fed them, proved by their digest."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

MAX_BYTES = 1 << 26
"""Most bytes fed to a hash object that are kept: they are stored in the checkpoint."""

_HOMES = ("_blake2", "_hashlib", "_md5", "_sha", "blake3", "hashlib")


def is_hasher(value: object) -> bool:
    """True if `value` takes in bytes and gives a digest of them."""
    kind = type(value)
    return str(kind.__module__).startswith(_HOMES) and hasattr(kind, "hexdigest")


def makes_hashers(function: object) -> bool:
    """True if `function` is one of `hashlib`, which build a value and do nothing else."""
    home = str(getattr(function, "__module__", ""))
    name = str(getattr(function, "__name__", ""))
    return callable(function) and home.startswith(_HOMES) and name not in ("file_digest", "new")


def fed_by(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """The variable that ``name.update(what)`` feeds, and what; None of other statements."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.keywords or len(call.args) != 1:
        return None
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr="update"):
            return name, call.args[0]
    return None


def fed_to(
    live: Any, fresh: Any, feeds: list[ast.expr], namespace: Mapping[str, object]
) -> bytes | None:
    """The bytes that make of `fresh` what `live` is; None if these statements do not tell.

    After going back, the first few of the statements may be all that counts.
    """
    if (live.name, live.digest_size, live.block_size) != (
        fresh.name,
        fresh.digest_size,
        fresh.block_size,
    ):
        return None
    wanted, fed = _digest(live), bytearray()
    if _digest(fresh) == wanted:
        return b""
    for data in _values(feeds, namespace):
        fresh.update(data)
        fed += data
        if len(fed) > MAX_BYTES:
            return None
        if _digest(fresh) == wanted:
            return bytes(fed)
    return None


def _digest(hasher: Any) -> bytes:
    found: bytes = hasher.digest() if hasher.digest_size else hasher.digest(32)
    return found


def _values(feeds: list[ast.expr], namespace: Mapping[str, object]) -> Iterator[bytes]:
    for node in feeds:
        value = _value_of(node, namespace)
        if value is None:
            return
        yield value


def _value_of(node: ast.expr, namespace: Mapping[str, object]) -> bytes | None:
    """The bytes that an expression stands for, if it is a constant, a variable, or its text."""
    match node:
        case ast.Constant(value=bytes(data)):
            return data
        case ast.Name(id=name):
            value = namespace.get(name)
            return bytes(value) if isinstance(value, bytes | bytearray) else None
        case ast.Call(func=ast.Attribute(value=of, attr="encode"), args=[], keywords=[]):
            text: object = of.value if isinstance(of, ast.Constant) else None
            if isinstance(of, ast.Name):
                text = namespace.get(of.id)
            return text.encode() if isinstance(text, str) else None
    return None
