"""Why a value comes back only if who wrote it is trusted; found by a look, nothing is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.errors import NbckptError
from nbckpt.model import Variable

if TYPE_CHECKING:
    from nbckpt.digests import Digest
    from nbckpt.storage.store import Store

CODE = "is made again by its statement, which is code"


def why_locked(store: Store, variable: Variable) -> str | None:
    """Why a variable cannot be restored without trust; None if it can."""
    if variable.recipe:
        return CODE
    if variable.needs:
        return f"needs {variable.needs[0]!r}, which is code"
    try:
        return why_not_plain(store, variable.blob)
    except NbckptError as problem:
        return f"cannot be read: {problem}"


def why_not_plain(store: Store, digest: Digest) -> str | None:
    """Why a blob cannot be restored without trust; None if it can.

    Raises
    ------
    NotFoundError, FormatError
        If its bytes are missing, or damaged.
    """
    from nbckpt.codecs.plain import can_be_restored

    return can_be_restored(store.get_blob(digest))
