"""Limits of a variable and a store, and the refusal of a variable that is beyond one."""

from __future__ import annotations

from typing import NamedTuple

from nbckpt.model import Refusal
from nbckpt.runtime.time_limit import limit_text
from nbckpt.text.units import bytes_text


class Limits(NamedTuple):
    """Size limits for the checkpoints of a session; None is no limit.

    Attributes
    ----------
    value_bytes
        Bytes of a variable; one that is larger is left out.
    store_bytes
        Bytes of the store; anything that would make it larger is not kept.
    """

    value_bytes: int | None = None
    store_bytes: int | None = None


def too_large(name: str, value: object, limit_bytes: int, size_bytes: int | None) -> Refusal:
    """Why a variable is left out that is larger than it may be.

    Parameters
    ----------
    size_bytes
        None if nobody looked further than to the limit.
    """
    from nbckpt.text.describe import type_name_of

    limit = bytes_text(limit_bytes)
    reason = f"is larger than max_value_size ({limit}) lets through"
    if size_bytes is not None:
        reason = f"has {bytes_text(size_bytes)}, more than max_value_size ({limit}) lets through"
    return Refusal(name, name, type_name_of(value), reason)


def out_of_time() -> str:
    """Why a variable is left out that takes longer to write than it may."""
    return (
        f"takes longer than {limit_text()} to be written: make it smaller, or set"
        " capture_timeout_s by %nbckpt config"
    )


def least_size(value: object) -> int:
    """Bytes that a value has at least, found without reading it; 0 where that is not known."""
    if type(value) in {bytes, bytearray, str}:
        return len(value)  # type: ignore[arg-type]  # one of these
    size = getattr(value, "nbytes", 0) if type(value).__module__ == "numpy" else 0
    return size if isinstance(size, int) else 0
