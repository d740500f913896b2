"""A checkpoint's values in the namespace: built, bound, and what of the rest stays."""

from __future__ import annotations

import time
from collections.abc import Collection, Container, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from nbckpt.capture import restore
from nbckpt.errors import StoreError
from nbckpt.fingerprint import random_generators
from nbckpt.model import Checkpoint, Manifest, Refusal, Variable
from nbckpt.session.moves.move_result import MoveResult
from nbckpt.session.workspace.unkept import Unkept

if TYPE_CHECKING:
    from nbckpt.session.session_parts import SessionParts


def bring_back(
    session: SessionParts,
    checkpoint: Checkpoint,
    names: Iterable[str],
    *,
    anew: Container[str] = frozenset(),
    gone: Container[str] = frozenset(),
) -> restore.Loaded:
    """Build the values of `names` as of `checkpoint`, with all they share objects with.

    Parameters
    ----------
    anew
        Names that are built even if they have the same value already.
    gone
        Names that are about to be taken away: what shares with none but these can stay.
    """
    workspace = session.workspace
    manifest = session.timeline.manifest(checkpoint.id)
    wanted = {n: manifest[n] for n in names if n in manifest}
    closed = {mate for v in wanted.values() for mate in v.group if mate in manifest}
    wanted |= {n: manifest[n] for n in sorted(closed - set(wanted))}
    if workspace.tracker.user_names():
        # So that what is there and has not changed is not built anew beside those who hold it.
        with suppress(StoreError):  # a full disk keeps nobody from going back: all is built anew
            workspace.capturer.capture(only=_with_definitions(wanted, manifest))
    parted = workspace.observer.at_other_places(wanted.keys() & session.namespace.keys())
    settled = workspace.tracker.settled()
    live = {n: v for n, v in settled.items() if n not in anew and n not in parted}
    live |= {n: v for n, v in wanted.items() if n in live and _is_alone(v, live[n], gone)}
    return restore.load(
        wanted,
        store=session.store,
        namespace=session.namespace,
        live=live,
        manifest=manifest,
        silenced=workspace.observer.silenced,
    )


def _is_alone(wanted: Variable, live: Variable, gone: Container[str]) -> bool:
    """True if a live variable is as wanted, as soon as those that it shares with are gone.

    What cannot be kept may hold it, and stays as it is.
    """
    others = [mate for mate in live.group if mate != live.name]
    return (
        wanted.group == (wanted.name,)
        and (wanted.value, wanted.needs) == (live.value, live.needs)
        and all(mate in gone for mate in others)
    )


def _with_definitions(names: Iterable[str], manifest: Manifest) -> set[str]:
    """`names`, the definitions that their values need, and all that is grouped with these."""
    found: set[str] = set()
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in found and name in manifest:
            found.add(name)
            queue += [*manifest[name].needs, *manifest[name].group]
    return found


def _end(session: SessionParts, going: Collection[str]) -> bool:
    """Let go of those values that do something of the user's when they go; whether any does.

    What that does comes first: it is done to what goes, not to what comes.
    """
    namespace = session.namespace
    if not (going := [n for n in going if n in namespace]):
        return False  # as in a new kernel, which needs to load nothing for that
    from nbckpt.capture.observation.finalizers import called_at_end

    ending = set(called_at_end(going, namespace))
    for name in [n for n in reversed(namespace) if n in ending]:
        namespace.pop(name, None)  # the last first: it may need, or drop, the others
    if ending:
        session.workspace.capturer.adopt({}, ending)
    return bool(ending)


def take(
    session: SessionParts, checkpoint: Checkpoint, loaded: restore.Loaded, removed: Iterable[str]
) -> None:
    """Bind what was built, and take note of where the namespace is now."""
    workspace = session.workspace
    manifest = session.timeline.manifest(checkpoint.id)
    for name in removed:
        session.namespace.pop(name, None)
    stay = [n for n in workspace.tracker.user_names() if n not in loaded.values]
    workspace.torn_graphs.replaces(loaded.values.keys(), stay)
    workspace.observer.replaced(loaded.replaced(session.namespace))
    loaded.bind(session.namespace, manifest)
    workspace.observer.bound({*loaded.values, *loaded.unchanged})
    kept, replaced = workspace.capturer.manifest(), {*loaded.values, *removed}
    workspace.capturer.adopt({n: manifest[n] for n in loaded.values}, removed)
    # What stays and shared an object with what was replaced shares it no more.
    stays = kept.keys() - replaced
    workspace.tracker.touched(n for n in stays if not replaced.isdisjoint(kept[n].group))
    session.position.id, session.position.is_exact = checkpoint.id, False
    lost = {r.variable for r in loaded.failed} & manifest.keys()
    workspace.unkept = Unkept(checkpoint.id, failed=frozenset(lost))
    workspace.live_objects.restored(checkpoint)
    note_seeds(session, checkpoint, loaded)


def note_seeds(session: SessionParts, checkpoint: Checkpoint, loaded: restore.Loaded) -> None:
    """Take note which of the restored random generators stand where somebody put them."""
    states = set(loaded.values) & random_generators.NAMES
    session.workspace.seeded = (session.workspace.seeded - states) | (
        states & set(checkpoint.seeded)
    )


def restore_all(
    session: SessionParts,
    target: Checkpoint,
    *,
    delete: bool = True,
    loaded: restore.Loaded | None = None,
    is_undone: bool = False,
) -> MoveResult:
    """Make the namespace that of `target`; unless `delete`, other names stay.

    Parameters
    ----------
    loaded
        Its values, if they were built already.
    is_undone
        Whether the namespace holds the objects of that moment again: what could not be kept, too.
    """
    workspace, live_objects = session.workspace, session.workspace.live_objects
    began = time.perf_counter()
    manifest = session.timeline.manifest(target.id)
    if loaded is None:
        set_state(session, target)
        goes = _not_in(session, target) if delete else frozenset()
        loaded = bring_back(session, target, manifest, gone=goes)
    refused = {r.variable for r in target.refused}
    left = refused | set(target.omitted)
    present = set(workspace.tracker.user_names())
    untouched = live_objects.untouched(target)
    untouched -= live_objects.holders_of_any(loaded.values)  # they hold what is replaced
    lasting = live_objects.lasting(target) - untouched
    still = refused if is_undone else untouched | lasting
    stays = still | set(target.omitted) | workspace.own_names()
    gone = present - set(manifest) - stays if delete else set()
    if session.position.id is not None and not is_undone:
        # What is there is of another moment of this history.
        gone |= (refused & present) - stays
        loaded = _without_orphans(loaded, manifest, refused & gone)
    begun = {m for n in live_objects.begun_since(target) for m in manifest[n].group}
    loaded = _without(loaded, begun)
    gone |= {r.variable for r in (*loaded.failed, *loaded.untrusted)} & present
    if _end(session, {*loaded.values, *gone}):
        loaded.drop()
        workspace.tracker.touched(None)
        loaded = _without(bring_back(session, target, manifest, gone=gone), begun)
        gone |= {r.variable for r in (*loaded.failed, *loaded.untrusted)} & present
    take(session, target, loaded, sorted(gone))
    workspace.torn_graphs.goes_back(workspace.observer.standing)
    # They may share no more with what was replaced.
    workspace.tracker.touched(lasting | begun)
    session.pending_cells.forget()
    hidden = random_generators.NAMES
    return MoveResult(
        checkpoint=target,
        came_back=tuple(n for n in manifest if n in loaded.values and n not in hidden),
        unchanged=tuple(n for n in manifest if n in loaded.unchanged - hidden),
        removed=tuple(sorted(gone)),
        failed=loaded.failed,
        left=tuple(sorted(left)),
        took_s=time.perf_counter() - began,
        untrusted=loaded.untrusted,
        was_set=workspace.observer.was_set,
        unset=workspace.observer.unset,
        moved_on=() if is_undone else tuple(sorted(lasting)),
        refused=target.refused,
        begun=tuple(sorted(begun)),
        absent=tuple(sorted(left - gone - session.namespace.keys())),
    )


def _without(loaded: restore.Loaded, names: set[str]) -> restore.Loaded:
    """`loaded` without some values, which stay as they are."""
    return loaded._replace(values={n: v for n, v in loaded.values.items() if n not in names})


def _without_orphans(loaded: restore.Loaded, manifest: Manifest, gone: set[str]) -> restore.Loaded:
    """`loaded` without what is as it was, but refers to a definition that goes and is not kept.

    Made again, that would be another one than what stays refers to.
    """
    orphans: dict[str, str] = {}
    while found := {
        name: need
        for name in loaded.unchanged - orphans.keys()
        for need in manifest[name].needs
        if need in gone or need in orphans
    }:
        orphans |= found
    reason = "did not come back: it needs {!r}, which its checkpoint does not hold"
    failed = [
        Refusal(name, name, manifest[name].type_name, reason.format(need))
        for name, need in orphans.items()
    ]
    unchanged = loaded.unchanged - orphans.keys()
    return loaded._replace(unchanged=unchanged, failed=(*loaded.failed, *failed))


def _not_in(session: SessionParts, target: Checkpoint) -> frozenset[str]:
    """Names of variables that are kept now, and that a checkpoint says nothing of."""
    workspace = session.workspace
    then = {*session.timeline.manifest(target.id), *target.omitted, *workspace.own_names()}
    return frozenset(workspace.capturer.kept_names()) - then


def set_state(session: SessionParts, target: Checkpoint) -> None:
    """Set the process state of a checkpoint, before its values are loaded."""
    session.workspace.observer.go_to(target.standing)
