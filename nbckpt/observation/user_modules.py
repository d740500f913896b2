"""State in modules beside the notebook: what a step changed there, and how that is repeated."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import cast

from nbckpt.digests import Json
from nbckpt.keys.inputs import MODULE
from nbckpt.observation.attached import is_plain
from nbckpt.observation.changes import ABSENT
from nbckpt.observation.observer import Ran
from nbckpt.values.modules import loaded


def changes_in_modules(known: frozenset[str], ran: Ran) -> dict[str, Json]:
    """What a step changed in modules beside the notebook: the new values, if JSON has them."""
    found: dict[str, Json] = {}
    for member, code in ran.key.functions.items():
        name = member.removeprefix(MODULE)
        if not member.startswith(MODULE) or name not in known:
            continue
        now = loaded(name)
        if now.code != code:
            found[name] = None
        for place in sorted({*now.values, *_places_in(name, ran)}):
            if now.values.get(place) != ran.key.inputs.get(place):
                value = getattr(sys.modules.get(name), place.rpartition(".")[2], ABSENT)
                found[place] = [cast("Json", value)] if is_plain(value) else None
    return found


def _places_in(name: str, ran: Ran) -> Iterator[str]:
    return (p for p in ran.key.inputs if p.rpartition(".")[0] == name)


def set_in_module(place: str, value: object) -> bool:
    """Set a value in a module; a list or dict keeps its identity."""
    name, _, member = place.rpartition(".")
    module = sys.modules.get(name)
    if module is None:
        return False
    held = getattr(module, member, None)
    if type(held) is dict and type(value) is dict:
        held.clear()
        held.update(value)
    elif type(held) is list and type(value) is list:
        held[:] = value
    else:
        setattr(module, member, value)
    return True
