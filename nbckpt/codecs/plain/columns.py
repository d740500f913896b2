"""The arrays inside frames of pandas that are not plain ones of numpy's, and their types."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.plain import moments
from nbckpt.codecs.plain.builtin import are, is_zone, require
from nbckpt.codecs.plain.names import Known, Make, Pending

if TYPE_CHECKING:
    from nbckpt.codecs.plain.limits import Limits

_NUMBERS = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
_MASKED_TYPES = (*_NUMBERS, "Float32", "Float64", "Boolean")
_MASKED = ("IntegerArray", "FloatingArray", "BooleanArray")
_BACKED = ("DatetimeArray", "TimedeltaArray", "PeriodArray", "StringArray")
_ARROW = ("ArrowStringArray", "ArrowExtensionArray")
_PERIOD = re.compile(r"period\[[A-Za-z0-9\-]{1,16}\]")


def names() -> list[tuple[str, Known]]:
    """The names of these arrays and types that a stream may use, and their meanings."""
    import pandas as pd

    found = [
        (f"pandas:{name}Dtype", Known(name, getattr(pd, f"{name}Dtype"), new=_masked_type(name)))
        for name in _MASKED_TYPES
    ]
    for name, begun in [*((n, _masked) for n in _MASKED), *((n, _arrow) for n in _ARROW)]:
        if kind := getattr(pd.arrays, name, None):
            found.append((f"pandas.arrays:{name}", Known(name, kind, new=begun(kind))))
    found += [(f"pandas.arrays:{n}", Known(n, getattr(pd.arrays, n))) for n in _BACKED]
    return [
        *found,
        ("pandas._libs.arrays:__pyx_unpickle_NDArrayBacked", Known("pandas", make=_backed_begun)),
        ("pandas:Categorical", Known("pandas.Categorical", pd.Categorical)),
        ("pandas:StringDtype", Known("StringDtype", pd.StringDtype, make=_string_type)),
        ("pandas:PeriodDtype", Known("PeriodDtype", pd.PeriodDtype, make=_period_type)),
        ("pandas:CategoricalDtype", _type(pd.CategoricalDtype, _categories)),
        ("pandas:DatetimeTZDtype", _type(pd.DatetimeTZDtype, _zoned)),
        ("pandas:ArrowDtype", _type(pd.ArrowDtype, _arrow_type)),
    ]


def is_extension(value: object) -> bool:
    """True if `value` is one of the arrays that are made here."""
    import pandas as pd

    kinds = [getattr(pd.arrays, n, None) for n in (*_MASKED, *_BACKED, *_ARROW)]
    return type(value) in (pd.Categorical, *kinds)


def _type(kind: Any, complete: Any) -> Known:
    def begun(_: Limits, given: tuple[Any, ...]) -> object:
        require(given == ())
        return Pending(complete)

    return Known(kind.__name__, kind, new=begun)


def is_worked_out(value: object, state: object) -> bool:
    """True if a state is nothing but what a type of elements remembers of having been asked.

    Types of masked columns are written with that if somebody used them before, else without.
    """
    pd: Any = sys.modules.get("pandas")
    is_type = pd is not None and isinstance(value, pd.api.extensions.ExtensionDtype)
    return is_type and type(state) is dict and state.keys() == {"_cache"}


def _masked_type(name: str) -> Make:
    def make(_: Limits, given: tuple[Any, ...]) -> object:
        import pandas as pd

        require(given == ())
        return getattr(pd, f"{name}Dtype")()

    return make


def _string_type(_: Limits, given: tuple[Any, ...]) -> object:
    import pandas as pd

    require(len(given) == 2 and given[0] in ("python", "pyarrow"))
    missing = given[1]
    require(missing is pd.NA or (type(missing) is float and missing != missing))  # not a number
    return pd.StringDtype(given[0], na_value=missing)


def _period_type(_: Limits, given: tuple[Any, ...]) -> object:
    import pandas as pd

    require(len(given) == 1 and are(str, *given) and _PERIOD.fullmatch(given[0]))
    return pd.PeriodDtype(given[0][len("period[") : -1])


def _categories(state: Any) -> object:
    import pandas as pd

    require(type(state) is dict and set(state) == {"categories", "ordered"})
    require(isinstance(state["categories"], pd.Index) or state["categories"] is None)
    require(type(state["ordered"]) in {bool, type(None)})
    return pd.CategoricalDtype(**state)


def _zoned(state: Any) -> object:
    import pandas as pd

    require(type(state) is dict and set(state) == {"unit", "tz"})
    require(is_zone(state["tz"]) and state["unit"] in ("s", "ms", "us", "ns"))
    return pd.DatetimeTZDtype(**state)


def _arrow_type(state: Any) -> object:
    import pandas as pd
    import pyarrow as pa

    require(type(state) is dict and isinstance(state.get("pyarrow_dtype"), pa.DataType))
    return pd.ArrowDtype(state["pyarrow_dtype"])


def _arrow(kind: Any) -> Make:
    """Arrays on those of Arrow."""

    def complete(state: Any) -> object:
        import pandas as pd
        import pyarrow as pa

        require(type(state) is dict and set(state) == {"_pa_array", "_dtype", "_cache"})
        array, dtype = state["_pa_array"], state["_dtype"]
        require(isinstance(array, pa.Array | pa.ChunkedArray))
        if kind is pd.arrays.ArrowExtensionArray:
            made = kind(array)
            require(made.dtype == dtype)
            return made
        require(type(dtype) is pd.StringDtype and dtype.storage == "pyarrow")
        return kind(array, dtype=dtype)

    def begun(_: Limits, given: tuple[Any, ...]) -> object:
        require(given == ())
        return Pending(complete)

    return begun


def _masked(kind: Any) -> Make:
    """Arrays of numbers with a mask."""

    def complete(state: Any) -> object:
        import numpy as np

        require(type(state) is dict and {"_data", "_mask"} <= set(state))
        require(set(state) <= {"_data", "_mask", "_cache", "_dtype"})
        data, mask = state["_data"], state["_mask"]
        require(type(data) is np.ndarray and type(mask) is np.ndarray and data.dtype.isnative)
        require(data.shape == mask.shape and mask.dtype == np.bool_)
        return kind(data, mask)

    def begun(_: Limits, given: tuple[Any, ...]) -> object:
        require(given == ())
        return Pending(complete)

    return begun


def _backed_begun(limits: Limits, given: tuple[Any, ...]) -> object:
    import pandas as pd

    require(len(given) == 3 and given[2] is None)
    kind = given[0]
    require(kind in (pd.Categorical, *(getattr(pd.arrays, n) for n in _BACKED)))
    return Pending(lambda state: _backed(limits, kind, state))


def _backed(limits: Limits, kind: Any, state: Any) -> object:
    """Arrays on one of numpy: categories, moments, strings."""
    import numpy as np
    import pandas as pd

    require(type(state) is tuple and 2 <= len(state) <= 3)
    dtype, array = state[:2]
    require(type(array) is np.ndarray and array.dtype.isnative)
    if kind is pd.Categorical:
        require(type(dtype) is pd.CategoricalDtype and array.dtype.kind == "i")
        require(dtype.categories is not None)
        limits.spend(array.nbytes)
        require(array.ndim <= 2)
        codes = array.reshape(-1).copy()  # they must not change any more
        made = pd.Categorical.from_codes(codes, dtype=dtype)
        return made if array.ndim == 1 else made.reshape(array.shape)
    if kind is pd.arrays.StringArray:
        require(type(dtype) is pd.StringDtype and dtype.storage == "python")
        require(array.dtype.hasobject)
        limits.spend(array.nbytes)
        made = pd.array(array.reshape(-1), dtype=dtype)
        return made if array.ndim == 1 else made.reshape(array.shape)
    return moments.array_of(kind, dtype, array)
