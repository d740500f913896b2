"""One variable as it was at a checkpoint, in a namespace that otherwise stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nbckpt.capture.decode import Values
from nbckpt.capture.same_values import holds
from nbckpt.capture.trust_gate import require_trusted
from nbckpt.codecs.loading import Loading, decode
from nbckpt.config.validate import require_text
from nbckpt.errors import UsageError, VariableNotFoundError
from nbckpt.model import Checkpoint
from nbckpt.runtime.interrupts import breathe, whole
from nbckpt.session.history.summaries import user_names
from nbckpt.session.moves.branching import keep_given
from nbckpt.session.moves.unsaved import keep_unsaved, prepare_move
from nbckpt.session.moves.update_values import bound_by_hand
from nbckpt.steps.restore.effects import reproduce_variable
from nbckpt.timeline.references import hint

if TYPE_CHECKING:
    from nbckpt.session.session import Session


class Restored(NamedTuple):
    """What came of it.

    Attributes
    ----------
    source
        The checkpoint that the value is of.
    names
        The variable, and those that shared objects with it and came back with it.
    checkpoint
        What is there now; None where the notebook stands nowhere yet.
    why_copy
        Why it is a copy that shares nothing with other variables, as it did then; else empty.
    """

    source: Checkpoint
    names: tuple[str, ...]
    checkpoint: Checkpoint | None
    why_copy: str = ""


def restore_variable(session: Session, name: str, ref: str) -> Restored:
    """Bring one variable back as it was at `ref`; what is there now is checkpointed first.

    Parameters
    ----------
    name
        Variables that shared objects with it at `ref`, and hold what they held, share them with it
        again. Where one holds something else by now, it comes back as a copy.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names none.
    VariableNotFoundError
        If the checkpoint does not hold it.
    UntrustedError
        If the user neither made nor trusts it.
    UsageError
        If `name` is no text, or it is of a class or function that is another by now: nothing was
        changed.
    """
    require_text(name, "the name of a variable")
    prepare_move(session)
    target = session.get(ref)
    require_trusted(target)
    manifest = session.timeline.manifest(target.id)
    known = user_names(manifest)
    if name not in known:
        refused = next((str(r) for r in target.refused if r.variable == name), "")
        if refused:
            message = f"{name!r} was not kept at {target.name!r}: {refused}"
        else:
            close = hint(name, known)
            message = f"{target.name!r} holds no variable {name!r}; {close}"
        raise VariableNotFoundError(message)
    _require_same_needs(session, name, target)
    here = session.timeline.checkpoints.get(session.position.id or "")
    keep_unsaved(session, "before-restore")
    return _restored(session, name, target, here)


@whole
def _restored(session: Session, name: str, target: Checkpoint, here: Checkpoint | None) -> Restored:
    before = {n: session.namespace[n] for n in session.workspace.tracker.user_names()}
    problems = reproduce_variable(session, target, name)
    if problems:
        _take_copy(session, name, target)
    live = session.namespace
    mates = sorted(n for n, value in before.items() if n in live and live[n] is not value)
    names = tuple(dict.fromkeys((name, *mates)))
    session.workspace.ran(bound_by_hand(names))
    made = None
    if here is not None:
        position = session.position
        position.before, position.before_branch = position.id, position.branch
        lines = [f"{n} = nbckpt.get({target.id[:8]!r}).values[{n!r}]" for n in names]
        made = keep_given(session, here.name, lines, names, "update")
        session.emit("moved")
    session.moved = True
    breathe()
    return Restored(target, names, made, problems[0] if problems else "")


def _require_same_needs(session: Session, name: str, target: Checkpoint) -> None:
    """Refuse a value whose class or function is another one by now: it would be of the old one."""
    manifest = session.timeline.manifest(target.id)
    there = (n for n in (name, *manifest[name].group) if n in manifest)
    needs = {need for n in there for need in manifest[n].needs if need in manifest} - {name}
    if not needs:
        return
    live = session.workspace.capturer.capture(only=needs).manifest
    kept = Values(session.store, manifest)
    others = sorted(
        n
        for n in needs
        if n not in live
        or (
            live[n].value != manifest[n].value
            and not holds(session.namespace, live[n], manifest[n], kept)
        )
    )
    if others:
        message = (
            f"{name!r} cannot be brought back alone: {others[0]!r}, which it is made of, is another"
            f" one by now; nothing was changed. `%rewind {target.id[:8]}` brings back all that was"
            " there"
        )
        raise UsageError(message)


def _take_copy(session: Session, name: str, target: Checkpoint) -> None:
    """Bind a copy of its own, of the notebook's classes and functions as they are now."""
    variable = session.timeline.manifest(target.id)[name]
    loading = Loading(session.namespace, session.namespace.__getitem__)
    parts = session.store.get_blob(variable.blob)
    session.namespace[name] = decode(parts, loading, trusted=variable.trusted)[name]
