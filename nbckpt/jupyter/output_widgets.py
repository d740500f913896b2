"""Output widgets: what is shown while one of them captures belongs to it, and not to the cell."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def capturing() -> str:
    """The model id of the widget that takes what is shown now; empty if there is none."""
    for widget in reversed(_output_widgets()):
        if widget.msg_id:
            return str(widget.model_id)
    return ""


def holds(model_id: str) -> object:
    """Outputs in a widget that the page last reported, a new object each time; None without it."""
    found = _output_widget(model_id)
    return None if found is None else found.outputs


@contextmanager
def showing_in(model_id: str) -> Iterator[bool]:
    """Have a widget take what is shown; False if it is not there."""
    found = _output_widget(model_id)
    if found is None:
        yield False
        return
    found.__enter__()
    try:
        yield True
    finally:
        found.__exit__(None, None, None)


def _output_widget(model_id: str) -> Any:
    return next((w for w in _output_widgets() if w.model_id == model_id), None)


_known: tuple[str, dict[str, weakref.ref[Any]]] = ("", {})
"""The newest widget's id, and the output widgets among all: each print asks for them."""


def _output_widgets() -> list[Any]:
    global _known  # noqa: PLW0603  # replaced as a whole
    module: Any = sys.modules.get("ipywidgets.widgets.widget_output")
    instances = getattr(sys.modules.get("ipywidgets.widgets.widget"), "_instances", {})
    if module is None or not instances:
        return []
    newest, found = next(reversed(instances)), {}
    # A restored widget takes over the id of the one that was there.
    if _known[0] == newest:
        found = {model_id: reference() for model_id, reference in _known[1].items()}
    if _known[0] != newest or any(w is None or instances.get(i) is not w for i, w in found.items()):
        found = {i: w for i, w in list(instances.items()) if isinstance(w, module.Output)}
        _known = newest, {model_id: weakref.ref(widget) for model_id, widget in found.items()}
    return list(found.values())
