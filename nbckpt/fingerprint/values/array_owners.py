"""The arrays over whose memory others lie: who has some addresses, among the variables."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.holding import TooManyError, inside_of
from nbckpt.fingerprint.values.spans import is_writeable, owner_of, span_of, start_of

if TYPE_CHECKING:
    import numpy as np

MOST = 20_000
"""Objects that are looked at for arrays; where there are more, variables that are arrays count."""
FEW = 1_000
"""Elements of a container that is looked into."""
_SIZED = frozenset({list, tuple, dict, set, frozenset, str, bytes, bytearray})


class ArrayOwners:
    """The owners of memory among a namespace's arrays, looked for once and when first asked."""

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace

    def bytes_of(self, places: Iterable[tuple[int, int]]) -> np.ndarray | None:
        """The first of some places that lies on an array's memory, as bytes of that; or None.

        Parameters
        ----------
        places
            Addresses and sizes in bytes.

        Returns
        -------
        A view (size,) of the array that owns the memory.
        """
        return next((found for place in places if (found := self._at(*place)) is not None), None)

    def _at(self, address: int, size: int) -> np.ndarray | None:
        if not size or "numpy" not in sys.modules:
            return None
        starts, owners = self._found
        place = bisect_right(starts, address) - 1
        if place < 0:
            return None
        owner = owners[place]
        offset = address - starts[place]
        import numpy as np

        span = span_of(
            np.ndarray.view(owner, np.ndarray) if type(owner) is not np.ndarray else owner
        )
        if offset + size > len(span):
            return None
        return span[offset : offset + size]

    @cached_property
    def _found(self) -> tuple[list[int], list[Any]]:
        import numpy as np

        values = [value for name, value in list(self._namespace.items()) if is_user_name(name)]
        arrays = [value for value in values if issubclass(type(value), np.ndarray)]
        others = [v for v in values if type(v) not in _SIZED or len(v) <= FEW]  # type: ignore[arg-type]
        try:
            found = [*inside_of(others, lambda kind: issubclass(kind, np.ndarray), MOST)]
        except TooManyError:
            found = []
        by_id: dict[int, Any] = {}
        for array in (*arrays, *found):
            owner = owner_of(array)  # type: ignore[arg-type]
            if not owner.dtype.hasobject and owner.size and is_writeable(array):  # type: ignore[arg-type]
                by_id[id(owner)] = owner
        owners = sorted(by_id.values(), key=start_of)
        return [start_of(owner) for owner in owners], owners
