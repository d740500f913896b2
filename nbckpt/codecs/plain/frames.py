"""Frames, series and indexes of pandas: the blocks and their places, each looked at first.

pandas takes for granted that the blocks of a frame fill its columns, and that codes are those of
categories: it writes past the end of an array where they are not.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.plain import columns, moments
from nbckpt.codecs.plain.builtin import are, require
from nbckpt.codecs.plain.names import Known, Make, Pending, Table, table

if TYPE_CHECKING:
    from nbckpt.codecs.plain.limits import Limits

_INDEX = ("RangeIndex", "Index", "MultiIndex", "CategoricalIndex", "PeriodIndex")
_NAMES = (str, int, float, bool, bytes, tuple, type(None))
_BLOCKS = "biufcO"
_LABEL_PARTS = (str, int, float, bool, bytes, type(None))


@functools.cache
def names() -> Table:
    """Table of the pandas names that a stream may use."""
    import pandas as pd

    base, indexes = "pandas.core.internals.managers", "pandas.core.indexes"
    makers: dict[str, Make] = {
        f"{base}:BlockManager": _manager,
        "pandas._libs.internals:_unpickle_block": _block,
        f"{indexes}.base:_new_Index": _index,
        f"{indexes}.datetimes:_new_DatetimeIndex": _times("DatetimeIndex"),
        f"{indexes}.timedeltas:_new_TimedeltaIndex": _times("TimedeltaIndex"),
        f"{indexes}.interval:_new_IntervalIndex": _intervals,
    }
    found = [(path, Known(path.rpartition(":")[2], make=make)) for path, make in makers.items()]
    found += [
        (f"{base}:SingleBlockManager", Known("pandas.Series", new=_single_begun)),
        ("pandas:DataFrame", Known("pandas.DataFrame", pd.DataFrame, new=_frame_begun)),
        ("pandas:Series", Known("pandas.Series", pd.Series, new=_series_begun)),
    ]
    kinds = (*_INDEX, "DatetimeIndex", "TimedeltaIndex", "IntervalIndex")
    found += [(f"pandas:{k}", Known(f"pandas.{k}", getattr(pd, k))) for k in kinds]
    return table([*found, *columns.names(), *moments.names()])


def _is_index(*values: object) -> bool:
    import pandas as pd

    return all(isinstance(value, pd.Index) for value in values)


def _require_name(value: object) -> None:
    import pandas as pd

    scalars = (pd.Timestamp, pd.Timedelta, pd.Period, type(pd.NaT), type(pd.NA))
    kind = type(value)
    if kind is tuple:
        require(len(value) < 64 and are((*_LABEL_PARTS, *scalars), *value))  # type: ignore[arg-type,misc]
        return
    require(kind in (*_NAMES, *scalars) or kind.__module__ == "numpy" or kind in moments.dates())


# -- blocks -------------------------------------------------------------------------------------


def _block(limits: Limits, given: tuple[Any, ...]) -> object:
    """A block whose values fill its places."""
    import importlib

    require(len(given) == 3)
    values, places, n_dimensions = given
    require(n_dimensions == 2 and are(int, n_dimensions))
    n_places = len(_places(limits, places))
    if columns.is_extension(values):
        require(len(values.shape) <= 2)
        flat = values.shape if len(values.shape) == 2 else (1, len(values))
        require(flat[0] == n_places)
    else:
        require(_is_plain_array(values) and values.ndim == 2 and len(values) == n_places)
    unpickle: Any = importlib.import_module("pandas._libs.internals")  # it is not typed
    return unpickle._unpickle_block(values, places, n_dimensions)  # noqa: SLF001  # as pickle does


def _is_plain_array(values: object) -> bool:
    import numpy as np

    if type(values) is not np.ndarray:
        return False
    return values.dtype.kind in _BLOCKS and values.dtype.isnative


def _places(limits: Limits, places: Any) -> list[int]:
    import numpy as np

    if type(places) is slice:
        require(are(int, places.start, places.stop, places.step) and places.step != 0)
        found = range(places.start, places.stop, places.step)
        limits.spend(_PLACE_BYTES * len(found))
        return list(found)
    require(type(places) is np.ndarray and places.ndim == 1 and places.dtype == np.intp)
    limits.spend(_PLACE_BYTES * len(places))
    return [int(n) for n in places]


_PLACE_BYTES = 64


def _manager(limits: Limits, given: tuple[Any, ...]) -> object:
    """The blocks of a frame, whose places are all its columns."""
    from pandas.core.internals import managers
    from pandas.core.internals.blocks import Block

    require(len(given) == 2 and type(given[0]) is tuple and type(given[1]) is list)
    blocks, axes = given
    require(len(axes) == 2 and _is_index(*axes))
    require(all(isinstance(block, Block) for block in blocks))
    taken: list[int] = []
    for block in blocks:
        limits.spend(_PLACE_BYTES * len(block.mgr_locs))
        taken += [int(n) for n in block.mgr_locs.as_array]
        require(block.values.shape[-1] == len(axes[1]))
    require(sorted(taken) == list(range(len(taken))) and len(taken) == len(axes[0]))
    return managers.BlockManager(blocks, axes)


def _single_begun(_: Limits, given: tuple[Any, ...]) -> object:
    require(given == ())
    return Pending(_single_of)


def _single_of(state: Any) -> object:
    """The block of a series, which is all of it."""
    from pandas.core.internals import managers

    require(type(state) is tuple and len(state) == 4 and type(state[3]) is dict)
    about = state[3]["0.14.1"]
    require(set(about) == {"axes", "blocks"} and are(list, about["axes"], about["blocks"]))
    require(len(about["axes"]) == 1 and len(about["blocks"]) == 1)
    (index,), (block,) = about["axes"], about["blocks"]
    require(_is_index(index) and type(block) is dict and set(block) == {"values", "mgr_locs"})
    values, places = block["values"], block["mgr_locs"]
    require(type(places) is slice and places == slice(0, len(index), 1))
    require(len(values) == len(index))
    require(columns.is_extension(values) or _is_plain_array(values))
    require(len(values.shape) == 1)
    made: Any = managers.SingleBlockManager.__new__(managers.SingleBlockManager)
    made.__setstate__(([index], [values], [index], {"0.14.1": about}))
    return made


# -- frames -------------------------------------------------------------------------------------


def _frame_begun(_: Limits, given: tuple[Any, ...]) -> object:
    require(given == ())
    return Pending(_frame_of)


def _series_begun(_: Limits, given: tuple[Any, ...]) -> object:
    require(given == ())
    return Pending(_series_of)


def _frame_of(state: Any) -> object:
    import pandas as pd
    from pandas.core.internals import managers

    _require_members(state, "dataframe", set())
    require(type(state["_mgr"]) is managers.BlockManager)
    return _with_state(pd.DataFrame, state)


def _series_of(state: Any) -> object:
    import pandas as pd
    from pandas.core.internals import managers

    _require_members(state, "series", {"_name"})
    require(type(state["_mgr"]) is managers.SingleBlockManager)
    _require_name(state["_name"])
    return _with_state(pd.Series, state)


def _require_members(state: Any, kind: str, more: set[str]) -> None:
    require(type(state) is dict)
    require(set(state) == {"_mgr", "_typ", "_metadata", "attrs", "_flags", *more})
    require(state["_typ"] == kind and state["_metadata"] == sorted(more))
    require(type(state["attrs"]) is dict and type(state["_flags"]) is dict)
    flags = state["_flags"]
    require(set(flags) == {"allows_duplicate_labels"} and are(bool, *flags.values()))


def _with_state(kind: Any, state: dict[str, Any]) -> object:
    made = kind.__new__(kind)
    made.__setstate__({**state, "_metadata": list(state["_metadata"])})
    return made


# -- indexes ------------------------------------------------------------------------------------


def _index(limits: Limits, given: tuple[Any, ...]) -> object:
    """An index of any kind but those that have a way of their own."""
    import pandas as pd
    from pandas.core.indexes import base

    require(len(given) == 2 and type(given[1]) is dict)
    kind, members = given
    require(any(kind is getattr(pd, name) for name in _INDEX))
    if kind is pd.MultiIndex:
        return _multi_index(limits, members)
    _require_name(members.get("name"))
    if kind is pd.RangeIndex:
        require(set(members) == {"name", "start", "stop", "step"})
        require(are(int, *(members[n] for n in ("start", "stop", "step"))))
    else:
        require(set(members) == {"name", "data"})
        data = members["data"]
        require(columns.is_extension(data) or _is_plain_array(data))
        require(len(data.shape) == 1)
        require((kind is pd.PeriodIndex) == isinstance(data, pd.arrays.PeriodArray))
        require((kind is pd.CategoricalIndex) == isinstance(data, pd.Categorical))
    new: Any = base
    return new._new_Index(kind, dict(members))  # noqa: SLF001  # as pickle does


def _multi_index(limits: Limits, members: dict[str, Any]) -> object:
    import pandas as pd

    require(set(members) == {"levels", "codes", "sortorder", "names"})
    levels, codes, names, order = (members[n] for n in ("levels", "codes", "names", "sortorder"))
    require(are(list, levels, codes) and type(names) in {list, tuple})
    require(_is_index(*levels) and 0 < len(levels) == len(codes) == len(names) < 1 << 10)
    require(all(_is_plain_array(c) and c.dtype.kind == "i" and c.ndim == 1 for c in codes))
    for name in names:
        _require_name(name)
    require(are((int, type(None)), order))
    limits.spend(sum(c.nbytes for c in codes))
    codes = [c.copy() for c in codes]  # they must not change any more
    return pd.MultiIndex(levels, codes, sortorder=order, names=list(names), verify_integrity=True)


def _times(name: str) -> Make:
    def make(_: Limits, given: tuple[Any, ...]) -> object:
        import pandas as pd

        require(len(given) == 2 and given[0] is getattr(pd, name) and type(given[1]) is dict)
        members = given[1]
        require(set(members) == {"data", "name", "freq"})
        data, freq = members["data"], members["freq"]
        array = pd.arrays.DatetimeArray if name == "DatetimeIndex" else pd.arrays.TimedeltaArray
        require(type(data) is array and len(data.shape) == 1)
        require(freq is None or moments.is_offset(freq))
        _require_name(members["name"])
        # The public way looks at whether the values are as far apart as they are said to be.
        return getattr(pd, name)(data, name=members["name"], freq=freq)

    return make


def _intervals(_: Limits, given: tuple[Any, ...]) -> object:
    import pandas as pd

    require(len(given) == 2 and given[0] is pd.IntervalIndex and type(given[1]) is dict)
    members = given[1]
    require(set(members) == {"left", "right", "closed", "name"} and are(str, members["closed"]))
    require(_is_index(members["left"], members["right"]))
    _require_name(members["name"])
    return pd.IntervalIndex.from_arrays(**members)
