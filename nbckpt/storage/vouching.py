"""What of a store its user does not know to be his own, and how he takes it over."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from nbckpt.storage import system
from nbckpt.storage.disk import reading
from nbckpt.storage.journal import whole_lines
from nbckpt.storage.signing import Signers, is_half


class Untrusted(NamedTuple):
    """How much of a store is neither signed by its user nor vouched for.

    An earlier nbckpt made it, or somebody else, or this user with a key that is lost.
    """

    journals: int
    records: int
    checkpoints: int

    def __bool__(self) -> bool:
        return self.records > 0


def untrusted_lines(path: Path, signers: Signers) -> set[bytes]:
    """The digests of the whole lines of a journal, as it is now, that are not trusted.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    signer, found = signers.of(path.stem), set()
    with reading(path) as fd:
        for _, line in whole_lines(fd, 0, system.files.fstat(fd).st_size):
            opened = signer.open(line)
            if opened is None or (opened[1] and not is_half(opened[0])):
                continue
            if digest := signer.digest_of(line):
                found.add(digest)
    return found
