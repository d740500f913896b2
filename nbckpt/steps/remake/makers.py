"""Cells that made the variables that a namespace lacks because they could not be kept.

Of cells that are restored where they stand in a notebook they are noted as these come; after a
return to an earlier moment they are looked up in its history, when they are first needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

from nbckpt.fingerprint import code
from nbckpt.fingerprint.user_names import RESULT
from nbckpt.fingerprint.values.lookups import reaches_all
from nbckpt.model import Checkpoint
from nbckpt.session.history.recorded_cells import Recorded, parsed, recorded
from nbckpt.session.workspace.unkept import Maker, changes, refused_by
from nbckpt.steps import cell_results
from nbckpt.steps.execution.step_state import StepState

if TYPE_CHECKING:
    from nbckpt.digests import Digest
    from nbckpt.session.session import Session


_WORD = re.compile(r"\w+")
_ON_GRAPHS = frozenset({"register_hook", "retain_grad"})
"""Methods of tensors that change the graph which they belong to, and no value."""


def lacking(session: Session) -> dict[str, Digest]:
    """Variables that are absent because they could not be kept → digest of what they held.

    Nothing stands for a digest that could not be told.
    """
    unkept = session.workspace.unkept
    if unkept.since is not None:
        since, unkept.since = unkept.since, None
        if since in session.timeline.checkpoints:
            _look_up(session, session.timeline.checkpoints[since])
    absent = {n: unkept.digests.get(n, "") for n in unkept.lacking(session.namespace)}
    return absent | dict.fromkeys(lost_results(session), "")


def lost_results(session: Session) -> dict[str, Maker]:
    """IPython's names of results of restored cells that were not kept → the cells."""
    return {name: cell_results.maker_of(lost) for name, lost in _lost(session).items()}


def sharing_results(session: Session) -> set[str]:
    """Those of them that held what a variable held, too."""
    return {name for name, lost in _lost(session).items() if cell_results.shares(lost)}


def _lost(session: Session) -> dict[str, cell_results.Lost]:
    if not session.workspace.unkept.has_lost_results:
        return {}
    named = {n: v for n, v in session.namespace.items() if RESULT.fullmatch(n)}
    out = session.namespace.get("_oh")
    if type(out) is dict:
        named |= {f"_{number}": v for number, v in out.items()}
    return {n: v for n, v in named.items() if isinstance(v, cell_results.Lost)}


def _look_up(session: Session, target: Checkpoint) -> None:
    """Find in the history of a checkpoint which cells made what it does not hold."""
    unkept = session.workspace.unkept
    found, digests = makers_before(session, target, refused_by(target) | unkept.failed)
    unkept.makers.update(found)
    for name, digest in digests.items():
        unkept.digests.setdefault(name, digest)


def makers_before(
    session: Session, target: Checkpoint, wanted: set[str]
) -> tuple[dict[str, tuple[Maker, ...]], dict[str, Digest]]:
    """The cells up to a checkpoint that made variables, by name, and the values' digests.

    A name is left out if its beginning is not found.
    """
    if not wanted:
        return {}, {}
    line = [c for c in session.timeline.ancestry(target.id) if c.state == "done"]
    makers: dict[str, list[Maker]] = {name: [] for name in wanted}
    digests: dict[str, Digest] = {}
    order = 0
    for i, checkpoint in enumerate(line):
        before = line[i + 1] if i + 1 < len(line) else None
        for piece in reversed(recorded([checkpoint])):
            order -= 1
            wanted = wanted - _noted(piece, wanted, makers, digests, before, order)
        if not wanted:
            break
    found = {n: tuple(reversed(m)) for n, m in makers.items() if m and n not in wanted}
    return found, digests


def _noted(
    piece: Recorded,
    wanted: set[str],
    makers: dict[str, list[Maker]],
    digests: dict[str, Digest],
    before: Checkpoint | None,
    order: int,
) -> set[str]:
    """Note a cell as a maker of what it made of `wanted`; what it made from its beginning."""
    checkpoint = piece.checkpoint
    is_joined = piece.kind == "joined"
    reads, binds = _reads_and_binds(piece)
    begun = set()
    for name in wanted & (reads | binds):
        if name in binds:
            lacked_before = before is not None and name in refused_by(before)
            goes_on = lacked_before or name in checkpoint.in_place
            if not (name in reads and goes_on):
                begun.add(name)
        elif not is_joined and checkpoint.key is not None and not changes(checkpoint, name):
            continue
        if name not in digests and not is_joined:
            digests[name] = checkpoint.lacking.get(name, "")
        makers[name].append(Maker(checkpoint, piece.cell, is_joined, order=order))
    return begun


def makers_of_bound(session: Session, names: Iterable[str]) -> dict[str, tuple[Maker, ...]]:
    """Of variables that are there, the cells that bound them and changed them since."""
    steps, wanted = session.state(StepState).latest, set(names)
    if session.position.id is None:
        return {}
    found: dict[str, list[Maker]] = {name: [] for name in wanted}
    order = 0
    for checkpoint in (
        c for c in session.timeline.ancestry(session.position.id) if c.state == "done"
    ):
        for piece in reversed(recorded([checkpoint])):
            order -= 1
            is_joined = piece.kind == "joined"
            reads, binds = _reads_and_binds(piece)
            changed = set() if is_joined else set(checkpoint.in_place)
            if not _ON_GRAPHS.isdisjoint(_WORD.findall(piece.cell.source)):
                changed |= reads
            maker = Maker(checkpoint, piece.cell, is_joined, checkpoint.name in steps, order)
            for name in wanted & (binds | changed):
                found[name].append(maker)
            wanted -= binds - (reads & changed)
        if not wanted:
            break
    return {name: tuple(reversed(by)) for name, by in found.items() if by and name not in wanted}


def _reads_and_binds(piece: Recorded) -> tuple[set[str], set[str]]:
    checkpoint = piece.checkpoint
    if piece.kind == "nothing":
        return set(), set()
    if piece.kind != "joined" and checkpoint.key is not None:
        return {*checkpoint.key.inputs, *checkpoint.lacking}, set(checkpoint.bound) | _omitted(
            checkpoint, piece
        )
    names = code.names_of_tree(parsed(piece.cell.source))
    return set(names.loads | names.reads), set(names.binds)


def _omitted(checkpoint: Checkpoint, piece: Recorded) -> set[str]:
    """Names that a cell bound and was not asked to keep."""
    if not checkpoint.omitted:
        return set()
    return set(checkpoint.omitted) & code.names_of_tree(parsed(piece.cell.source)).binds


def was_restored(session: Session, checkpoint: Checkpoint, binds: Iterable[str]) -> None:
    """Take note of what a cell, restored where it stands in the notebook, did not bring back."""
    unkept, namespace = session.workspace.unkept, session.namespace
    known = lacking(session)
    maker = unkept.noted(checkpoint)
    refused = refused_by(checkpoint)
    bound = {*checkpoint.bound, *binds}
    unkept.forget(bound - refused)
    for name in refused - namespace.keys():
        if name in bound:
            reads_itself = name in known and checkpoint.key and name in checkpoint.key.inputs
            before = unkept.makers.get(name, ()) if reads_itself else ()
            unkept.makers[name] = (*_others(before, maker), maker)
        elif name in known and changes(checkpoint, name):
            unkept.makers[name] = (*_others(unkept.makers[name], maker), maker)
        if name in checkpoint.lacking:
            unkept.digests[name] = checkpoint.lacking[name]
    for name in filter(RESULT.fullmatch, bound):  # `for _ in …`: no variable that is kept
        namespace[name] = cell_results.Lost(maker)
        unkept.has_lost_results = True


def _others(makers: Iterable[Maker], but: Maker) -> tuple[Maker, ...]:
    return tuple(m for m in makers if m.checkpoint.id != but.checkpoint.id)


def why_not(session: Session, checkpoint: Checkpoint) -> str | None:
    """Why a cell cannot be restored though its key is the same, if it changed what is not kept."""
    for name in sorted(refused_by(checkpoint) - set(checkpoint.bound)):
        live = session.namespace.get(name)
        if type(live) is ModuleType or name not in session.namespace:
            continue  # what a cell does to a module is observed
        if reaches_all(live, session.namespace):
            continue  # the shell and the namespace are the process's own
        if changes(checkpoint, name):
            return f"it may change {name!r}, which could not be kept"
    return None
