"""Why a value comes back only if who wrote it is trusted; found by a look, nothing is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.errors import NbckptError
from nbckpt.model import Variable

if TYPE_CHECKING:
    from nbckpt.digests import Digest
    from nbckpt.storage.store import Store

CODE = "is made again by its statement, which is code"
LOOKED_INTO_BYTES = 32 << 20
_LARGE = ("numpy.ndarray", "pandas.DataFrame", "pandas.Series", "polars.DataFrame",
          "polars.Series", "pyarrow.Table", "torch.Tensor")  # fmt: skip
"""Types taken for plain if a value is large, so that no one waits for a gigabyte to be read."""


def why_locked(store: Store, variable: Variable) -> str | None:
    """Why a variable cannot be restored without trust; None if it can.

    What is large is told by its type: to look into it takes as long as to restore it.
    """
    if variable.recipe:
        return CODE
    if variable.needs:
        return f"needs {variable.needs[0]!r}, which is code"
    try:
        store.require_room(variable.blob)
        if store.blob_size(variable.blob) > LOOKED_INTO_BYTES:  # whatever its record says
            is_plain = variable.type_name in _LARGE
            return None if is_plain else "is large, and was not looked into"
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
