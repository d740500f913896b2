"""The entries of a namespace that are no atoms, after any change of it."""

from __future__ import annotations

import gc
import random
import weakref
from collections import OrderedDict

from nbckpt.fingerprint.values.plain import ATOMS, without_atoms


class Held:
    """Can be referred to weakly."""


def plainly(namespace: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in namespace.items() if type(value) not in ATOMS}


def test_after_each_change_it_is_what_a_walk_finds() -> None:
    chance = random.Random(7)
    spaces: list[dict[str, object]] = [{}, {}, OrderedDict()]
    for _ in range(3000):
        space, name = chance.choice(spaces), f"n{chance.randrange(40)}"
        match chance.randrange(4):
            case 0:
                space.pop(name, None)
            case 1:
                space[name] = "an atom"
            case 2:
                space[name] = chance.choice([[], {}, Held(), Held, len])
        found = without_atoms(space)
        assert found == plainly(space)
        assert list(found) == list(plainly(space))
        assert all(found[n] is space[n] for n in found)


def test_it_holds_no_value() -> None:
    space: dict[str, object] = {"held": Held(), "n": 1}
    held = weakref.ref(space["held"])
    without_atoms(space)

    del space["held"]
    gc.collect()

    assert held() is None
