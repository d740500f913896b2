"""The values that cells made again: which of them are taken, and what keeps its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from nbckpt.fingerprint import random_generators
from nbckpt.fingerprint.keys import gradients
from nbckpt.fingerprint.referents import held_by, names_reached
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values import ValueDigester
from nbckpt.runtime.interrupts import allowed
from nbckpt.session.workspace.unkept import Maker
from nbckpt.steps.remake.maker_runs import LentValues, NamespaceBefore

if TYPE_CHECKING:
    from nbckpt.session.session import Session


def astray_results(
    made: set[str], companions: set[str], before: NamespaceBefore, after: Mapping[str, object]
) -> set[str]:
    """Those of some results that were computed from what a cell made and that is not taken.

    Gradients would get to tensors that nobody has.
    """
    if not made:
        return set()
    fitting = fitting_values(companions, before, after, made)
    left = put_aside(fitting | made, before, after)
    found = set()
    for name in made:
        leaves = gradients.leaves_of([name], after, gradients.ALL)
        if leaves is None or names_reached(leaves, filter(is_user_name, left), after):
            found.add(name)
    return found


def holding_copies(
    made: set[str], taken: set[str], before: NamespaceBefore, after: Mapping[str, object]
) -> dict[str, str]:
    """Results that hold something which their cells made for a variable that keeps its own.

    Each with that variable, which shared it when the cells ran.
    """
    left = filter(is_user_name, put_aside(taken, before, after) & before.bindings.keys())
    found: dict[str, str] = {}
    for other in sorted(left) if made else ():
        lost = held_by([after[other]], after)
        kept = held_by([before.bindings[other]], after)
        for name in made - found.keys():
            own = held_by([after[name]], after)
            is_too_much = lost is None or kept is None or own is None
            if is_too_much or own.keys() & lost.keys() - kept.keys():  # type: ignore[union-attr]
                found[name] = other
    return found


def of_other_classes(
    made: set[str], taken: set[str], before: NamespaceBefore, after: Mapping[str, object]
) -> dict[str, str]:
    """Results of a class that their cells made anew, and whose name keeps the class that it had."""
    left = put_aside(taken, before, after) & before.bindings.keys()
    classes = {c: n for n in left if isinstance(c := after[n], type)}
    found: dict[str, str] = {}
    for name in made if classes else ():
        inside = [after[name], *(held_by([after[name]], after) or {}).values()]
        kinds = (kind for value in inside for kind in type(value).__mro__)
        if other := next((classes[kind] for kind in kinds if kind in classes), None):
            found[name] = other
    return found


def put_aside(taken: set[str], before: NamespaceBefore, after: Mapping[str, object]) -> set[str]:
    """The names that cells bound, or were lent, and that get back what they held before."""
    return {n for n, value in after.items() if before.bindings.get(n) is not value} - taken


def companions_of(session: Session, before: NamespaceBefore, ran: Iterable[Maker]) -> set[str]:
    """Other variables that the cells bound, that are as they left them, and nothing else holds."""
    is_as_left: dict[str, bool] = {}  # by the last of them that bound or changed it
    live = before.manifest
    for maker in ran:
        if maker.is_joined:
            continue
        then = session.timeline.manifest(maker.checkpoint.id)
        own = set(maker.checkpoint.bound)
        for name in own & then.keys() & live.keys() - random_generators.NAMES:
            is_as_left[name] = live[name].value == then[name].value and own.issuperset(
                live[name].group
            )
    return {name for name, is_left in is_as_left.items() if is_left}


def come_out_alike(
    session: Session, names: Iterable[str], before: NamespaceBefore, after: Mapping[str, object]
) -> set[str]:
    """Those of some variables that cells made as they are: a cell may make another each time."""
    namespace, bindings = session.namespace, before.bindings

    def is_alike(name: str) -> bool:
        one, other = after[name], bindings[name]
        if one is other:
            return True
        return ValueDigester(namespace).digest(one) == ValueDigester(namespace).digest(other)

    with allowed():
        return {name for name in names if name in after and name in bindings and is_alike(name)}


def equal_copies(
    session: Session, before: NamespaceBefore, after: Mapping[str, object], lent: LentValues
) -> set[str]:
    """Names of values lent to the cells, equal to the live ones, which none but variables know.

    A value that was made may hold one, as a trainer holds its model.
    """
    live, bindings = before.manifest, before.bindings
    found = {
        name
        for name, digest in lent.digests.items()
        if name in live.keys() & after.keys() - random_generators.NAMES
        and live[name].value == digest
        and after[name] is not bindings[name]
        and lent.digests.keys() >= {*live[name].group}
    }
    if not found:
        return found
    objects = [bindings[name] for name in found]
    unkept = {n for n in filter(is_user_name, bindings) if n not in live}
    if names_reached(objects, unkept, bindings) or session.workspace.observer.why_not_replaced(
        [(bindings[name], after[name]) for name in sorted(found)]
    ):
        return set()
    return found


def fitting_values(
    companions: set[str], before: NamespaceBefore, after: Mapping[str, object], made: set[str]
) -> set[str]:
    """Of `companions`, those that fit together with the namespace as it was and with `made`.

    One that shares objects with, or is of a class of, what another cell made stays as it was; so
    does a class of which something stays.
    """
    live, bindings = before.manifest, before.bindings
    found = set(companions)
    while True:
        taken = found | made
        still = {m for n, v in live.items() if n not in taken for m in v.needs}
        misfits = {
            name
            for name in found
            if name in still
            or not taken.issuperset(live[name].group)
            or any(m not in taken and after.get(m) is not bindings.get(m) for m in live[name].needs)
        }
        if not misfits:
            return found
        found -= misfits
