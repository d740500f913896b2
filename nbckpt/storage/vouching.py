"""Contents of a store that its user has not signed, and how they are vouched for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from blake3 import blake3

from nbckpt.digests import digest_of_json
from nbckpt.storage.user import DIGEST_BYTES

MARK_DIGITS = 32
SETTINGS = "config"
"""Under this name a user vouches for settings; as journals are named, none would be taken for it:
what is vouched for is a digest."""


class Untrusted(NamedTuple):
    """Amount of a store that its user has neither signed nor vouched for.

    Another user made it, or this user with a key that is lost.
    """

    journals: int
    records: int
    checkpoints: int

    def __bool__(self) -> bool:
        return self.records > 0


def digest_of_settings(text: str) -> bytes:
    """By what a user vouches for what a `config.json` says."""
    return blake3(b"nbckpt settings\n" + text.encode()).digest(DIGEST_BYTES)


def told_apart(lines: Mapping[str, Iterable[bytes]]) -> str:
    """Tells just these lines of journals from all others.

    Parameters
    ----------
    lines
        Name of a journal → digests of lines.
    """
    named = {name: sorted(digest.hex() for digest in digests) for name, digests in lines.items()}
    return digest_of_json(named)[:MARK_DIGITS]
