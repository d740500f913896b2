"""Widgets of ipywidgets: by what they show, under the id by which a page knows them.

What calls functions of the notebook is refused: its cell runs again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.alive import RefusedError
from nbckpt.values import widgets

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """How widgets are written; None for anything else."""
    return _reduce_widget if widgets.is_widget(kind) else None


def _reduce_widget(_: object, widget: Any) -> Any:
    if widgets.callbacks_of(widget):
        message = "it calls functions when it is changed"
        raise RefusedError(message)
    model_id = None if widget.comm is None else widget.model_id
    made = type(widget), model_id, widgets.state_of(widget)
    attributes = widgets.attributes_of(widget)
    return (make_widget, made, attributes, None, None, set_attributes) if attributes else (
        make_widget, made
    )  # fmt: skip


def set_attributes(widget: Any, attributes: dict[str, object]) -> None:
    """Give a widget what was set on it beside its members."""
    vars(widget).update(attributes)


def make_widget(kind: Any, model_id: str | None, state: dict[str, object]) -> object:
    """A widget that shows what another did; with its id, unless that one is still there.

    Without an id it is one that was closed.
    """
    if model_id is None:
        closed = kind(**state)
        closed.close()
        return closed
    module: Any = sys.modules["ipywidgets.widgets.widget"]
    if model_id not in getattr(module, "_instances", ()):
        return kind(**state, model_id=model_id)
    return kind(**state)
