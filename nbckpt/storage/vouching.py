"""What of a store its user does not know to be his own, and how he takes it over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from nbckpt.digests import digest_of_json

MARK_DIGITS = 32


class Untrusted(NamedTuple):
    """How much of a store is neither signed by its user nor vouched for.

    An earlier nbckpt made it, or somebody else, or this user with a key that is lost.
    """

    journals: int
    records: int
    checkpoints: int

    def __bool__(self) -> bool:
        return self.records > 0


def told_apart(lines: Mapping[str, Iterable[bytes]]) -> str:
    """Tells just these lines of journals from all others.

    Parameters
    ----------
    lines
        Name of a journal → digests of lines.
    """
    named = {name: sorted(digest.hex() for digest in digests) for name, digests in lines.items()}
    return digest_of_json(named)[:MARK_DIGITS]
