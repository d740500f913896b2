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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbckpt.errors import TRUST_IT, line_of
from nbckpt.fingerprint import code as analysis
from nbckpt.fingerprint import random_generators
from nbckpt.fingerprint.values.destructors import let_go
from nbckpt.model import Checkpoint
from nbckpt.runtime.interrupts import held
from nbckpt.session.history.recorded_cells import parsed, recorded
from nbckpt.session.workspace.unkept import Maker, refused_by
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.remake import outside_effects
from nbckpt.steps.remake.maker_runs import (
    LentValues,
    MisfitError,
    NamespaceBefore,
    names_touched,
    quiet_runner,
    run_maker,
)
from nbckpt.steps.remake.makers import (
    lacking,
    lost_results,
    makers_of_bound,
    sharing_results,
)
from nbckpt.steps.remake.needed_variables import needed
from nbckpt.steps.remake.remade_values import (
    astray_results,
    come_out_alike,
    companions_of,
    equal_copies,
    fitting_values,
    holding_copies,
    of_other_classes,
    put_aside,
)

if TYPE_CHECKING:
    from nbckpt.session.session import Session


def before(session: Session, tree: ast.Module) -> bool:
    """Make again what code that is about to run needs; whether any cell ran for that."""
    if session.state(StepState).is_remaking:
        return False
    ran = make(session, needed(session, tree))
    session.workspace.unkept.forget(analysis.names_of_tree(tree, session.namespace).binds)
    return ran


def make(session: Session, names: Iterable[str]) -> bool:
    """Run the cells that make `names`; whether any ran. What could not be made is told."""
    workspace = session.workspace
    wanted = set(names)
    steps = session.state(StepState)
    if not wanted or steps.runner is None:
        return False
    lost = lost_results(session)
    wanted -= _changed_with_variables(session, wanted, lost)
    if not wanted:
        return False
    torn = set[str]()
    if workspace.torn_graphs:
        torn = workspace.torn_graphs.among(workspace.tracker.user_names())
    makers, wanted = _closed(session, wanted, torn)
    if not makers:
        return False
    if problem := _refusal(session, makers):
        told = ", ".join(map(repr, sorted(wanted)))
        workspace.unkept.told.append(f"{told} could not be kept, and {problem}")
        return False
    remade = _Remade(session, wanted, torn, lost)
    with held():
        workspace.capturer.capture()
        before = NamespaceBefore(
            dict(session.namespace),
            workspace.tracker.settled(),
            workspace.observer.standing(),
            random_generators.states(),
        )
        lent, values = LentValues(), dict[tuple[str, str], object]()
        steps.is_remaking, steps.wanted = True, frozenset(wanted)
        try:
            for maker in makers:
                remade.ran.append(maker)
                if error := run_maker(session, maker, before.manifest, values, lent):
                    remade.error = error
                    break
        finally:
            steps.is_remaking, steps.wanted = False, frozenset()
            for undo in reversed(lent.undo):
                undo()
            workspace.observer.go_to(before.standing)
            random_generators.put_states(before.states)
            remade.take(before, lent, values)
    remade.tell()
    return True


@dataclass
class _Remade:
    """Result of running cells again: the values that were made, and those that are taken.

    Attributes
    ----------
    wanted
        The names that were asked for.
    torn
        Those of variables whose graphs were torn.
    lost
        Those of results, each with the cell that makes it.
    ran
        The cells that ran, or began to.
    error
        The error that the last one ended with.
    made
        The names that were made and are taken.
    astray
        Those that are not, because what they were computed from is not taken.
    copied
        Those that hold a copy of what a variable holds, with that variable.
    parted
        Those that would, of a variable that has changed since: they are not taken.
    """

    session: Session
    wanted: set[str]
    torn: set[str]
    lost: Mapping[str, Maker]
    ran: list[Maker] = field(default_factory=list)
    error: BaseException | None = None
    made: set[str] = field(default_factory=set)
    astray: set[str] = field(default_factory=set)
    copied: dict[str, str] = field(default_factory=dict)
    parted: dict[str, str] = field(default_factory=dict)

    def take(
        self,
        before: NamespaceBefore,
        lent: LentValues,
        values: Mapping[tuple[str, str], object],
    ) -> None:
        """Leave the namespace as it was, but for what was made and what fits together with it."""
        session, after = self.session, dict(self.session.namespace)
        made, companions = set[str](), set[str]()
        if not self.error:
            made = {n for n in self.wanted - self.lost.keys() if n in after}
            companions = companions_of(session, before, self.ran)
            companions |= equal_copies(session, before, after, lent)
            companions = come_out_alike(session, companions, before, after)
        self.astray = astray_results(made & self.torn, companions, before, after)
        self.made = made = made - self.astray
        fitting = fitting_values(companions - self.astray, before, after, made)
        self.copied = holding_copies(made - self.torn, fitting | made, before, after)
        self.parted = {n: o for n, o in self.copied.items() if self._has_changed(o, before)}
        self.parted |= of_other_classes(made, fitting | made, before, after)
        self.copied = {n: o for n, o in self.copied.items() if n not in self.parted}
        self.made = made = made - self.parted.keys()
        _put_back(session, before, after, made, fitting)
        _note_made(session, made)
        if not self.error:
            _bind_results(session, values)
        _let_go_of_rest(before, after, made | fitting)

    def _has_changed(self, name: str, before: NamespaceBefore) -> bool:
        """True if what a variable holds is not as the cells that ran have left it."""
        makers = {maker.checkpoint.id for maker in self.ran}
        for checkpoint in self._line():
            if checkpoint.id in makers:
                break
            if name in checkpoint.bound and name not in checkpoint.in_place:
                return False  # it holds another by now, and what it held is nobody else's
        now = before.manifest.get(name)
        left = (self.session.timeline.manifest(m.checkpoint.id).get(name) for m in self.ran)
        return now is None or all(then is None or then.value != now.value for then in left)

    def _line(self) -> list[Checkpoint]:
        at = self.session.position.id
        return [] if at is None else self.session.timeline.ancestry(at)

    def tell(self) -> None:
        """Tell the user what was made again, what is a copy, and what failed."""
        told = self.session.workspace.unkept.told
        for name, other in sorted(self.parted.items()):
            told.append(
                f"{name!r} was not kept, and shared what {other!r} holds, which has changed since: "
                "run the cells again that make both"
            )
        for name, other in sorted(self.copied.items()):
            told.append(
                f"{name!r} could not be kept, and was made again with a copy of what {other!r} "
                "holds: run the cells again that make both to have them share it"
            )
        for name in sorted(self.astray):
            told.append(
                f"the graph of {name!r} could not be kept: run the cells again that make it, and "
                "what it was computed from"
            )
        made = self.made | (set() if self.error else self.lost.keys() & self.wanted)
        cells = ", ".join(dict.fromkeys(repr(m.name) for m in self.ran))
        left_out = {n for m in self.ran for n in m.checkpoint.omitted} & made - self.torn
        for those, what in (
            (made - self.torn - left_out, "which could not be kept"),
            (left_out, "which was left out"),
            (made & self.torn, "whose graph could not be kept"),
        ):
            if those:
                names = ", ".join(map(repr, sorted(those)))
                told.append(f"{names}, {what}, made again by {cells}")
        if isinstance(self.error, MisfitError):
            names = ", ".join(map(repr, sorted(self.wanted)))
            told.append(
                f"{names} was not kept, and {self.ran[-1].name!r} would make another: {self.error};"
                " run the cells again from there"
            )
        elif self.error is not None:
            names = ", ".join(map(repr, sorted(self.wanted)))
            told.append(
                f"{names} could not be kept, and {self.ran[-1].name!r}, which makes it, "
                f"failed: {line_of(self.error)}; run that cell first"
            )


def _changed_with_variables(
    session: Session, wanted: set[str], lost: Mapping[str, Maker]
) -> set[str]:
    """Results that held what a variable held, where that has changed since: they changed, too.

    Their cells would make them as they were before that.
    """
    workspace = session.workspace
    found = wanted & lost.keys() & sharing_results(session)
    if not found:
        return set()
    workspace.capturer.capture()
    live, changed = workspace.tracker.settled(), set()
    for name in found:
        maker = lost[name]
        then = session.timeline.manifest(maker.checkpoint.id)
        read = names_touched(session, maker) & then.keys()
        if any(n not in live or live[n].value != then[n].value for n in read):
            changed.add(name)
            workspace.unkept.told.append(
                f"the result {name!r} changed with variables that it shared objects with: "
                f"run {maker.name!r} and what changes them, or bind it"
            )
    return changed


def _closed(session: Session, wanted: set[str], torn: set[str]) -> tuple[list[Maker], set[str]]:
    """All cells that have to run for `wanted`, oldest first, and all that they make of it.

    Those of `torn` are there, and are made again all the same where one of the cells reads them.
    """
    unkept, binders = session.workspace.unkept, makers_of_bound(session, torn)
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
            read = names_touched(session, maker, absent)
            waiting |= (read & absent.keys()) - names
    if binders.keys().isdisjoint(names):
        return sorted(makers.values(), key=lambda m: m.order), names
    assert session.position.id is not None
    line = [c.id for c in session.timeline.ancestry(session.position.id)]
    place = {which: -far for far, which in enumerate(line)}
    return sorted(makers.values(), key=lambda m: (place[m.checkpoint.id], m.order)), names


def _refusal(session: Session, makers: Iterable[Maker]) -> str:
    """Why cells are not run without being asked for; empty if they may be."""
    for maker in makers:
        cell = repr(maker.name)
        parent = session.timeline.checkpoints.get(maker.checkpoint.parent or "")
        if not maker.checkpoint.trusted or (parent is not None and not parent.trusted):
            return f"{cell}, which makes it, may be another user's code: {TRUST_IT}"
        if maker.cell.starred:
            return f"a secret was taken out of {cell}, which makes it: run that cell first"
        if maker.was_asked_for:
            continue
        tree = parsed(maker.cell.source)
        effect = outside_effects.effect_of(tree, session.namespace)
        if not effect:
            continue
        question = (
            f"{cell} makes what could not be kept, and may act outside of the notebook ({effect})"
        )
        confirms = session.state(StepState).confirms
        answer = confirms(f"{question}. Run it again?") if confirms else None
        if answer is None:
            return f"{question}: run that cell first"
        if not answer:
            return f"{cell}, which makes it, was not to run again"
    return ""


def _put_back(
    session: Session,
    before: NamespaceBefore,
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
    session.workspace.tracker.touched({n for n in differing | taken.keys() if n in namespace})
    session.workspace.unkept.forget(made)


def _let_go_of_rest(before: NamespaceBefore, after: dict[str, object], taken: set[str]) -> None:
    """Let go of what the cells made besides, and of what was replaced by what is the same.

    What the one did at its end is in what was kept, and the other goes on.
    """
    left = {f"made {name}": after.pop(name) for name in put_aside(taken, before, after)}
    replaced = {f"was {name}": before.bindings.pop(name, None) for name in taken}
    let_go(left | replaced)


def _note_made(session: Session, made: set[str]) -> None:
    """Take note that what was made is what the checkpoints since its cell could not keep."""
    if session.position.id is None:
        return
    line = [c for c in session.timeline.ancestry(session.position.id) if c.state == "done"]
    for name in made:
        for checkpoint in line:
            if name not in refused_by(checkpoint):
                break
            session.workspace.live_objects.made_again(checkpoint, name)
            if name in _bound_by(checkpoint):
                break


def _bound_by(checkpoint: Checkpoint) -> set[str]:
    """Names that a checkpoint's own cell, or one that was joined to it, binds."""
    trees = (parsed(piece.cell.source) for piece in recorded([checkpoint]))
    return {name for tree in trees for name in analysis.names_of_tree(tree).binds}


def _bind_results(session: Session, values: Mapping[tuple[str, str], object]) -> None:
    """Have results that were lost be those of the cells that ran again."""
    runner = quiet_runner(session)
    for name, maker in lost_results(session).items():
        made_by = maker.checkpoint.id
        if (made_by, name) in values:
            session.namespace[name] = values[made_by, name]
        elif (made_by, "") in values:
            runner.put_result(name, values[made_by, ""])
