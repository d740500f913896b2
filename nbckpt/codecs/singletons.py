"""What exists once in a process: the hidden random generators, and matplotlib's constants.

A value that uses the generator of `numpy.random` itself uses it after a restore as well, and what
all drawings refer to does not make one value of them.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler

_GENERATORS = {
    "random": ("random", "_inst"),
    "numpy": ("numpy.random.mtrand", "_rand"),
    "torch": ("torch.random", "default_generator"),
}
"""Package → the module that has its hidden generator, and the name there."""


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """How generators and parts of drawings are written; None for anything else."""
    if kind is random.Random or any(kind is type(hidden_generator(p)) for p in _GENERATORS):
        return _reduce_generator
    paths = sys.modules.get("matplotlib.path")
    if paths is not None and kind is getattr(paths, "Path", None):
        return _reduce_path
    figures = sys.modules.get("matplotlib.figure")
    if figures is not None and issubclass(kind, getattr(figures, "FigureBase", ())):
        return _reduce_figure
    return None


def hidden_generator(package: str) -> Any:
    """The generator behind the functions of a package; None if nobody has imported it."""
    module, name = _GENERATORS[package]
    return getattr(sys.modules.get(module), name, None)


def _reduce_generator(pickler: NamespacePickler, generator: Any) -> Any:
    for package in _GENERATORS:
        if generator is hidden_generator(package):
            pickler.private.add(id(generator))
            return hidden_generator, (package,)
    return NotImplemented


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
