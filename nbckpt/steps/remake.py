"""Cells that make again what could not be kept, when something that has to run needs it.

A restored cell leaves out what its checkpoint does not hold. What needs that later and cannot be
restored has the cells run first that made it, oldest first, and what these need themselves.

Notes
-----
The cells run late, when somebody needs what they make, and not where they would have been
restored: a cell below that is restored itself needs nothing. They run in the notebook's namespace,
for functions see no other, but as it was for them: what they read and is another value now is lent
to them from their checkpoint, with the process state and the random state of that moment.
Afterwards the namespace is what it was, and what was asked for is bound. What else they bound and
nobody has changed or holds since is taken from them too, so that what shares objects fits together.

Rejected: to run such a cell instead of restoring it whenever something recorded below reads what it
could not keep. It is simpler in a *Run All*, but a long cell then runs for a short one whose result
is kept, and after a resume nothing of it helps.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.capture import restore
from nbckpt.capture.observation.graph_hooks import follows_graphs
from nbckpt.capture.observation.reached import reached
from nbckpt.errors import TRUST_IT, NotebookError, line_of
from nbckpt.fingerprint import code as analysis
from nbckpt.fingerprint import keys, random_state
from nbckpt.fingerprint.keys import gradients
from nbckpt.fingerprint.names import RESULT, is_user_name
from nbckpt.fingerprint.referents import held_by, names_reached
from nbckpt.fingerprint.values.destructors import let_go
from nbckpt.llm import scope
from nbckpt.model import Checkpoint, Manifest
from nbckpt.runtime.interrupts import held
from nbckpt.session.unkept import Maker, refused_by
from nbckpt.steps import outside_effects
from nbckpt.steps.makers import (
    lacking,
    lost_results,
    makers_of_bound,
    sharing_results,
)
from nbckpt.steps.rerun.recorded_cells import Recorded, parsed, recorded

if TYPE_CHECKING:
    from nbckpt.digests import Digest, Json
    from nbckpt.session.session import Session

_WORD = re.compile(r"[^\W\d]\w*")


# -- what is needed -------------------------------------------------------------------------------


def needed(session: Session, tree: ast.Module) -> set[str]:
    """Variables that are lacking and would be read by code that is about to run."""
    absent, is_any_torn = lacking(session), bool(session.torn_graphs)
    if not absent and not is_any_torn:
        return set()
    names = analysis.names_of_tree(tree, session.namespace)
    code = dataclasses.replace(
        names, loads=names.reads, binds=frozenset(), everything=False, reason=""
    )
    found = keys.touched(code, {**session.namespace, **dict.fromkeys(absent)})
    words = frozenset(_WORD.findall(ast.unparse(tree)))
    reads_any = found is None
    if found is None:  # a function that it calls may read anything
        wanted, found = set(absent), frozenset(session.tracker.user_names())
    else:
        found |= words if names.everything else frozenset()
        wanted = set((found | _results_named(tree, absent)) & absent.keys())
    if is_any_torn:
        code_reached = reached(tree, session.namespace, everything=reads_any)
        if follows_graphs(code_reached, session.namespace):
            wanted |= session.torn_graphs.among(found)
    return wanted


def _results_named(tree: ast.Module, absent: Iterable[str]) -> set[str]:
    """The results that code gets at by ``Out[n]``; all if it is not a number that stands there."""
    nodes = analysis.nodes_of(tree)
    uses = sum(isinstance(n, ast.Name) and n.id in ("Out", "_oh") for n in nodes)
    entries = [
        n.slice.value
        for n in nodes
        if isinstance(n, ast.Subscript)
        and isinstance(n.value, ast.Name)
        and n.value.id in ("Out", "_oh")
        and isinstance(n.slice, ast.Constant)
    ]
    if uses > len(entries):
        return {n for n in absent if RESULT.fullmatch(n)}
    return {f"_{entry!s}" for entry in entries if isinstance(entry, int)}


# -- making it again ------------------------------------------------------------------------------


class _Before(NamedTuple):
    """A namespace before cells ran in it that are to leave it as it was."""

    bindings: dict[str, object]
    manifest: Manifest
    standing: Mapping[str, Json]
    states: dict[str, object]


@dataclasses.dataclass
class _Lent:
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


def before(session: Session, tree: ast.Module) -> bool:
    """Make again what code that is about to run needs; whether any cell ran for that."""
    if session.is_remaking:
        return False
    ran = make(session, needed(session, tree))
    session.unkept.forget(analysis.names_of_tree(tree, session.namespace).binds)
    return ran


def make(session: Session, names: Iterable[str]) -> bool:
    """Run the cells that make `names`; whether any ran. What could not be made is told."""
    wanted = set(names)
    if not wanted or session.runner is None:
        return False
    lost = lost_results(session)
    wanted -= _changed_with_variables(session, wanted, lost)
    if not wanted:
        return False
    torn = set[str]()
    if session.torn_graphs:
        torn = session.torn_graphs.among(session.tracker.user_names())
    makers, wanted = _closed(session, wanted, torn)
    if not makers:
        return False
    if problem := _refusal(session, makers):
        told = ", ".join(map(repr, sorted(wanted)))
        session.unkept.told.append(f"{told} could not be kept, and {problem}")
        return False
    error, ran, astray = None, [], set()
    values: dict[tuple[str, str], object] = {}
    lent = _Lent()
    with held():
        session.capturer.capture()
        before = _Before(
            dict(session.namespace),
            session.tracker.settled(),
            session.observer.standing(),
            random_state.states(),
        )
        session.is_remaking = True
        try:
            for maker in makers:
                ran.append(maker)
                if error := _run(session, maker, before.manifest, values, lent):
                    break
        finally:
            session.is_remaking = False
            for undo in reversed(lent.undo):
                undo()
            session.observer.go_to(before.standing)
            random_state.put_states(before.states)
            after = dict(session.namespace)
            made = set() if error else {n for n in wanted - lost.keys() if n in after}
            companions = set[str]()
            if not error:
                companions = _companions(session, before, ran) | _same_copies(
                    session, before, after, lent
                )
            astray = _astray(made & torn, companions, before, after)
            made -= astray
            companions -= astray
            fitting = _fitting(companions, before, after, made)
            copied = _holding_copies(made - torn, fitting | made, before, after)
            _put_back(session, before, after, made, fitting)
            _note_made(session, made)
            if not error:
                _bind_results(session, values)
            _let_go_of_rest(before, after, made | fitting)
    for name, other in sorted(copied.items()):
        session.unkept.told.append(
            f"{name!r} could not be kept, and was made again with a copy of what {other!r} holds: "
            "run the cells again that make both to have them share it"
        )
    for name in sorted(astray):
        session.unkept.told.append(
            f"the graph of {name!r} could not be kept: run the cells again that make it, and what "
            "it was computed from"
        )
    _tell(session, wanted, made | (lost.keys() & wanted if not error else set()), torn, ran, error)
    return True


def _changed_with_variables(
    session: Session, wanted: set[str], lost: Mapping[str, Maker]
) -> set[str]:
    """Results that held what a variable held, where that has changed since: they changed, too.

    Their cells would make them as they were before that.
    """
    found = wanted & lost.keys() & sharing_results(session)
    if not found:
        return set()
    session.capturer.capture()
    live, changed = session.tracker.settled(), set()
    for name in found:
        maker = lost[name]
        then = session.timeline.manifest(maker.checkpoint.id)
        read = _touched_by(session, maker) & then.keys()
        if any(n not in live or live[n].value != then[n].value for n in read):
            changed.add(name)
            session.unkept.told.append(
                f"the result {name!r} changed with variables that it shared objects with: "
                f"run {maker.name!r} and what changes them, or bind it"
            )
    return changed


def _closed(session: Session, wanted: set[str], torn: set[str]) -> tuple[list[Maker], set[str]]:
    """All cells that have to run for `wanted`, oldest first, and all that they make of it.

    Those of `torn` are there, and are made again all the same where one of the cells reads them.
    """
    unkept, binders = session.unkept, makers_of_bound(session, torn)
    lost = {name: (maker,) for name, maker in lost_results(session).items()}
    absent = lacking(session) | dict.fromkeys(binders, "")
    waiting, names, makers = wanted & absent.keys(), set(), {}
    while waiting:
        name = waiting.pop()
        names.add(name)
        for maker in lost.get(name) or binders.get(name) or unkept.makers[name]:
            which = (maker.checkpoint.id, maker.cell.source, maker.is_joined)
            if which in makers:
                continue
            makers[which] = maker
            read = _touched_by(session, maker, absent)
            waiting |= (read & absent.keys()) - names
    if binders.keys().isdisjoint(names):
        return sorted(makers.values(), key=lambda m: m.order), names
    assert session.position is not None
    line = [c.id for c in session.timeline.ancestry(session.position)]
    place = {which: -far for far, which in enumerate(line)}
    return sorted(makers.values(), key=lambda m: (place[m.checkpoint.id], m.order)), names


def _astray(
    made: set[str], companions: set[str], before: _Before, after: Mapping[str, object]
) -> set[str]:
    """Those of some results that were computed from what a cell made and that is not taken.

    Gradients would get to tensors that nobody has.
    """
    if not made:
        return set()
    fitting = _fitting(companions, before, after, made)
    left = _left(fitting | made, before, after)
    found = set()
    for name in made:
        leaves = gradients.leaves_of([name], after, gradients.ALL)
        if leaves is None or names_reached(leaves, filter(is_user_name, left), after):
            found.add(name)
    return found


def _holding_copies(
    made: set[str], taken: set[str], before: _Before, after: Mapping[str, object]
) -> dict[str, str]:
    """Results that hold something which their cells made for a variable that keeps its own.

    Each with that variable, which shared it when the cells ran.
    """
    left = filter(is_user_name, _left(taken, before, after) & before.bindings.keys())
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


def _left(taken: set[str], before: _Before, after: Mapping[str, object]) -> set[str]:
    """The names that cells bound, or were lent, and that get back what they held before."""
    return {n for n, value in after.items() if before.bindings.get(n) is not value} - taken


def _touched_by(session: Session, maker: Maker, absent: Iterable[str] = ()) -> set[str]:
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


def _refusal(session: Session, makers: Iterable[Maker]) -> str:
    """Why cells are not run without being asked for; empty if they may be."""
    for maker in makers:
        cell = repr(maker.name)
        if not maker.checkpoint.trusted:
            return f"{cell}, which makes it, may be another user's code: {TRUST_IT}"
        if maker.was_asked_for:
            continue
        tree = parsed(maker.cell.source)
        effect = outside_effects.effect_of(tree, session.namespace)
        if not effect:
            continue
        question = (
            f"{cell} makes what could not be kept, and may act outside of the notebook ({effect})"
        )
        answer = session.confirms(f"{question}. Run it again?") if session.confirms else None
        if answer is None:
            return f"{question}: run that cell first"
        if not answer:
            return f"{cell}, which makes it, was not to run again"
    return ""


def _run(
    session: Session,
    maker: Maker,
    live: Manifest,
    values: dict[tuple[str, str], object],
    lent: _Lent,
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
        session.observer.go_to(known[checkpoint.parent].standing)
    piece = Recorded(checkpoint, maker.cell, "joined", checkpoint.parent)
    assert session.runner is not None
    runner = session.runner(quiet=True)
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


def _lend(session: Session, maker: Maker, live: Manifest, lent: _Lent) -> None:
    """Bind what a cell reads as it was when the cell ran.

    What is that already stays: what an earlier cell made may hold it.
    """
    checkpoint, namespace = maker.checkpoint, session.namespace
    if checkpoint.parent is None or checkpoint.parent not in session.timeline.checkpoints:
        return
    then = session.timeline.manifest(checkpoint.parent)
    read = _touched_by(session, maker)
    other = {
        n for n in read & then.keys()
        if n in checkpoint.in_place or n not in live or live[n].value != then[n].value
    }  # fmt: skip
    stays = {n for n in then if n in namespace and lent.digests.get(n) == then[n].value}
    other = {n for n in other if not stays.issuperset({n, *then[n].group})}
    if checkpoint.random_in:
        other |= random_state.NAMES & then.keys()
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


def _put_back(
    session: Session,
    before: _Before,
    after: dict[str, object],
    made: set[str],
    fitting: set[str],
) -> None:
    """Leave the namespace as it was, but for what was made, and what fits together with it."""
    namespace = session.namespace
    taken = {n: after[n] for n in made | fitting if n in after}
    differing = {
        n for n in {*before.bindings, *after} if before.bindings.get(n) is not after.get(n)
    }
    for name in after.keys() - before.bindings.keys():
        del namespace[name]
    namespace.update({n: before.bindings[n] for n in differing if n in before.bindings})
    namespace.update(taken)
    session.tracker.touched({n for n in differing | taken.keys() if n in namespace})
    session.unkept.forget(made)


def _let_go_of_rest(before: _Before, after: dict[str, object], taken: set[str]) -> None:
    """Let go of what the cells made besides, and of what was replaced by what is the same.

    What the one did at its end is in what was kept, and the other goes on.
    """
    left = {f"made {name}": after.pop(name) for name in _left(taken, before, after)}
    replaced = {f"was {name}": before.bindings.pop(name, None) for name in taken}
    let_go(left | replaced)


def _note_made(session: Session, made: set[str]) -> None:
    """Take note that what was made is what the checkpoints since its cell could not keep."""
    if session.position is None:
        return
    line = [c for c in session.timeline.ancestry(session.position) if c.state == "done"]
    for name in made:
        for checkpoint in line:
            if name not in refused_by(checkpoint):
                break
            session.live_objects.made_again(checkpoint, name)
            if name in _bound_by(checkpoint):
                break


def _bound_by(checkpoint: Checkpoint) -> set[str]:
    """Names that a checkpoint's own cell, or one that was joined to it, binds."""
    trees = (parsed(piece.cell.source) for piece in recorded([checkpoint]))
    return {name for tree in trees for name in analysis.names_of_tree(tree).binds}


def _bind_results(session: Session, values: Mapping[tuple[str, str], object]) -> None:
    """Have results that were lost be those of the cells that ran again."""
    assert session.runner is not None
    runner = session.runner(quiet=True)
    for name, maker in lost_results(session).items():
        made_by = maker.checkpoint.id
        if (made_by, name) in values:
            session.namespace[name] = values[made_by, name]
        elif (made_by, "") in values:
            runner.put_result(name, values[made_by, ""])


def _companions(session: Session, before: _Before, ran: Iterable[Maker]) -> set[str]:
    """Other variables that the cells bound, that are as they left them, and nothing else holds."""
    is_as_left: dict[str, bool] = {}  # by the last of them that bound or changed it
    live = before.manifest
    for maker in ran:
        if maker.is_joined:
            continue
        then = session.timeline.manifest(maker.checkpoint.id)
        own = set(maker.checkpoint.bound)
        for name in own & then.keys() & live.keys() - random_state.NAMES:
            is_as_left[name] = live[name].value == then[name].value and own.issuperset(
                live[name].group
            )
    return {name for name, is_left in is_as_left.items() if is_left}


def _same_copies(
    session: Session, before: _Before, after: Mapping[str, object], lent: _Lent
) -> set[str]:
    """Names of values lent to the cells, equal to the live ones, which none but variables know.

    A value that was made may hold one, as a trainer holds its model.
    """
    live, bindings = before.manifest, before.bindings
    found = {
        name
        for name, digest in lent.digests.items()
        if name in live.keys() & after.keys() - random_state.NAMES
        and live[name].value == digest
        and after[name] is not bindings[name]
        and lent.digests.keys() >= {*live[name].group}
    }
    if not found:
        return found
    objects = [bindings[name] for name in found]
    unkept = {n for n in filter(is_user_name, bindings) if n not in live}
    if names_reached(objects, unkept, bindings) or session.observer.why_not_replaced(
        [(bindings[name], after[name]) for name in sorted(found)]
    ):
        return set()
    return found


def _fitting(
    companions: set[str], before: _Before, after: Mapping[str, object], made: set[str]
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


def _tell(
    session: Session,
    wanted: set[str],
    made: set[str],
    torn: set[str],
    ran: list[Maker],
    error: BaseException | None,
) -> None:
    cells = ", ".join(dict.fromkeys(repr(m.name) for m in ran))
    told = session.unkept.told
    for those, what in ((made - torn, "which"), (made & torn, "whose graph")):
        if those:
            names = ", ".join(map(repr, sorted(those)))
            told.append(f"{names}, {what} could not be kept, made again by {cells}")
    if error is not None:
        names = ", ".join(map(repr, sorted(wanted)))
        told.append(
            f"{names} could not be kept, and {ran[-1].name!r}, which makes it, "
            f"failed: {line_of(error)}; run that cell first"
        )
