"""The state of random generators that belong to no variable: `random`, NumPy's legacy one, torch.

They are part of the namespace under names that no variable can have, so that a rerun from a
checkpoint draws the same numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class _Generator(NamedTuple):
    name: str
    module: str
    get: Callable[[Any], object]
    put: Callable[[Any, Any], object]


_GENERATORS = (
    _Generator("random.state", "random", lambda m: m.getstate(), lambda m, s: m.setstate(s)),
    _Generator(
        "numpy.random.state",
        "numpy.random",
        lambda m: m.get_state(legacy=False),
        lambda m, s: m.set_state(s),
    ),
    _Generator(
        "torch.random.state",
        "torch",
        lambda m: m.get_rng_state().numpy().tobytes(),
        lambda m, s: m.set_rng_state(m.frombuffer(bytearray(s), dtype=m.uint8)),
    ),
)

NAMES = frozenset(g.name for g in _GENERATORS)
"""The names under which manifests hold the states; a dot keeps them apart from variables."""

SEEDING = frozenset({"seed", "manual_seed", "set_state", "setstate", "set_rng_state", "seed_all"})
"""Names of functions after which a generator's numbers are the user's choice, not chance."""


def states() -> dict[str, object]:
    """The state of each generator whose module has been imported."""
    return {g.name: g.get(module) for g in _GENERATORS if (module := _loaded(g.module))}


def put_states(states: Mapping[str, object]) -> None:
    """Set the generators of `states`; their modules are imported where they are not yet."""
    for generator in _GENERATORS:
        if generator.name in states:
            __import__(generator.module)
            generator.put(sys.modules[generator.module], states[generator.name])


def _loaded(name: str) -> Any:
    # torch is in sys.modules some time before its functions are.
    module = sys.modules.get(name)
    return (
        module
        if module is not None and (name != "torch" or hasattr(module, "get_rng_state"))
        else None
    )
