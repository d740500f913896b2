"""Runs of cells that make again what could not be kept, on the variables as they were then."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.capture import restore
from nbckpt.capture.selection import Selection
from nbckpt.errors import NotebookError
from nbckpt.fingerprint import code as analysis
from nbckpt.fingerprint import keys, random_generators
from nbckpt.fingerprint.keys import gradients
from nbckpt.fingerprint.user_names import RESULT
from nbckpt.llm import scope
from nbckpt.model import Manifest
from nbckpt.session.history.recorded_cells import Recorded, parsed, recorded
from nbckpt.session.workspace.unkept import Maker
from nbckpt.steps.block_source import body_of
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.remake.makers import lacking

if TYPE_CHECKING:
    from nbckpt.digests import Digest, Json
    from nbckpt.model import Key
    from nbckpt.session.session import Session


class NamespaceBefore(NamedTuple):
    """A namespace before cells ran in it that are to leave it as it was."""

    bindings: dict[str, object]
    manifest: Manifest
    standing: Mapping[str, Json]
    states: dict[str, object]


class MisfitError(NotebookError):
    """A cell would not make what it made: what it reads is not what it was."""


@dataclasses.dataclass
class LentValues:
    """State that cells which run again find as it was for them.

    Attributes
    ----------
    digests
        Of the values of the names that they were lent or have bound, by the names.
    undo
        What is to be done afterwards, last first.
    """

    digests: dict[str, Digest] = dataclasses.field(default_factory=dict)
    undo: list[Callable[[], None]] = dataclasses.field(default_factory=list)


def names_touched(session: Session, maker: Maker, absent: Iterable[str] = ()) -> set[str]:
    """The names that a cell reads or changes, through functions, too."""
    names = analysis.names_of_tree(parsed(maker.cell.source))
    names = dataclasses.replace(names, everything=False, reason="")
    then = session.timeline.manifest(maker.checkpoint.parent) if maker.checkpoint.parent else {}
    found = keys.touched(
        names, {**dict.fromkeys(then), **session.namespace, **dict.fromkeys(absent)}
    )
    key = maker.checkpoint.key
    read = set(key.inputs) if key is not None and not maker.is_joined else set()
    return read | (set(names.loads) if found is None else set(found))


def run_maker(
    session: Session,
    maker: Maker,
    live: Manifest,
    values: dict[tuple[str, str], object],
    lent: LentValues,
) -> BaseException | None:
    """Run one cell as it ran then; the error that it ended with.

    `values` gets its result, by the checkpoint's id, and what the cell bound to IPython's names of
    results, by the names. `lent` are the values of the names that the cells before it were lent
    or have bound.
    """
    checkpoint, known = maker.checkpoint, session.timeline.checkpoints
    _lend(session, maker, live, lent)
    left = session.timeline.manifest(checkpoint.id)
    for name in {*checkpoint.bound, *checkpoint.in_place}:
        lent.digests.pop(name, None)
        if name in left and not maker.is_joined:
            lent.digests[name] = left[name].value
    if checkpoint.parent is not None and checkpoint.parent in known:
        session.workspace.observer.go_to(known[checkpoint.parent].standing)
    if misfit := _misfit(session, maker):
        return MisfitError(misfit)
    piece = Recorded(checkpoint, maker.cell, "joined", checkpoint.parent)
    runner = quiet_runner(session)
    work = runner.run(piece, None)
    with scope.entered(checkpoint.name, maker.cell.cell_id):
        try:
            work.send(None)
        except StopIteration as ended:
            error: BaseException | None = ended.value
            values[checkpoint.id, ""] = runner.result
            binds = analysis.names_of_tree(parsed(maker.cell.source)).binds
            for name in filter(RESULT.fullmatch, binds & session.namespace.keys()):
                values[checkpoint.id, name] = session.namespace[name]
            return error
    work.close()
    return NotebookError("it waits for what only a running loop can give")


def quiet_runner(session: Session) -> Any:
    """The shell's runner of recorded cells, which says nothing of them."""
    runner = session.state(StepState).runner
    assert runner is not None
    return runner(quiet=True)


def _fitting(session: Session, maker: Maker) -> set[str]:
    """What a cell reads that is now what it was for the cell, whatever it was in between."""
    key, now = maker.checkpoint.key, _key_now(session, maker)
    if key is None or now is None:
        return set()
    return {name for name, digest in key.inputs.items() if now.inputs.get(name) == digest}


def _key_now(session: Session, maker: Maker) -> Key | None:
    """The key that a cell has now; None of one that had none then."""
    if maker.checkpoint.key is None or maker.is_joined:
        return None
    return session.workspace.key_of(_code_of(maker), Selection(), (), lacking(session))


def _code_of(maker: Maker) -> ast.Module:
    """The code of a cell, or of the body of a block."""
    tree = parsed(maker.cell.source)
    is_block = recorded([maker.checkpoint])[-1].kind == "block"
    if is_block and isinstance(node := tree.body[0], ast.With):
        return body_of(node)
    return tree


def _misfit(session: Session, maker: Maker) -> str:
    """Why a cell would not make what it made; empty if nothing speaks against that."""
    checkpoint, workspace = maker.checkpoint, session.workspace
    key, now = checkpoint.key, _key_now(session, maker)
    if key is None or now is None:
        return ""
    again = now
    for name, then in {**key.inputs, **key.functions}.items():
        here = {**now.inputs, **now.functions}.get(name, then)
        if here == then:
            continue
        if again is now:
            again = _key_now(session, maker) or now
        if here != {**again.inputs, **again.functions}.get(name):
            continue  # nothing tells it from another one
        return f"{name!r}, which it reads, is not there as it was"
    return (
        workspace.moved_generator(checkpoint.random_in)
        or workspace.observer.changed_input(checkpoint.observed)
        or ""
    )


def _lend(session: Session, maker: Maker, live: Manifest, lent: LentValues) -> None:
    """Bind what a cell reads as it was when the cell ran.

    What is that already stays: what an earlier cell made may hold it.
    """
    checkpoint, namespace = maker.checkpoint, session.namespace
    if checkpoint.parent is None or checkpoint.parent not in session.timeline.checkpoints:
        return
    then = session.timeline.manifest(checkpoint.parent)
    read = names_touched(session, maker)
    fits = _fitting(session, maker) - {*checkpoint.in_place}
    other = {
        n for n in (read & then.keys()) - fits
        if n in checkpoint.in_place or n not in live or live[n].value != then[n].value
    }  # fmt: skip
    stays = {n for n in then if n in namespace and lent.digests.get(n) == then[n].value}
    other = {n for n in other if not stays.issuperset({n, *then[n].group})}
    if checkpoint.random_in:
        other |= random_generators.NAMES & then.keys()
    if not other:
        return
    # What refers to a class that is lent would be no instance of it.
    while more := {n for n in then.keys() - other if not other.isdisjoint(then[n].needs)}:
        other |= more
    wanted = {n: then[n] for name in other for n in then[name].group if n in then}
    same = {
        n: v for n, v in live.items()
        if n not in wanted and n in then and then[n].value == v.value
    }  # fmt: skip
    loaded = restore.load(
        wanted, store=session.store, namespace=namespace, live=same, manifest=then
    )
    own = {n: namespace[n] for n in wanted if n in namespace}
    loaded.bind(namespace, then)
    alike = set(gradients.alike_but_gradients(own, namespace))
    if alike := {n for n in alike if alike.issuperset(then[n].group)}:
        # What is computed from it goes back to it.
        lent.undo.append(gradients.lend_gradients((own[n], namespace[n]) for n in alike))
        namespace.update({n: own[n] for n in alike})
    lent.digests.update({n: then[n].value for n in wanted})
