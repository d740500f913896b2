"""Match of a step with an earlier checkpoint that may stand for it, and reasons against it."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING

from nbckpt.capture.background_work import awaits, tasks_met
from nbckpt.capture.observation import Ran
from nbckpt.errors import NOT_YOURS, TRUST_IT
from nbckpt.fingerprint import keys, random_generators
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.keys import ABSENT
from nbckpt.fingerprint.values.homes import is_user_file
from nbckpt.model import Checkpoint, Key
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.remake import makers
from nbckpt.steps.remake.needed_variables import read_by
from nbckpt.text.units import count_text

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.steps.execution.execution_state import Execution
    from nbckpt.steps.execution.step_state import Interrupted

_ON_DESCRIPTORS = (
    "close", "dup", "dup2", "eventfd", "fdopen", "ftruncate", "lseek", "memfd_create", "open",
    "openpty", "pipe", "pipe2", "pread", "pwrite", "read", "readv", "sendfile", "write", "writev",
)  # fmt: skip
"""Functions of `os` by which a cell makes, uses or ends what a mere number stands for."""


def key_before(interrupted: Interrupted, key: Key) -> Key:
    """The key of a step that raised, if nothing but its own doing differs now."""
    was = interrupted.key
    same = (was.code, was.functions, was.files, was.options) == (
        key.code, key.functions, key.files, key.options
    )  # fmt: skip
    own = all(
        key.inputs.get(n) in (was.inputs.get(n), interrupted.inputs.get(n))
        for n in {*was.inputs, *key.inputs}
    )
    return was if same and own else key


def deleted_names(tree: ast.Module) -> set[str]:
    """Names that the code deletes at its top level."""
    deletions = (node for node in nodes_of(tree) if isinstance(node, ast.Delete))
    return {t.id for node in deletions for t in node.targets if isinstance(t, ast.Name)}


def changes_outside(tree: ast.Module, namespace: Mapping[str, object]) -> tuple[str, ...]:
    """Places in the user's modules that the code changes, as text: ``helpers.CONFIG['k']``.

    They are in no variable, so a checkpoint cannot bring them back.
    """
    nodes = nodes_of(tree)
    calls = (n.func for n in nodes if isinstance(n, ast.Call))
    called = (function.value for function in calls if isinstance(function, ast.Attribute))
    places = [
        n
        for n in nodes
        if isinstance(n, ast.Attribute | ast.Subscript) and isinstance(n.ctx, ast.Store | ast.Del)
    ]
    held = [n for n in called if isinstance(n, ast.Attribute) and _is_value(n, namespace)]
    return tuple(ast.unparse(n) for n in [*places, *held] if _is_in_users_module(n, namespace))


def descriptors_used(tree: ast.Module, namespace: Mapping[str, object]) -> tuple[str, ...]:
    """Uses that the code makes of the process's descriptors by their numbers, as text.

    A number comes back, but the open descriptor that it stood for does not.
    """
    known = [found for name in _ON_DESCRIPTORS if (found := getattr(os, name, None))]
    found = (
        node.func
        for node in nodes_of(tree)
        if isinstance(node, ast.Call) and _function(node.func, namespace) in known
    )
    return tuple(f"an open descriptor by {ast.unparse(function)}()" for function in found)


def addresses_kept(tree: ast.Module, namespace: Mapping[str, object]) -> tuple[str, ...]:
    """Why code runs each time that keeps where an object lies: another lies there later."""
    kept = (
        node.value
        for node in nodes_of(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None
    )
    asks = any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "id"
        and "id" not in namespace
        for value in kept
        for node in ast.walk(value)
    )
    return ("it keeps the address of an object",) if asks else ()


def _function(node: ast.expr, namespace: Mapping[str, object]) -> object:
    if isinstance(node, ast.Name):
        found = namespace.get(node.id)
        return found if isinstance(found, FunctionType | BuiltinFunctionType) else None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        is_os = namespace.get(node.value.id) is os
        return getattr(os, node.attr, None) if is_os else None
    return None


def _is_value(node: ast.Attribute, namespace: Mapping[str, object]) -> bool:
    """True if ``helpers.X`` is a value, not a function, class or module."""
    module = namespace.get(node.value.id) if isinstance(node.value, ast.Name) else None
    value = getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
    return value is not None and not isinstance(value, ModuleType) and not callable(value)


def _is_in_users_module(node: ast.expr, namespace: Mapping[str, object]) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    module = namespace.get(node.id) if isinstance(node, ast.Name) else None
    return isinstance(module, ModuleType) and is_user_file(getattr(module, "__file__", None))


def why_not_restorable(step: Execution, checkpoint: Checkpoint) -> str | None:
    """Why a checkpoint of the step's name and key cannot stand for it; None if it can."""
    session = step.session
    if why := _why_never(step, checkpoint):
        return why
    if why := makers.why_not(session, checkpoint) or _draws_unreadable(step):
        return why
    if why := session.workspace.observer.difference(checkpoint.observed, _as_it_would_run(step)):
        return why
    if changed := changed_precondition(session, checkpoint):
        return f"it may leave {changed!r} as it is, and that has another value now"
    return session.workspace.moved_generator(checkpoint.random_in)


def _why_never(step: Execution, checkpoint: Checkpoint) -> str | None:
    """Why the step cannot be restored whatever the values are; None if nothing speaks against."""
    if checkpoint.outside:
        return f"it changes {checkpoint.outside[0]}, which is no variable of the notebook"
    if checkpoint.unrepeatable:
        return checkpoint.unrepeatable[0]
    if met := tasks_met(step.tree, step.session.namespace):
        return met[0]
    if name := _text_asked_for(step, checkpoint):
        return f"the text of {name!r} changed, and a cell asks for it"
    if checkpoint.failures:
        return f"{count_text(checkpoint.failures, 'item')} of its `map` failed"
    lost = {refusal.variable for refusal in checkpoint.refused}.intersection(checkpoint.bound)
    if lost and awaits(step.tree):  # it does not run again by itself when somebody needs it
        return f"it makes {min(lost)!r}, which could not be kept"
    if (beside := step.request.beside) is not None:
        lost |= {*checkpoint.omitted}.intersection(checkpoint.bound)
        read = read_by(beside, step.session.namespace, lost) if lost else frozenset()
        needed = lost if read is None else lost & (read | step.session.state(StepState).wanted)
        if needed:
            told = "which was not kept, and what follows in its cell reads that"
            return f"it makes {min(needed)!r}, {told}"
    return None


def _draws_unreadable(step: Execution) -> str | None:
    """Why a step that uses a generator whose state nothing tells cannot be restored."""
    namespace = step.session.namespace
    if random_generators.seeds_unreadable(step.tree, namespace):
        return "it seeds the random numbers of polars, which no checkpoint holds"
    is_seeded = random_generators.UNREADABLE in step.session.workspace.seeded
    if is_seeded and random_generators.draws_unreadable(step.tree, namespace):
        return "it may draw seeded random numbers of polars, which no checkpoint holds"
    return None


def _as_it_would_run(step: Execution) -> Ran:
    def values() -> dict[str, str]:
        captured = step.session.workspace.capturer.capture()
        return {n: v.value for n, v in captured.manifest.items()}

    return Ran(step.tree, step.key, step.session.namespace, values)


def _text_asked_for(step: Execution, checkpoint: Checkpoint) -> str:
    """A definition of the cell's, other in its text alone, whose text some cell asked for."""
    if step.cell.source == checkpoint.cell.source:
        return ""
    known = [c.key for c in step.session.timeline.checkpoints.values() if c.key is not None]
    asked = (name for key in known for name in key.functions if name.startswith(keys.TEXT))
    names = (name.removeprefix(keys.TEXT).partition(".")[0] for name in asked)
    return next((name for name in names if name in checkpoint.bound), "")


def changed_precondition(session: Session, checkpoint: Checkpoint) -> str:
    """A name that a step may have left as it was, and that is not so; empty if there is none."""
    now = session.workspace.digests_of(checkpoint.preconditions)
    return next((n for n, d in checkpoint.preconditions.items() if now.get(n, ABSENT) != d), "")


def why_not_restored(session: Session, name: str, key: Key) -> list[str]:
    """Differences from the newest checkpoint of this name: reasons not to restore it instead."""
    named = [c for c in session.timeline.named(name) if c.key is not None]
    if not named:
        return [f"no checkpoint {name!r} was made before"]
    if not any(c.trusted for c in named):
        return [f"what is kept {NOT_YOURS}: {TRUST_IT}"]
    newest = next(c for c in named if c.trusted)
    if newest.state != "done":
        return [f"the last run of {name!r} did not end well"]
    assert newest.key is not None
    return [*keys.difference(newest.key, key), *_sharing_changes(newest.key, key)]


def _sharing_changes(old: Key, new: Key) -> list[str]:
    then, now = ([group.partition(": ")[0] for group in key.shares] for key in (old, new))
    ended = [f"{group} do not share an object any more" for group in then if group not in now]
    begun = [f"{group} share an object now" for group in now if group not in then]
    pairs = zip(now, new.shares, strict=True)
    moved = [group for group, told in pairs if group in then and told not in old.shares]
    return [*ended, *begun, *(f"{group} share objects in other places now" for group in moved)]
