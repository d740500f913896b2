"""Effects of one step, brought back into a namespace that other code has changed since.

A rewind makes the whole namespace that of a checkpoint. A restored cell must change what the cell
changed and nothing else, and leave every other variable that shares an object with it sharing it.
Where that is impossible, the cell runs instead, and the reason is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, islice
from types import FunctionType
from typing import TYPE_CHECKING, Any

from nbckpt.capture import restore
from nbckpt.capture.decode import Values
from nbckpt.capture.identity import is_fixed
from nbckpt.capture.observation.finalizers import called_at_end
from nbckpt.capture.observation.observer import UnrepeatableError
from nbckpt.capture.observation.shown_widgets import made_by
from nbckpt.capture.untrusted import require_trusted
from nbckpt.codecs.pickler import is_by_reference
from nbckpt.codecs.widgets import take_places
from nbckpt.digests import Digest
from nbckpt.fingerprint.keys import also_on
from nbckpt.fingerprint.random_state import NAMES
from nbckpt.fingerprint.values import ValueDigester
from nbckpt.fingerprint.values.definitions import holds_state
from nbckpt.fingerprint.values.likeness import whole_digest
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.model import Checkpoint, Manifest, Variable
from nbckpt.runtime.interrupts import allowed, breathe, whole
from nbckpt.session import known_keys, navigation

if TYPE_CHECKING:
    from nbckpt.session.session import Session

_CONTAINERS = frozenset({list, tuple, dict})
_MANY = 1_000


@whole
def reproduce(session: Session, checkpoint: Checkpoint) -> tuple[str, ...]:
    """Bring back what a step did; if it cannot be, the reasons, and nothing was changed.

    Raises
    ------
    UntrustedError
        If the user neither made nor trusts it.
    """
    require_trusted(checkpoint)
    observer, before = session.observer, session.observer.standing()
    try:
        observer.restored(checkpoint.observed)  # first: values may be loaded by what it sets
    except UnrepeatableError as why:
        observer.go_to(before)
        return (str(why),)
    reasons = _reproduce(session, checkpoint)
    if reasons and observer.was_set:
        observer.go_to(before)
    return reasons


def _reproduce(session: Session, checkpoint: Checkpoint) -> tuple[str, ...]:
    manifest = session.timeline.manifest(checkpoint.id)
    never_made = {n for n in checkpoint.passive if n not in session.namespace}
    bound = {n for n in checkpoint.bound if n in manifest} - never_made
    mates = {mate for n in bound for mate in manifest[n].group if mate in manifest} - bound
    present = {n for n in mates if n in session.namespace}
    in_place = {n for n in checkpoint.in_place if n in session.namespace}
    if in_place or present or session.capturer.may_share(bound):
        session.capturer.capture()  # to learn who else holds the objects that are replaced
    anew = _held_elsewhere(session, checkpoint, manifest, bound - in_place)
    anew |= _shown_before(session, manifest, bound - in_place)
    anew |= session.observer.held_by_others(bound - in_place)
    loaded = navigation.bring_back(session, checkpoint, bound, anew=anew)
    if lost := (*loaded.failed, *loaded.untrusted):
        loaded.drop()
        return tuple(map(str, lost))
    begins_again = known_keys.begins_again(session, checkpoint) if present or in_place else False
    aliases = _aliases(loaded, manifest, bound, present)
    replaced = present & set(loaded.values) - _only_aliased(aliases, manifest)
    changed = (in_place & set(loaded.values)) | replaced
    reasons = [
        *_ending(session, set(checkpoint.bound) | in_place | replaced),
        *_held_unkept(session, loaded, bound - in_place),
        *_held_anew(session, checkpoint, loaded, bound - in_place),
        *([] if begins_again else _otherwise(session, checkpoint, manifest, loaded, present)),
        *_parted(session, checkpoint, in_place, begins_again=begins_again),
        *_others_on_memory(session, changed, manifest),
        *_other_holders(session, checkpoint, manifest, changed, bound | mates),
        *_parted_definitions(session, checkpoint, manifest, changed, bound | replaced),
        *_referring(session, loaded, manifest, bound | replaced),
        *_of_other_definitions(session, checkpoint, manifest, bound | replaced),
        *session.observer.why_not_bound(bound | replaced, set(loaded.values)),
        *_held_by_libraries(session, checkpoint, loaded, bound | replaced),
    ]
    if reasons:
        loaded.drop()
        return tuple(reasons)
    breathe()
    _bind(session, checkpoint, loaded, {n for n in bound if n not in aliases} | replaced, aliases)
    return ()


def _held_elsewhere(
    session: Session, checkpoint: Checkpoint, manifest: Manifest, bound: set[str]
) -> set[str]:
    """Definitions that the step makes anew, and that other variables hold by now.

    They are built though they are equal already: the step makes others. What shares with anything
    else that is kept has other bytes; a definition is told by its name. Of a function without
    state nobody can tell whether it is another; of a class its instances tell. A class of what the
    step reads, as in ``A = type(x)``, is none that it makes.
    """
    namespace, live = session.namespace, session.capturer.settled()
    others = {n: v for n, v in live.items() if n not in bound}
    named = _needed_by(live, *(n for n, v in others.items() if not _is_as_kept(v, manifest)))
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


def _needed_by(live: Mapping[str, Variable], *names: str) -> set[str]:
    """The definitions that some live variables need, and those that these need."""
    found: set[str] = set()
    waiting = [need for name in names for need in live[name].needs]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += live[name].needs if name in live else ()
    return found


def _shown_before(session: Session, manifest: Manifest, bound: set[str]) -> set[str]:
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


def _is_as_kept(live: Variable, manifest: Manifest) -> bool:
    return live.name in manifest and manifest[live.name].value == live.value


def _held_unkept(session: Session, loaded: restore.Loaded, bound: set[str]) -> list[str]:
    """Reasons: variables with the same value already, whose objects hold what cannot be kept.

    The step may bind another object to them, or may not.
    """
    namespace = session.namespace
    held = {
        n: holders
        for n in sorted(bound & loaded.unchanged & namespace.keys())
        if not isinstance(namespace[n], FunctionType | type)
        and (holders := session.live_objects.holders_of(namespace[n]))
    }
    return [f"it binds {n!r}, and {m[0]!r} holds what that is now" for n, m in held.items()]


def _held_anew(
    session: Session, checkpoint: Checkpoint, loaded: restore.Loaded, bound: set[str]
) -> list[str]:
    """Reasons: variables that the step reads and then binds, and whose objects others hold by now.

    Before it binds them it may change what they held, of which nobody was a witness then.
    """
    inputs: set[str] = set()
    if checkpoint.key is not None:
        inputs.update(checkpoint.key.inputs, checkpoint.key.functions)
    namespace, live = session.namespace, session.capturer.settled()
    reasons = []
    for name in sorted(bound & inputs & namespace.keys()):
        known = {name, *bound, *inputs, *checkpoint.passive}  # those that held it then, too
        if issubclass(type(namespace[name]), FunctionType | type):
            if name in loaded.values and (
                holders := [m for m in live if m not in known and name in _needed_by(live, m)]
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
        holders += session.live_objects.holders_of(namespace[name])
        if holders:
            reasons.append(f"it reads and binds {name!r}, and {holders[0]!r} holds that too now")
    return reasons


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
    whole = {
        n
        for n in aliases
        if bound.intersection(manifest[n].group) <= aliases.keys()
        and built.isdisjoint(manifest[n].needs)
    }
    return {n: m for n, m in aliases.items() if n in whole}


def _is_same(loaded: restore.Loaded, name: str, mate: str) -> bool:
    return mate in loaded.values and loaded.values[mate] is loaded.values[name]


def _only_aliased(aliases: Mapping[str, str], manifest: Manifest) -> set[str]:
    return {mate for name in aliases for mate in manifest[name].group}


def _otherwise(
    session: Session,
    checkpoint: Checkpoint,
    manifest: Manifest,
    loaded: restore.Loaded,
    present: set[str],
) -> list[str]:
    """Reasons: variables that hold something of the step's, and are other than they were then.

    Where all variables are those with which it began none is: it did not change these.
    """
    return [
        *_untied(session, checkpoint, present & set(loaded.values)),
        *_parted_mates(session, loaded, present),
        *_changed_mates(session, loaded, manifest, present),
    ]


def _untied(session: Session, checkpoint: Checkpoint, mates: set[str]) -> list[str]:
    """Reasons: variables that shared an object with what the step reads before it, and do not now.

    ``d = d`` leaves the two as they were; it does not tie them.
    """
    return [
        f"{mate!r} shared an object with what it reads then, and does not now"
        for mate in sorted(mates & checkpoint.passive.keys())
        if session.tie_of(mate, checkpoint.key) != checkpoint.passive[mate][-1]
    ]


def _parted_mates(session: Session, loaded: restore.Loaded, present: set[str]) -> list[str]:
    """Reasons: variables that shared an object with each other then, and do not now."""
    names = sorted(present & set(loaded.values))
    if len(names) < 2:
        return []
    then = session.capturer.sharing_within({**session.namespace, **loaded.values}, names)
    now = {frozenset(group) for group in session.capturer.sharing(names)}
    return [
        f"{group[0]!r} and {group[1]!r} shared an object then, and do not now"
        for group in then
        if frozenset(group) not in now
    ]


def _changed_mates(
    session: Session, loaded: restore.Loaded, manifest: Manifest, present: set[str]
) -> list[str]:
    """Reasons: variables that hold something of the step's, and are not as they were."""
    live = session.capturer.settled()
    reasons = []
    for mate in sorted(present & set(loaded.values)):
        if mate in live and live[mate].value == manifest[mate].value:
            continue
        digester = ValueDigester(session.namespace)
        with allowed():
            now, then = map(digester.digest, (session.namespace[mate], loaded.values[mate]))
        if now != then:
            reasons.append(f"{mate!r} shared an object with it then, and has another value now")
    return reasons


def holds(session: Session, now: Variable | None, kept: Variable | None, values: Values) -> bool:
    """True if a live variable has the value that was kept, if in other bytes.

    Parameters
    ----------
    values
        Builds what was kept.
    """
    namespace = session.namespace
    if now is None or kept is None or now.name not in namespace:
        return False
    if (now.type_name, now.shape) != (kept.type_name, kept.shape):
        return False
    with allowed():
        try:
            built = values.build(kept.name)
        except Exception:  # whatever its own code raises; to bring it back says what
            return False
        live = whole_digest(namespace[now.name], namespace)
        return live is not None and live == whole_digest(built, values.namespace)


def _parted(
    session: Session, checkpoint: Checkpoint, in_place: set[str], *, begins_again: bool
) -> list[str]:
    """Reasons: variables that changed only because they shared, and do not as they did then."""
    live = session.capturer.settled()
    key = checkpoint.key
    named = {*checkpoint.bound, *(key.inputs if key else ()), *(key.functions if key else ())}
    active = named - checkpoint.passive.keys()
    names = sorted(in_place & checkpoint.passive.keys())
    reasons = []
    for name in names:
        *before, tie = checkpoint.passive[name]
        is_as_then = begins_again or (
            _is_as_then(session, live, name, *before)
            and session.tie_of(name, checkpoint.key) == tie
        )
        if not is_as_then or not _is_tied(live, name, active):
            reasons.append(f"it changed {name!r} through a shared object, and that is another now")
    return reasons


def _ending(session: Session, going: set[str]) -> list[str]:
    """Reasons: objects that go when the values are bound, and that do something at their end.

    What that prints or changes is in what was kept of the step already.
    """
    return [
        f"it may drop what {name!r} holds, which does something when it is dropped"
        for name in sorted(called_at_end(going, session.namespace))
    ]


def _is_tied(live: Manifest, name: str, active: set[str]) -> bool:
    """True if a variable shares an object with some of `active`, or is the class of one."""
    return not active.isdisjoint(live[name].group) or any(
        name in live[n].needs for n in active if n in live
    )


def _is_as_then(session: Session, live: Manifest, name: str, kept: Digest, digest: Digest) -> bool:
    """True if a variable is as it was before the step ran, as bytes or as a value."""
    if name not in live:
        return False
    return live[name].value == kept or session.digests_of([name])[name] == digest


def _held_by_libraries(
    session: Session, checkpoint: Checkpoint, loaded: restore.Loaded, names: set[str]
) -> list[str]:
    """Reasons: objects that a logger holds, say, and that would be another's from now on.

    What a name that the step reads and binds anew held may have another name after it.
    """
    pairs = _changed_where_they_stand(session, checkpoint, loaded.values, names)
    anew = set(checkpoint.bound) - set(checkpoint.in_place)
    inputs = checkpoint.key.inputs.keys() if checkpoint.key else set()
    moved = anew & names & loaded.values.keys() & inputs
    pairs += [(session.namespace[n], None) for n in sorted(moved) if n in session.namespace]
    return session.observer.why_not_replaced(pairs)


def _changed_where_they_stand(
    session: Session, checkpoint: Checkpoint, values: Mapping[str, object], names: Iterable[str]
) -> list[tuple[object, object]]:
    """Objects that a step has changed and not bound anew, each with what takes its place."""
    anew = set(checkpoint.bound) - set(checkpoint.in_place)
    there = sorted((set(names) & values.keys() & session.namespace.keys()) - anew)
    pairs = [(session.namespace[n], values[n]) for n in there]
    return [(old, new) for old, new in pairs if old is not new]


def _other_holders(
    session: Session,
    checkpoint: Checkpoint,
    manifest: Manifest,
    replaced: Iterable[str],
    together: set[str],
) -> list[str]:
    """Reasons: variables that hold an object which would be replaced for others only."""
    live = session.capturer.settled()
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
        others += session.live_objects.holders_of(session.namespace[name])
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
        and _is_as_then(session, session.capturer.settled(), holder, kept, digest)
        and session.tie_of(holder, checkpoint.key) == tie
    )


def _parted_definitions(
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
    live = session.capturer.settled()
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


def _of_other_definitions(
    session: Session, checkpoint: Checkpoint, manifest: Manifest, names: set[str]
) -> list[str]:
    """Reasons: what the step reads was of a class that had a name, and is of an equal one now.

    What it gives on of that would be of the one that has the name; what it changed by way of its
    class it would not change.
    """
    live = session.capturer.settled()
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


def _referring(
    session: Session, loaded: restore.Loaded, manifest: Manifest, together: set[str]
) -> list[str]:
    """Reasons: variables that referred to a definition by its name, and would hold another.

    ``B = type(o)`` gives a name to a class that `o` alone held.
    """
    live = session.capturer.settled()
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
        and not holds(session, live.get(n), manifest[n], values)  # it may have other bytes by now
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
            reasons.append(f"it gives the name {needed[0]!r} to what {name!r} holds")
    return reasons


def _others_on_memory(session: Session, replaced: Iterable[str], manifest: Manifest) -> list[str]:
    """Reasons: variables that show memory which would be replaced for others only."""
    namespace = session.namespace
    pairs = (
        (n, also_on(n, namespace, manifest[n].group, are_tables_values=False))
        for n in sorted(replaced)
    )
    return [f"it changes {n!r} in place, and {m!r} lies on its memory" for n, m in pairs if m]


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
    manifest = session.timeline.manifest(checkpoint.id)
    # What could not be kept is gone: what an earlier cell had bound to its name is older.
    is_as_then = _reads_only_fixed(session, checkpoint)
    stays = session.live_objects.untouched(checkpoint) if is_as_then else set()
    # They hold what the names lose.
    stays -= session.live_objects.holders_of_any({*names, *aliases})
    gone = [n for n in checkpoint.bound if n not in manifest and n not in stays]
    parted_from = session.live_objects.holders_of_any({*names, *aliases, *gone})
    for name in gone:
        session.namespace.pop(name, None)
    values = {n: v for n, v in loaded.values.items() if n in names or n in NAMES}
    bound = loaded._replace(values=values)
    changed = _changed_where_they_stand(session, checkpoint, values, values)
    session.observer.replaced(changed)
    leaving = values.keys() | aliases.keys()
    staying = [n for n in session.capturer.user_names() if n not in leaving]
    session.torn_graphs.replaces(leaving, staying)
    stay = [session.namespace[n] for n in staying]
    made = made_by(checkpoint.observed.get("widgets"))
    take_places(
        [(new, old) for old, new in changed], [binding for _, binding in bound.bindings], stay, made
    )
    bound.bind(session.namespace, manifest)
    session.namespace.update({n: session.namespace[mate] for n, mate in aliases.items()})
    session.observer.bound({*checkpoint.bound, *names})
    whole = {n for n in values if set(manifest[n].group) <= values.keys() | loaded.unchanged}
    kept, replaced = session.capturer.manifest(), {*values, *aliases, *gone}
    session.capturer.adopt({n: manifest[n] for n in whole}, gone)
    # What stays and shared an object with what was replaced shares it no more: its blob still
    # holds the old value of that, too.
    parted = {n for n in kept.keys() - replaced if not replaced.isdisjoint(kept[n].group)}
    if session.follows(checkpoint) and session.capturer.is_untouched(parted):
        same = {n for n in parted if n in manifest and manifest[n].trusted}
        same = {n for n in same if manifest[n].value == kept[n].value}
        left = {n: set(kept[n].group) - replaced for n in same}
        as_then = {n for n in same if left[n] <= same and left[n] == {*manifest[n].group}}
        session.capturer.adopt({n: manifest[n] for n in as_then})
        parted -= as_then
    # An alias is looked at with its mate: alone it would seem to share nothing.
    # What was kept by the name of a definition that went is kept with it from now on.
    needing = {n for n in kept.keys() - replaced if not replaced.isdisjoint(kept[n].needs)}
    session.capturer.touched(
        {*parted, *parted_from, *needing, *aliases, *aliases.values(), *(values.keys() - whole)}
    )
    navigation.note_seeds(session, checkpoint, loaded)
    session.is_at_position = False  # who knows where it is then says so
