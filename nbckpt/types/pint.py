"""Pint: quantities and units, each of its registry."""

from __future__ import annotations

from typing import Any

from nbckpt.types.adapter import TypeAdapter


def _reduce_quantity(quantity: Any) -> Any:
    return make_quantity, (quantity._REGISTRY, quantity._magnitude, quantity._units)  # noqa: SLF001


def make_quantity(registry: Any, magnitude: Any, units: Any) -> Any:
    """A quantity of that registry."""
    return registry.Quantity(magnitude, units)


def _reduce_unit(unit: Any) -> Any:
    return make_unit, (unit._REGISTRY, unit._units)  # noqa: SLF001


def make_unit(registry: Any, units: Any) -> Any:
    """A unit of that registry."""
    return registry.Unit(units)


ADAPTERS = (
    TypeAdapter(("pint.registry:Quantity",), reduce=_reduce_quantity),
    TypeAdapter(("pint.registry:Unit",), reduce=_reduce_unit),
)
