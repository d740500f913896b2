"""SQLAlchemy: engines without the statements that they compiled."""

from __future__ import annotations

from typing import Any

from nbckpt.types.adapter import TypeAdapter


def _reduce_engine(engine: Any) -> Any:
    """An engine of SQLAlchemy without the statements that it has compiled.

    Their symbols are numbers of one process.
    """
    make, arguments, state, *rest = engine.__reduce_ex__(5)
    cache: Any = state.get("_compiled_cache") if type(state) is dict else None
    if type(cache).__name__ == "LRUCache":
        empty = type(cache)(cache.capacity, cache.threshold, cache.size_alert)
        state = {**state, "_compiled_cache": empty}
    return make, arguments, state, *rest


ADAPTERS = (TypeAdapter(("sqlalchemy.engine.base:Engine",), exact=True, reduce=_reduce_engine),)
