"""Functions and classes that are other than at a step: reasons not to restore it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

from nbckpt.capture import restore
from nbckpt.capture.decode import Values
from nbckpt.capture.same_values import holds
from nbckpt.fingerprint.values.definitions import holds_state
from nbckpt.model import Checkpoint, Manifest, Variable

if TYPE_CHECKING:
    from nbckpt.session.session import Session


def definitions_made_again(
    session: Session, checkpoint: Checkpoint, manifest: Manifest, bound: set[str]
) -> set[str]:
    """Definitions that the step makes anew, and that other variables hold by now.

    They are built though they are equal already: the step makes others. What shares with anything
    else that is kept has other bytes; a definition is told by its name. Of a function without
    state nobody can tell whether it is another; of a class its instances tell. A class of what the
    step reads, as in ``A = type(x)``, is none that it makes.
    """
    namespace, live = session.namespace, session.workspace.tracker.settled()
    others = {n: v for n, v in live.items() if n not in bound}
    named = needed_by(live, *(n for n, v in others.items() if not _is_as_kept(v, manifest)))
    read = (checkpoint.key.inputs.keys() if checkpoint.key else set()) - bound
    known = {id(type(namespace[n])) for n in read if n in namespace}
    definitions: dict[str, Any] = {
        n: namespace[n] for n in bound & named if n in namespace and id(namespace[n]) not in known
    }
    return {
        n
        for n, v in definitions.items()
        if isinstance(v, type) or (isinstance(v, FunctionType) and holds_state(v))
    }


def needed_by(live: Mapping[str, Variable], *names: str) -> set[str]:
    """The definitions that some live variables need, and those that these need."""
    found: set[str] = set()
    waiting = [need for name in names for need in live[name].needs]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += live[name].needs if name in live else ()
    return found


def _is_as_kept(live: Variable, manifest: Manifest) -> bool:
    return live.name in manifest and manifest[live.name].value == live.value


def parted_definitions(
    session: Session,
    checkpoint: Checkpoint,
    manifest: Manifest,
    replaced: Iterable[str],
    together: set[str],
) -> list[str]:
    """Reasons: values of a class or function that has a name now, and would be of a copy of it.

    Then it had another name or none, so that it was kept with the value. Not if the value held it
    by that name when the step began: the step has let it go.
    """
    live = session.workspace.tracker.settled()
    before = session.timeline.manifest(checkpoint.parent) if checkpoint.parent else {}
    stay = manifest.keys() - checkpoint.bound
    reasons = []
    for name in sorted(replaced):
        named_since = set(live[name].needs if name in live else ()) - set(manifest[name].needs)
        named_since -= stay.intersection(before[name].needs if name in before else ())
        holders = [
            holder
            for definition in sorted(named_since & live.keys())
            for holder in (definition, *live[definition].group)
            if holder not in together
        ]
        if holders:
            reasons.append(f"it changes {name!r} in place, and {holders[0]!r} holds that too now")
    return reasons


def of_other_definitions(
    session: Session, checkpoint: Checkpoint, manifest: Manifest, names: set[str]
) -> list[str]:
    """Reasons: what the step reads was of a class that had a name, and is of an equal one now.

    What it gives on of that would be of the one that has the name; what it changed by way of its
    class it would not change.
    """
    live = session.workspace.tracker.settled()
    before = session.timeline.manifest(checkpoint.parent) if checkpoint.parent else {}
    needed = {need for n in names & manifest.keys() for need in manifest[n].needs}
    inputs = checkpoint.key.inputs.keys() if checkpoint.key else set()
    reasons = []
    for name in sorted((inputs | set(checkpoint.in_place)) & before.keys() & live.keys()):
        others = set(before[name].needs) - set(live[name].needs)
        if name not in checkpoint.in_place:
            others &= needed
        reasons += [f"{name!r} is of another {other!r} now" for other in sorted(others)]
    return reasons


def newly_named(
    session: Session, loaded: restore.Loaded, manifest: Manifest, together: set[str]
) -> list[str]:
    """Reasons: variables that referred to a definition by its name, and would hold another.

    ``B = type(o)`` gives a name to a class that `o` alone held.
    """
    live = session.workspace.tracker.settled()
    built = {
        n for n in together & set(loaded.values)
        if issubclass(type(loaded.values[n]), FunctionType | type)
    }  # fmt: skip
    # What was found by a name that means something else now is built for those that are restored.
    needed_there = {m for n in together & set(loaded.values) for m in manifest[n].needs} - together
    values = Values(session.store, manifest)
    built |= {
        n for n in needed_there
        if n in manifest
        and (n not in live or live[n].value != manifest[n].value)
        and not holds(session.namespace, live.get(n), manifest[n], values)  # if in other bytes
    }  # fmt: skip
    # One that is there already is given to no other object; who held it then holds another now.
    same = {
        n for n in together & loaded.unchanged
        if issubclass(type(session.namespace.get(n)), FunctionType | type)
    }  # fmt: skip
    reasons = []
    for name, variable in sorted(manifest.items()):
        if name in together or name not in session.namespace:
            continue
        held_already = set(live[name].needs if name in live else ())
        if needed := sorted(set(variable.needs) & (built | (same - held_already))):
            reasons.append(f"it makes {needed[0]!r} anew, and {name!r} holds the one that is there")
    return reasons
