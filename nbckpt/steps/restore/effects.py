"""Effects of one step, brought back into a namespace that other code has changed since.

A rewind makes the whole namespace that of a checkpoint. A restored cell must change what the cell
changed and nothing else, and leave every other variable that shares an object with it sharing it.
Where that is impossible, the cell runs instead, and the reason is reported.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from nbckpt.capture import restore
from nbckpt.capture.change_tracking.identity import is_fixed
from nbckpt.capture.observation.observer import UnrepeatableError
from nbckpt.capture.observation.shown_widgets import made_by
from nbckpt.capture.trust_gate import require_trusted
from nbckpt.codecs.widgets import take_places
from nbckpt.fingerprint.random_generators import NAMES
from nbckpt.model import Checkpoint, Manifest
from nbckpt.runtime.interrupts import breathe, whole
from nbckpt.session import known_keys
from nbckpt.session.moves import namespace_restore
from nbckpt.steps.restore.changed_definitions import (
    definitions_made_again,
    newly_named,
    of_other_definitions,
    parted_definitions,
)
from nbckpt.steps.restore.changed_sharing import changed_since, parted_in_place
from nbckpt.steps.restore.other_holders import (
    finalized,
    held_by_libraries,
    held_since,
    held_unkept,
    other_holders,
    others_on_memory,
    replaced_in_place,
    shown_before,
)

if TYPE_CHECKING:
    from nbckpt.session.session import Session


@whole
def reproduce(session: Session, checkpoint: Checkpoint) -> tuple[str, ...]:
    """Bring back what a step did; if it cannot be, the reasons, and nothing was changed.

    Raises
    ------
    UntrustedError
        If the user neither made nor trusts it.
    """
    require_trusted(checkpoint)
    observer, before = session.workspace.observer, session.workspace.observer.standing()
    try:
        observer.restored(checkpoint.observed)  # first: values may be loaded by what it sets
    except UnrepeatableError as why:
        observer.go_to(before)
        return (str(why),)
    reasons = _reproduce(session, checkpoint)
    if reasons and observer.was_set:
        observer.go_to(before)
    return reasons


def reproduce_variable(session: Session, checkpoint: Checkpoint, name: str) -> tuple[str, ...]:
    """Bring back one variable of a checkpoint; if it cannot be, the reasons, as of `reproduce`."""
    if name not in session.timeline.manifest(checkpoint.id):
        return (f"{name!r} was not kept",)
    return reproduce(session, of_variables(checkpoint, {name}))


def of_variables(checkpoint: Checkpoint, names: Collection[str]) -> Checkpoint:
    """A checkpoint of which some variables alone are to come back, and nothing else that it did."""
    bound = tuple(sorted(names))
    return replace(
        checkpoint, bound=bound, in_place=(), passive={}, key=None, refused=(), observed={}
    )


def _reproduce(session: Session, checkpoint: Checkpoint) -> tuple[str, ...]:
    workspace = session.workspace
    manifest = session.timeline.manifest(checkpoint.id)
    never_made = {n for n in checkpoint.passive if n not in session.namespace}
    bound = {n for n in checkpoint.bound if n in manifest} - never_made
    mates = {mate for n in bound for mate in manifest[n].group if mate in manifest} - bound
    present = {n for n in mates if n in session.namespace}
    in_place = {n for n in checkpoint.in_place if n in session.namespace}
    needed = {need for n in bound for need in manifest[n].needs}
    is_sure = not needed or needed <= workspace.tracker.settled().keys()
    if in_place or present or not is_sure or workspace.tracker.may_share(bound):
        # To learn who else holds the objects that are replaced, and what definitions are.
        workspace.capturer.capture()
    anew = definitions_made_again(session, checkpoint, manifest, bound - in_place)
    anew |= shown_before(session, manifest, bound - in_place)
    anew |= workspace.observer.held_by_others(bound - in_place)
    loaded = namespace_restore.bring_back(session, checkpoint, bound, anew=anew)
    if lost := (*loaded.failed, *loaded.untrusted):
        loaded.drop()
        return tuple(map(str, lost))
    begins_again = known_keys.begins_again(session, checkpoint) if present or in_place else False
    aliases = _aliases(loaded, manifest, bound, present)
    replaced = present & set(loaded.values) - _only_aliased(aliases, manifest)
    changed = (in_place & set(loaded.values)) | replaced
    reasons = [
        *finalized(session, set(checkpoint.bound) | in_place | replaced),
        *held_unkept(session, loaded, bound - in_place),
        *held_since(session, checkpoint, loaded, bound - in_place),
        *([] if begins_again else changed_since(session, checkpoint, manifest, loaded, present)),
        *parted_in_place(session, checkpoint, in_place, begins_again=begins_again),
        *others_on_memory(session, changed, manifest),
        *other_holders(session, checkpoint, manifest, changed, bound | mates),
        *parted_definitions(session, checkpoint, manifest, changed, bound | replaced),
        *newly_named(session, loaded, manifest, bound | replaced),
        *of_other_definitions(session, checkpoint, manifest, bound | replaced),
        *workspace.observer.why_not_bound(bound | replaced, set(loaded.values)),
        *held_by_libraries(session, checkpoint, loaded, bound | replaced),
    ]
    if reasons:
        loaded.drop()
        return tuple(reasons)
    breathe()
    _bind(session, checkpoint, loaded, {n for n in bound if n not in aliases} | replaced, aliases)
    return ()


def _aliases(
    loaded: restore.Loaded,
    manifest: Manifest,
    bound: set[str],
    present: set[str],
) -> dict[str, str]:
    """Bound names that are nothing but another name of a live variable → that variable."""
    aliases: dict[str, str] = {}
    for name in sorted(bound & set(loaded.values)):
        group = manifest[name].group
        same = (m for m in group if m in present and _is_same(loaded, name, m))
        if mate := next(same, None):
            aliases[name] = mate
    # Only where a whole group is: else the rest of it must be replaced together. So it must be
    # with a class that is replaced, which the live variable is not of.
    built = bound & set(loaded.values)
    are_whole = {
        n
        for n in aliases
        if bound.intersection(manifest[n].group) <= aliases.keys()
        and built.isdisjoint(manifest[n].needs)
    }
    return {n: m for n, m in aliases.items() if n in are_whole}


def _is_same(loaded: restore.Loaded, name: str, mate: str) -> bool:
    return mate in loaded.values and loaded.values[mate] is loaded.values[name]


def _only_aliased(aliases: Mapping[str, str], manifest: Manifest) -> set[str]:
    return {mate for name in aliases for mate in manifest[name].group}


def _reads_only_fixed(session: Session, checkpoint: Checkpoint) -> bool:
    """True if what a step reads is the same objects as then, where it is equal to what was then.

    What cannot be kept may hold them.
    """
    inputs = checkpoint.key.inputs if checkpoint.key else {}
    return all(is_fixed(value) for n, value in session.namespace.items() if n in inputs)


def _bind(
    session: Session,
    checkpoint: Checkpoint,
    loaded: restore.Loaded,
    names: set[str],
    aliases: Mapping[str, str],
) -> None:
    workspace = session.workspace
    manifest = session.timeline.manifest(checkpoint.id)
    # What could not be kept is gone: what an earlier cell had bound to its name is older.
    is_as_then = _reads_only_fixed(session, checkpoint)
    stays = workspace.live_objects.untouched(checkpoint) if is_as_then else set()
    # They hold what the names lose.
    stays -= workspace.live_objects.holders_of_any({*names, *aliases})
    gone = [n for n in checkpoint.bound if n not in manifest and n not in stays]
    parted_from = workspace.live_objects.holders_of_any({*names, *aliases, *gone})
    for name in gone:
        session.namespace.pop(name, None)
    values = {n: v for n, v in loaded.values.items() if n in names or n in NAMES}
    bound = loaded._replace(values=values)
    changed = replaced_in_place(session, checkpoint, values, values)
    workspace.observer.replaced(changed)
    leaving = values.keys() | aliases.keys()
    staying = [n for n in workspace.tracker.user_names() if n not in leaving]
    workspace.torn_graphs.replaces(leaving, staying)
    stay = [session.namespace[n] for n in staying]
    made = made_by(checkpoint.observed.get("widgets"))
    take_places(
        [(new, old) for old, new in changed], [binding for _, binding in bound.bindings], stay, made
    )
    bound.bind(session.namespace, manifest)
    session.namespace.update({n: session.namespace[mate] for n, mate in aliases.items()})
    workspace.observer.bound({*checkpoint.bound, *names})
    have_group = {n for n in values if set(manifest[n].group) <= values.keys() | loaded.unchanged}
    kept, replaced = workspace.capturer.manifest(), {*values, *aliases, *gone}
    workspace.capturer.adopt({n: manifest[n] for n in have_group}, gone)
    # What stays and shared an object with what was replaced shares it no more: its blob still
    # holds the old value of that, too.
    parted = {n for n in kept.keys() - replaced if not replaced.isdisjoint(kept[n].group)}
    if session.position.follows(checkpoint) and workspace.tracker.is_untouched(parted):
        same = {n for n in parted if n in manifest and manifest[n].trusted}
        same = {n for n in same if manifest[n].value == kept[n].value}
        left = {n: set(kept[n].group) - replaced for n in same}
        as_then = {n for n in same if left[n] <= same and left[n] == {*manifest[n].group}}
        workspace.capturer.adopt({n: manifest[n] for n in as_then})
        parted -= as_then
    # An alias is looked at with its mate: alone it would seem to share nothing.
    # What was kept by the name of a definition that went is kept with it from now on.
    needing = {n for n in kept.keys() - replaced if not replaced.isdisjoint(kept[n].needs)}
    workspace.tracker.touched(
        {
            *parted,
            *parted_from,
            *needing,
            *aliases,
            *aliases.values(),
            *(values.keys() - have_group),
        }
    )
    namespace_restore.note_seeds(session, checkpoint, loaded)
    session.position.is_exact = False  # who knows where it is then says so
