"""NumPy: functions made of Python ones, and arrays that are gone through together."""

from __future__ import annotations

import gc
from typing import Any

from nbckpt.types.adapter import TypeAdapter


def _reduce_ufunc(ufunc: Any) -> Any:
    """One of a library is that; one that was made of a function is made of it again."""
    functions = [item for item in gc.get_referents(ufunc) if callable(item)]
    if len(functions) == 1 and str(ufunc.__name__).endswith(" (vectorized)"):
        identity = {} if ufunc.identity is None else {"identity": ufunc.identity}
        return make_ufunc, (functions[0], ufunc.nin, ufunc.nout, identity)
    return NotImplemented


def make_ufunc(function: Any, n_in: int, n_out: int, options: dict[str, Any]) -> Any:
    """A function that is called for each element of arrays."""
    import numpy as np

    return np.frompyfunc(function, n_in, n_out, **options)


def _reduce_broadcast(broadcast: Any) -> Any:
    return make_broadcast, (tuple(one.base for one in broadcast.iters), broadcast.index)


def make_broadcast(arrays: tuple[Any, ...], index: int) -> Any:
    """Arrays that are gone through together, so far."""
    import numpy as np

    made: Any = np.broadcast(*arrays)
    for _ in range(index):
        next(made)
    return made


ADAPTERS = (
    TypeAdapter(("numpy:ufunc",), reduce=_reduce_ufunc),
    TypeAdapter(("numpy:broadcast",), reduce=_reduce_broadcast),
)
