"""Figures of matplotlib, which pickles them itself: what all of them refer to is a part of none.

Settings, markers and ticks are shared by all drawings, and do not make one value of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.singletons import named_in

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """The reducer for figures, paths and settings of type `kind`; None for anything else."""
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is not None and kind is type(getattr(matplotlib, "rcParams", None)):
        return _reduce_settings
    paths = sys.modules.get("matplotlib.path")
    if paths is not None and kind is getattr(paths, "Path", None):
        return _reduce_path
    figures = sys.modules.get("matplotlib.figure")
    if figures is not None and issubclass(kind, getattr(figures, "FigureBase", ())):
        return _reduce_figure
    return None


def _reduce_settings(pickler: NamespacePickler, settings: Any) -> Any:
    """The settings that all drawings follow: what they are is state of the process."""
    if settings is not sys.modules["matplotlib"].rcParams:
        return NotImplemented
    pickler.private.add(id(settings))
    return named_in, ("matplotlib", "rcParams")


def _reduce_path(pickler: NamespacePickler, path: Any) -> Any:
    """A path is a value: markers and ticks of all figures refer to the same few."""
    members = vars(path)
    pickler.private.update(map(id, (path, members, *members.values())))
    return NotImplemented


def _reduce_figure(pickler: NamespacePickler, _: object) -> Any:
    """Lists of the settings are referred to by what is drawn with them."""
    settings: dict[str, object] = sys.modules["matplotlib"].rcParams
    pickler.private.update(id(v) for v in dict.values(settings) if isinstance(v, list))
    return NotImplemented
