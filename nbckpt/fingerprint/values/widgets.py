"""Widgets: what they hold, and the callbacks that code has given them.

A widget is a `HasTraits` with a connection to a page. It is told and kept by its members as
traitlets pickles them, not by what its ``__init__`` takes: so those of any package, and of the
notebook, are. The connection, and what is there only while a message is handled, is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MethodType
from typing import Any, NamedTuple

from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.fingerprint.values.plain import ATOMS

OF_THE_CONNECTION = frozenset(
    {"_holding_sync", "_model_id", "_property_lock", "_states_to_send", "comm", "keys", "log"}
)
"""Members and attributes that are made anew with the connection to the page."""

_OF_TRAITLETS = frozenset(
    {
        "_cross_validation_lock", "_initializing_traits_", "_trait_notifiers",
        "_trait_validators", "_trait_values",
    }
)  # fmt: skip
"""Attributes in which traitlets keeps members and callbacks."""

_OF_THE_PAGE = frozenset(
    {
        "_model_module", "_model_module_version", "_model_name",
        "_view_count", "_view_module", "_view_module_version", "_view_name",
    }
)  # fmt: skip
"""Members that name what a page draws, of the class as a rule, and how often it does."""


_WITHOUT_WIDGETS = frozenset({"numpy", "pandas", "polars", "pyarrow", "scipy", "sklearn", "torch"})
"""Packages whose objects are data, and large."""


class Observer(NamedTuple):
    """A callback for changes of a member.

    Attributes
    ----------
    member, kind
        Of which member, and of what that happens to it; None for all.
    handler
        The callback; an attribute of the widget's class, if it is that.
    """

    member: str | None
    kind: str | None
    handler: object


def is_widget(kind: type) -> bool:
    """True if a class is a widget's, and pickle is not told otherwise by it."""
    module = sys.modules.get("ipywidgets")
    base = getattr(module, "Widget", None)
    if base is None or not issubclass(kind, base):
        return False
    said = (
        getattr(kind, name) is getattr(object, name) for name in ("__reduce__", "__reduce_ex__")
    )
    return all(said)


def shown_widgets() -> tuple[Any, ...]:
    """The widgets with a connection to a page."""
    module = sys.modules.get("ipywidgets.widgets.widget")
    return tuple(getattr(module, "_instances", {}).values())


def shown_ids() -> frozenset[str]:
    """The ids of the widgets with a connection to a page."""
    module = sys.modules.get("ipywidgets.widgets.widget")
    return frozenset(getattr(module, "_instances", ()))


def model_id_of(value: Any) -> str:
    """The id by which a page knows a widget; empty for what a page does not know."""
    return str(value.model_id) if is_widget(type(value)) and value.comm is not None else ""


def may_hold_widgets(namespace: Mapping[str, object]) -> frozenset[str]:
    """The names of the variables in which a widget may be."""
    return frozenset(n for n, v in namespace.items() if _may_be_in(type(v)))


def _may_be_in(kind: type) -> bool:
    return kind not in ATOMS and module_of_class(kind).partition(".")[0] not in _WITHOUT_WIDGETS


def class_of(widget: Any) -> tuple[type, dict[str, Any]]:
    """The class that a widget's text names, and the members it was given as an instance.

    `HasTraits.add_traits` makes a class of its own for these.
    """
    kind: type = type(widget)
    added: dict[str, Any] = {}
    while module_of_class(kind) == "traitlets.traitlets" and kind.__base__ is not None:
        traits = sys.modules["traitlets"].TraitType
        added = {n: t for n, t in vars(kind).items() if isinstance(t, traits)} | added
        kind = kind.__base__
    return kind, added


def members_of(widget: Any) -> dict[str, object]:
    """All that a widget holds as members, by name, but for its connection."""
    values: Mapping[str, object] = widget._trait_values  # noqa: SLF001
    return {n: v for n, v in values.items() if n not in OF_THE_CONNECTION}


def attributes_of(widget: Any) -> dict[str, object]:
    """Attributes of a widget beside its members: the places in a grid, say."""
    left_out = _OF_TRAITLETS | OF_THE_CONNECTION
    return {name: value for name, value in vars(widget).items() if name not in left_out}


def observers_of(widget: Any) -> list[Observer]:
    """The callbacks that ``__init__`` and `observe` registered, in the order of their calls."""
    return [
        Observer(
            member, kind, _attribute_of(handler) if _is_method_of(widget, handler) else handler
        )
        for member, kind, handler in _handlers(widget)
    ]


def callbacks_of(widget: Any) -> list[object]:
    """The functions that are called when something happens to a widget, and are not its own."""
    noticing = [h for _, _, h in _handlers(widget) if not _is_method_of(widget, h)]
    return [*noticing, *_listeners_of(widget)]


def _listeners_of(widget: Any) -> list[object]:
    """The callbacks for messages from the page, clicks above all."""
    held = [*members_of(widget).values(), *attributes_of(widget).values()]
    called = [c for d in held if _is_dispatcher(d) for c in d.callbacks]  # type: ignore[attr-defined]
    return [c for c in called if not _is_method_of(widget, c)]


def _is_method_of(widget: Any, handler: Any) -> bool:
    return type(handler) is MethodType and handler.__self__ is widget


def _attribute_of(method: MethodType) -> object:
    """The attribute of its class that a method is; the method, if it is none or hidden by another.

    Its own name may be another: of a decorator's wrapper, or with two underscores in front.
    """
    kind, function = type(method.__self__), method.__func__
    members = (item for base in kind.__mro__ for item in vars(base).items())
    names = (name for name, member in members if member is function)
    return next((name for name in names if getattr(kind, name) is function), method)


def _handlers(widget: Any) -> Iterator[tuple[str | None, str | None, Any]]:
    every = sys.modules["traitlets"].All  # one object, told by its identity
    for member, by_kind in widget._trait_notifiers.items():  # noqa: SLF001
        for kind, handlers in by_kind.items():
            for handler in handlers:
                if type(handler).__module__ != "traitlets.traitlets":  # those of its class
                    yield (
                        None if member is every else member,
                        None if kind is every else kind,
                        handler,
                    )


def _is_dispatcher(value: object) -> bool:
    return type(value).__name__ == "CallbackDispatcher"


def told(widget: Any) -> list[object]:
    """Parts that decide the look and the behaviour of a widget."""
    members = {
        name: value
        for name, value in members_of(widget).items()
        if name not in _OF_THE_PAGE and not _is_dispatcher(value)
    }
    attributes = {n: v for n, v in attributes_of(widget).items() if not _is_dispatcher(v)}
    observers = [tuple(observer) for observer in observers_of(widget)]
    return [class_of(widget)[0], members, observers, _listeners_of(widget), attributes]
