"""Facts about generators of random numbers: their state, or that one is the hidden one.

The state of the generators behind the functions of a package is not part of the values that use
them: keys look at it on its own, where somebody has seeded it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

_HIDDEN = (
    ("random", "_inst"),
    ("numpy.random.mtrand", "_rand"),
    ("torch.random", "default_generator"),
)


def teller_of(kind: type) -> Callable[[Any], list[object]] | None:
    """Function that tells of generators of a type; None for anything else."""
    mtrand, torch = sys.modules.get("numpy.random.mtrand"), sys.modules.get("torch")
    if kind is random.Random:
        return lambda generator: _told(generator, generator.getstate)
    if mtrand is not None and kind is getattr(mtrand, "RandomState", None):
        return lambda generator: _told(generator, lambda: generator.get_state(legacy=False))
    if torch is not None and kind is getattr(torch, "Generator", None):
        return lambda generator: [
            str(generator.device),
            *_told(generator, generator.get_state),
        ]
    return None


def _told(generator: object, state: Callable[[], object]) -> list[object]:
    for module, name in _HIDDEN:
        if generator is getattr(sys.modules.get(module), name, None):
            return ["hidden", module]
    return [state()]
