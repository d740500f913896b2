"""numba: typed lists and dicts."""

from __future__ import annotations

import importlib
from typing import Any

from nbckpt.types.adapter import TypeAdapter


def _reduce_typed_list(values: Any) -> Any:
    return make_typed_list, (values._list_type.item_type, list(values))  # noqa: SLF001


def make_typed_list(kind: Any, items: list[object]) -> Any:
    """A list of numba."""
    made = importlib.import_module("numba.typed").List.empty_list(kind)
    made.extend(items)
    return made


def _reduce_typed_dict(values: Any) -> Any:
    kind = values._dict_type  # noqa: SLF001
    return make_typed_dict, (kind.key_type, kind.value_type, dict(values.items()))


def make_typed_dict(key: Any, value: Any, items: dict[object, object]) -> Any:
    """A dict of numba."""
    made = importlib.import_module("numba.typed").Dict.empty(key, value)
    for one, other in items.items():
        made[one] = other
    return made


ADAPTERS = (
    TypeAdapter(("numba.typed.typedlist:List",), reduce=_reduce_typed_list),
    TypeAdapter(("numba.typed.typeddict:Dict",), reduce=_reduce_typed_dict),
)
