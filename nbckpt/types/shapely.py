"""Shapely: prepared geometries."""

from __future__ import annotations

import importlib
from typing import Any

from nbckpt.types.adapter import TypeAdapter


def _reduce_prepared(prepared: Any) -> Any:
    return make_prepared, (prepared.context,)


def make_prepared(geometry: Any) -> Any:
    """A geometry that answers fast."""
    return importlib.import_module("shapely.prepared").prep(geometry)


ADAPTERS = (TypeAdapter(("shapely.prepared:PreparedGeometry",), reduce=_reduce_prepared),)
