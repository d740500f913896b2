"""The line that a rerun makes: which branch it is on, and where the namespace stands on it.

Nothing is moved as long as all is as it was on the line that is followed. From the first
difference on, what is made and what is restored beside it goes on a line of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace

from nbckpt.capture.decode import Values
from nbckpt.capture.same_values import holds
from nbckpt.capture.selection import Selection
from nbckpt.digests import Json
from nbckpt.errors import StoreError
from nbckpt.model import Cell, Checkpoint, Manifest
from nbckpt.runtime.interrupts import wait_for, whole
from nbckpt.session.history.recorded_cells import Recorded
from nbckpt.session.moves import branching
from nbckpt.session.session import Session
from nbckpt.steps.rerun.plan import Plan, made_between
from nbckpt.steps.rerun.reachability import is_unreached
from nbckpt.steps.restore import cherry_pick
from nbckpt.steps.restore.effects import of_variables, reproduce
from nbckpt.timeline.records import event_record


@dataclass(eq=False)
class Line:
    """The line of one rerun.

    Attributes
    ----------
    is_new
        Whether a branch was made for it.
    is_begun
        Whether something differs from the line that is followed.
    """

    session: Session
    plan: Plan
    is_new: bool = False
    is_begun: bool = False

    @whole
    def begin(self) -> None:
        """Be on a branch that nothing else is ahead on, from now on."""
        if self.is_begun:
            return
        session, head = self.session, self.session.position.head
        if head is not None and head.id != session.position.id:
            branching.branch_off(session)
            self.is_new = True
        self.is_begun = True
        self.note("rerun")

    @whole
    def note(self, kind: str, **members: object) -> None:
        """Have the history know of this rerun, so that another one can go on."""
        session = self.session
        members |= {"checkpoint": session.position.id, "branch": session.position.branch}
        members |= {"origin": self.plan.origin, "line": self.plan.line}
        written = session.writes.append([event_record(kind, session.id, members)])
        # The next rerun looks for it in the store; what the disk refuses it takes up later.
        with suppress(StoreError):
            if wait_for(written, session.settings.patience_s):
                written.result()

    @whole
    def stand(
        self, checkpoint: Checkpoint, selection: Selection, joined: tuple[Cell, ...] = ()
    ) -> Checkpoint:
        """Take note of a restored checkpoint; the one that stands for it on this line.

        Parameters
        ----------
        joined
            Cells that were restored with it.
        """
        if self.is_there_already(checkpoint):
            return checkpoint
        return self.keep_again(checkpoint, selection, joined)

    @whole
    def is_there_already(self, checkpoint: Checkpoint) -> bool:
        """True if the namespace is that of a checkpoint of the line; if so, stand on it."""
        if not self._is_as_kept(checkpoint):
            return False
        self.session.pending_cells.forget()
        self.session.position.stand_on(checkpoint)
        return True

    @whole
    def bring_back(self, checkpoint: Checkpoint) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Bring back what changed before a checkpoint by something else than recorded code.

        Only of variables that stood before as they stood then: of others the change is older than
        what they hold now. Gives what came back, and why something did not.
        """
        timeline = self.session.timeline
        if not (names := made_between(checkpoint)):
            return (), ()
        live, then = self._live(), timeline.manifest(checkpoint.id)
        before = self._manifest(checkpoint.parent)
        names = {n for n in names if _value(before, n) != _value(then, n)}
        names = self._same(names, live, before)
        names -= self._same(names, live, then)
        if not names:
            return (), ()
        made = _made_with(names & then.keys(), live) - names
        if changed := made - self._same(made, live, then):
            name = min(changed)
            needed = min({*live[name].needs} & (names | made))
            return (), (f"{name!r} needs {needed!r} as it is now",)
        problems = reproduce(self.session, of_variables(checkpoint, names | made))
        return ((), problems) if problems else (tuple(sorted(names)), ())

    def _same(self, names: Set[str], live: Manifest, kept: Manifest) -> set[str]:
        """Of some variables, those that hold now what was kept.

        The same class, model or set is often written in other bytes, in a new process above all.
        """
        values = Values(self.session.store, kept)
        same = {n for n in names if _value(live, n) == _value(kept, n)}
        return same | {
            n
            for n in names - same
            if holds(self.session.namespace, live.get(n), kept.get(n), values)
        }

    def _live(self) -> Manifest:
        return self.session.checkpoints.capture(Selection()).manifest

    def _is_as_kept(self, checkpoint: Checkpoint) -> bool:
        is_ancestor = self.session.timeline.is_ancestor
        ids = (self.plan.start.id, checkpoint.id)
        if self.is_begun or not all(is_ancestor(i, self.plan.line) for i in ids):
            return False  # what is made goes on a line of its own, from there on
        return cherry_pick.is_as_kept(self.session, checkpoint, self._live())

    @whole
    def keep_again(
        self, checkpoint: Checkpoint, selection: Selection, joined: tuple[Cell, ...] = ()
    ) -> Checkpoint:
        """A checkpoint of the same name on this line; its values are in the store already."""
        self.begin()
        return cherry_pick.keep_again(self.session, checkpoint, selection, joined)

    @whole
    def restores_unreached(self, group: Sequence[Recorded]) -> bool:
        """Restore cells that no key tells of, unless a change can have reached them."""
        checkpoint = group[-1].checkpoint
        before, then = self._manifest(group[0].since), self._manifest(checkpoint.id)
        if not is_unreached(self.session, group, before, self._live()):
            return False
        if self._standing(group[0].since) != self._standing(checkpoint.id):
            return False  # what they set of the process is not known cell by cell
        names = _changed(before, then)
        given = replace(
            checkpoint,
            bound=tuple(sorted(names)),
            in_place=tuple(sorted(names & set(before))),
            passive={},
            key=None,
        )
        return not reproduce(self.session, given)

    def _standing(self, checkpoint_id: str | None) -> Mapping[str, Json]:
        """The process state of a checkpoint."""
        checkpoint = self.session.timeline.checkpoints.get(checkpoint_id or "")
        return {} if checkpoint is None else checkpoint.standing

    def _manifest(self, checkpoint_id: str | None) -> Manifest:
        timeline = self.session.timeline
        known = checkpoint_id is not None and checkpoint_id in timeline.checkpoints
        return timeline.manifest(checkpoint_id) if known and checkpoint_id else {}


def _changed(before: Manifest, then: Manifest) -> set[str]:
    """Variables that have other values, or share objects with others of those that do not."""
    names = {n for n in {*before, *then} if _value(before, n) != _value(then, n)}
    same = set(before) & set(then) - names
    return names | {n for n in same if same & {*before[n].group} != same & {*then[n].group}}


def _made_with(definitions: Set[str], live: Manifest) -> set[str]:
    """Live variables that refer to functions and classes, or to what does so."""
    found, more = set(definitions), set(definitions)
    while more:
        more = {n for n, v in live.items() if n not in found and not more.isdisjoint(v.needs)}
        found |= more
    return found - definitions


def _value(manifest: Manifest, name: str) -> str | None:
    return manifest[name].value if name in manifest else None
