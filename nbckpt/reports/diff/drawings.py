"""Matplotlib's figures, axes and what is drawn on them: told by what one sees, not by members.

Their members lead through callbacks and weak references to all that the process draws.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.describe import type_name_of

_OF_FIGURES = ("size_inches", "suptitle", "axes")
_OF_AXES = (
    "title", "xlabel", "ylabel", "xlim", "ylim", "xscale", "yscale",
    "lines", "patches", "collections", "images", "texts",
)  # fmt: skip
_OF_ARTISTS = (
    "label", "text", "xdata", "ydata", "offsets", "array", "bbox", "xy", "color", "facecolor",
    "linestyle", "linewidth", "alpha", "visible",
)  # fmt: skip
_COUNTED = ("axes", "lines", "patches", "collections", "images", "texts")


def is_drawing(value: object) -> bool:
    """True if `value` is an artist of matplotlib's."""
    return isinstance(value, _class("matplotlib.artist", "Artist"))


def facts_of(drawing: Any) -> dict[str, Any]:
    """Visible facts of a drawing: titles, labels, limits, data, other drawings that it holds."""
    if isinstance(drawing, _class("matplotlib.figure", "FigureBase")):
        names: tuple[str, ...] = _OF_FIGURES
    elif isinstance(drawing, _class("matplotlib.axes", "Axes")):
        names = _OF_AXES
    else:
        names = _OF_ARTISTS
    facts = {}
    for name in names:
        try:
            facts[name] = _asked(drawing, name)
        except user_code_errors():  # an artist that has it not, or not yet
            continue
    if "xdata" in facts:
        facts.pop("bbox", None)  # its data say it already
    return facts


def told_drawing(drawing: Any) -> str:
    """Title and how much is on it."""
    facts = facts_of(drawing)
    title = facts.get("title") or facts.get("suptitle") or facts.get("text")
    shown = [repr(title)] if title else []
    counts = {name: len(facts[name]) for name in _COUNTED if name in facts}
    shown += [f"{n:,} {name}" for name, n in counts.items() if n]
    if "size_inches" in facts:
        shown.append("{:g} x {:g} inches".format(*facts["size_inches"]))
    if "xdata" in facts:
        shown.append(f"{len(facts['xdata']):,} points")
    name = type_name_of(drawing)
    return f"{name}: {', '.join(shown)}" if shown else name


def _asked(drawing: Any, name: str) -> Any:
    if name in _COUNTED:
        return list(getattr(drawing, name))
    ask: Callable[[], Any] = getattr(drawing, f"get_{name}")
    found = ask()
    if name == "bbox":
        return tuple(map(float, found.bounds))
    if name in ("xlim", "ylim", "size_inches"):
        return tuple(map(float, found))
    return found


def _class(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, ())
