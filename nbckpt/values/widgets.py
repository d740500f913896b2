"""Widgets of ipywidgets: what they hold, and the callbacks that code has given them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

_OWN = frozenset({"comm", "keys", "log"})
"""Members that are the connection's to the page."""

_DERIVED = {"index": ("label", "value")}
"""Of a selection, what follows from which of its options is chosen."""


_OF_EVERY_WIDGET = frozenset(
    {
        "_cross_validation_lock", "_initializing_traits_", "_model_id", "_options_full",
        "_options_values", "_property_rewrite", "_step_metadata", "_trait_notifiers",
        "_trait_validators", "_trait_values", "equals",
    }
)  # fmt: skip
"""Attributes that are no members, and that a widget sets itself of what it is given."""


def is_widget(kind: type) -> bool:
    """Whether a class is one of ipywidgets' own widgets."""
    module = sys.modules.get("ipywidgets")
    base = getattr(module, "Widget", None)
    is_own = str(kind.__module__).partition(".")[0] == "ipywidgets"
    return base is not None and is_own and issubclass(kind, base)


def state_of(widget: Any) -> dict[str, object]:
    """The members of a widget that say what it shows, by name."""
    traits = widget.traits()
    known = {n for n in widget._trait_values if n in traits and not n.startswith("_")}  # noqa: SLF001
    names = sorted(n for n in known - _OWN if not traits[n].read_only)
    for chosen, derived in _DERIVED.items():
        if chosen in names:
            names = [n for n in names if n not in derived]
    return {name: getattr(widget, name) for name in names}


def attributes_of(widget: Any) -> dict[str, object]:
    """What a widget or a user has set on it beside its members: the places in a grid, say."""
    return {
        name: value
        for name, value in vars(widget).items()
        if name not in _OF_EVERY_WIDGET and type(value).__name__ != "CallbackDispatcher"
    }


def callbacks_of(widget: Any) -> list[object]:
    """The functions that are called when something happens to a widget, and are not its own."""
    return [c for c in _callbacks(widget) if getattr(c, "__self__", None) is not widget]


def _callbacks(widget: Any) -> Iterator[object]:
    for by_type in widget._trait_notifiers.values():  # noqa: SLF001
        for handlers in by_type.values():
            # Those of its class are wrapped.
            yield from (h for h in handlers if type(h).__module__ != "traitlets.traitlets")
    for member in vars(widget).values():
        if type(member).__name__ == "CallbackDispatcher":
            yield from member.callbacks


def told(widget: Any) -> list[object]:
    """What decides how a widget looks and what it does."""
    is_closed = widget.comm is None
    shown = [type(widget).__qualname__, is_closed, state_of(widget), callbacks_of(widget)]
    return [*shown, attributes_of(widget)]
