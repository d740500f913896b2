"""Other holders of the objects that a step would replace: reasons not to restore it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, islice
from types import FunctionType
from typing import TYPE_CHECKING

from nbckpt.capture import restore
from nbckpt.capture.change_tracking.identity import is_fixed
from nbckpt.capture.observation.finalizers import called_at_end
from nbckpt.codecs.references import is_by_reference
from nbckpt.fingerprint.keys import also_on
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.model import Checkpoint, Manifest
from nbckpt.steps.restore.changed_definitions import needed_by
from nbckpt.steps.restore.changed_sharing import is_as_then

if TYPE_CHECKING:
    from nbckpt.session.session import Session


_CONTAINERS = frozenset({list, tuple, dict})


_MANY = 1_000


def shown_before(session: Session, manifest: Manifest, bound: set[str]) -> set[str]:
    """Names that the step binds to other objects than those that IPython has as results.

    Not those that are a part of what stays, or share with it: a run would find the same object.
    """
    namespace = session.namespace
    history = namespace.get("_oh")
    results = tuple(history.values()) if isinstance(history, dict) else ()
    # A glance into them: to walk through all of a large result would take long. At once, each:
    # a thread may be changing it.
    inside = (r.values() if type(r) is dict else r for r in results if type(r) in _CONTAINERS)
    parts = chain.from_iterable(tuple(islice(items, _MANY)) for items in inside)
    ids = {id(v) for v in chain(results, parts) if type(v) not in ATOMS}
    stay = namespace.keys() - bound
    return {
        n
        for n in bound & namespace.keys()
        if id(namespace[n]) in ids
        and not is_by_reference(namespace[n])
        and stay.isdisjoint(manifest[n].group)
    }


def held_unkept(session: Session, loaded: restore.Loaded, bound: set[str]) -> list[str]:
    """Reasons: variables with the same value already, whose objects hold what cannot be kept.

    The step may bind another object to them, or may not.
    """
    namespace = session.namespace
    held = {
        n: holders
        for n in sorted(bound & loaded.unchanged & namespace.keys())
        if not isinstance(namespace[n], FunctionType | type)
        and (holders := session.workspace.live_objects.holders_of(namespace[n]))
    }
    return [f"it binds {n!r}, and {m[0]!r} holds what that is now" for n, m in held.items()]


def held_since(
    session: Session, checkpoint: Checkpoint, loaded: restore.Loaded, bound: set[str]
) -> list[str]:
    """Reasons: variables that the step reads and then binds, and whose objects others hold by now.

    Before it binds them it may change what they held, of which nobody was a witness then.
    """
    inputs: set[str] = set()
    if checkpoint.key is not None:
        inputs.update(checkpoint.key.inputs, checkpoint.key.functions)
    namespace, live = session.namespace, session.workspace.tracker.settled()
    reasons = []
    for name in sorted(bound & inputs & namespace.keys()):
        known = {name, *bound, *inputs, *checkpoint.passive}  # those that held it then, too
        if issubclass(type(namespace[name]), FunctionType | type):
            if name in loaded.values and (
                holders := [m for m in live if m not in known and name in needed_by(live, m)]
            ):  # ``f = f`` makes no other
                reasons.append(
                    f"it reads and binds {name!r}, and {holders[0]!r} holds that too now"
                )
            continue
        if is_fixed(namespace[name]):
            continue
        if isinstance(namespace[name], bytearray) and name in live:
            known -= bound  # what is seen through another variable cannot grow
        holders = [m for m in live[name].group if m not in known] if name in live else []
        holders += session.workspace.live_objects.holders_of(namespace[name])
        if holders:
            reasons.append(f"it reads and binds {name!r}, and {holders[0]!r} holds that too now")
    return reasons


def finalized(session: Session, going: set[str]) -> list[str]:
    """Reasons: objects that go when the values are bound, and that do something at their end.

    What that prints or changes is in what was kept of the step already.
    """
    return [
        f"it may drop what {name!r} holds, which does something when it is finalized"
        for name in sorted(called_at_end(going, session.namespace))
    ]


def held_by_libraries(
    session: Session, checkpoint: Checkpoint, loaded: restore.Loaded, names: set[str]
) -> list[str]:
    """Reasons: objects that a logger holds, say, and that would be another's from now on.

    What a name that the step reads and binds anew held may have another name after it.
    """
    pairs = replaced_in_place(session, checkpoint, loaded.values, names)
    anew = set(checkpoint.bound) - set(checkpoint.in_place)
    inputs = checkpoint.key.inputs.keys() if checkpoint.key else set()
    moved = anew & names & loaded.values.keys() & inputs
    pairs += [(session.namespace[n], None) for n in sorted(moved) if n in session.namespace]
    return session.workspace.observer.why_not_replaced(pairs)


def replaced_in_place(
    session: Session, checkpoint: Checkpoint, values: Mapping[str, object], names: Iterable[str]
) -> list[tuple[object, object]]:
    """Objects that a step has changed and not bound anew, each with what takes its place."""
    anew = set(checkpoint.bound) - set(checkpoint.in_place)
    there = sorted((set(names) & values.keys() & session.namespace.keys()) - anew)
    pairs = [(session.namespace[n], values[n]) for n in there]
    return [(old, new) for old, new in pairs if old is not new]


def other_holders(
    session: Session,
    checkpoint: Checkpoint,
    manifest: Manifest,
    replaced: Iterable[str],
    together: set[str],
) -> list[str]:
    """Reasons: variables that hold an object which would be replaced for others only."""
    live = session.workspace.tracker.settled()
    reasons = []
    for name in sorted(replaced):
        group = live[name].group if name in live else ()
        others = [
            m for m in group
            if m not in together and not _lets_go(session, checkpoint, manifest, name, m)
        ]  # fmt: skip
        # A function of the group holds it for those who hold the function.
        by_name = {name, *group}
        others += [m for m, v in live.items() if m not in together and by_name & set(v.needs)]
        others += session.workspace.live_objects.holders_of(session.namespace[name])
        if others:
            reasons.append(f"it changes {name!r} in place, and {others[0]!r} holds that too now")
    return reasons


def _lets_go(
    session: Session, checkpoint: Checkpoint, manifest: Manifest, name: str, holder: str
) -> bool:
    """True if a step has a variable hold nothing any more that `holder` holds.

    That shared with it when the step began, as it does now, and was left as it was: whatever the
    step changed in what they shared would show in it, too.
    """
    if holder in manifest[name].group or holder not in manifest:
        return False
    kept, digest, tie = checkpoint.passive.get(holder, ("", "", ""))
    return (
        manifest[holder].value == kept
        and bool(tie)
        and is_as_then(session, session.workspace.tracker.settled(), holder, kept, digest)
        and session.workspace.tie_of(holder, checkpoint.key) == tie
    )


def others_on_memory(session: Session, replaced: Iterable[str], manifest: Manifest) -> list[str]:
    """Reasons: variables that show memory which would be replaced for others only."""
    namespace = session.namespace
    pairs = (
        (n, also_on(n, namespace, manifest[n].group, are_tables_values=False))
        for n in sorted(replaced)
    )
    return [f"it changes {n!r} in place, and {m!r} lies on its memory" for n, m in pairs if m]
