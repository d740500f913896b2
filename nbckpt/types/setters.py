"""Setters of an object's state, which reductions name."""

from __future__ import annotations

from typing import Any


def set_state(value: Any, state: Any) -> None:
    """Give an object what `object.__getstate__` told: its members, or these and its slots."""
    members, slots = state if isinstance(state, tuple) else (state, None)
    if members:
        object.__getattribute__(value, "__dict__").update(members)
    for name, member in (slots or {}).items():
        object.__setattr__(value, name, member)


def set_attributes(value: Any, attributes: dict[str, object]) -> None:
    """Set what the call that made `value` does not take."""
    for name, attribute in attributes.items():
        setattr(value, name, attribute)


def set_members(value: Any, members: dict[str, Any]) -> None:
    """Give an object its members, past a `__setstate__` of its class."""
    object.__getattribute__(value, "__dict__").update(members)
