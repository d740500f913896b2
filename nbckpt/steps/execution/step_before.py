"""The namespace before the body of a step runs, for the comparison with what it is afterwards."""

from __future__ import annotations

import ast
from collections.abc import Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbckpt.capture.background_work import AtWork, at_work, tasks_met
from nbckpt.capture.change_tracking.change_tracker import changeable_definitions
from nbckpt.capture.change_tracking.identity import Places
from nbckpt.digests import Digest
from nbckpt.fingerprint import code, keys, random_generators
from nbckpt.fingerprint.keys import ABSENT
from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values.likeness import whole_digest
from nbckpt.model import Key, Manifest
from nbckpt.runtime.interrupts import allowed
from nbckpt.steps import cell_results

if TYPE_CHECKING:
    from nbckpt.session.session import Session


@dataclass(eq=False)
class StepBefore(Own):
    """A namespace, and the work beside it, as the body of a step found it.

    Attributes
    ----------
    manifest
        The variables as they were kept.
    mates
        Variables that share objects with those that the code names → digests of their values.
    ties
        Each of these → digest of it together with what it shares objects with.
    random_states
        Digest of each random generator's state, of those whose numbers were asked for.
    tasks
        Tasks that the code can meet, as reasons why its step cannot be restored.
    at_work
        Work that went on beside the cells.
    results
        The results of earlier cells.
    """

    manifest: Manifest = field(default_factory=dict)
    mates: dict[str, Digest] = field(default_factory=dict)
    ties: dict[str, Digest] = field(default_factory=dict)
    random_states: dict[str, Digest] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    at_work: list[AtWork] = field(default_factory=list)
    results: tuple[object, ...] = ()
    _places: Places | None = None
    _users: dict[str, object] = field(default_factory=dict)
    _untold: dict[int, object] = field(default_factory=dict)
    _perhaps: dict[str, bool] = field(default_factory=dict)  # name bound on a condition: was there
    _left: dict[str, Digest] = field(default_factory=dict)  # of these, as they were
    _left_out: dict[str, Digest] = field(default_factory=dict)  # of what is not kept

    @classmethod
    def taken(cls, session: Session, key: Key, names: code.Names) -> StepBefore:
        """The namespace of `session` now, for a step with this key and these names."""
        workspace = session.workspace
        capturer = workspace.capturer
        before = cls(capturer.manifest(), _places=workspace.tracker.places())
        with allowed():
            perhaps = keys.bound(names, session.namespace)
        perhaps -= names.certain | key.inputs.keys()
        before._perhaps = {n: n in session.namespace for n in perhaps}
        before.mates = workspace.digests_of(_mates(session, key, names))
        before.ties = {n: workspace.tie_of(n, key) for n in before.mates}
        before._users = before._users_of(session, names)
        known = {name.partition(".")[0] for name in key.functions}
        known |= {n for n, was_there in before._perhaps.items() if was_there}
        before._left_out = workspace.digests_of(known - before.manifest.keys())
        kept = before.manifest
        states = {n: kept[n].value for n in random_generators.NAMES if n in kept}
        before.random_states = workspace.states_asked_for(states)
        return before

    def note_work(
        self, tree: ast.Module, namespace: dict[str, object], at_work: list[AtWork]
    ) -> None:
        """Take note of what goes on beside the code, and of the results of earlier cells."""
        self.tasks = tasks_met(tree, namespace)
        self.at_work = at_work
        self.results = cell_results.of(namespace)

    def values(self) -> dict[str, str]:
        """Name of each variable → digest of its value."""
        return {name: variable.value for name, variable in self.manifest.items()}

    def work_since(self, namespace: dict[str, object], now: list[AtWork]) -> list[AtWork]:
        """Work that goes on beside the body at its end; `now`, if its cell has looked since."""
        is_of_cell = now is not self.at_work  # which looks when it has ended
        return now if is_of_cell else at_work(namespace)

    def changed_left_out(self, session: Session) -> set[str]:
        """What is not kept and not what it was, of definitions and of what is bound on a condition.

        A function has defaults and attributes, a class what its methods change.
        """
        now = session.workspace.digests_of(self._left_out)
        return {n for n, digest in self._left_out.items() if now.get(n, ABSENT) != digest}

    def is_bound(self, name: str, changed: Container[str]) -> bool:
        """True if the code bound a name that it binds: it may do so on a condition.

        Parameters
        ----------
        changed
            What `changed_left_out` says.
        """
        return not self._perhaps.get(name) or name in changed

    def is_same_object(self, name: str, session: Session) -> bool:
        """True if a variable holds the object that it held."""
        if self._places is None or name not in self.manifest:
            return False
        return self._places.may_be(name, session.namespace.get(name))

    def unchanged_users(self, session: Session) -> set[str]:
        """Users of definitions that the code makes, which are as they were but for those."""
        return {n for n, was in self._users.items() if self._is_as_before(n, was, session)}

    def unsure(self, session: Session, now: Manifest, differing: set[str]) -> dict[str, Digest]:
        """The names that the body binds on a condition and left as they were, with their values.

        It may not have bound them: then they stay what the cells before made them.
        """
        same = {n for n, was_there in self._perhaps.items() if was_there and n in now} - differing
        namespace = session.namespace
        gone = (n for n, was_there in self._perhaps.items() if not was_there and n not in namespace)
        self._left.update(session.workspace.digests_of(same - self._left.keys()))
        return {**{n: self._left[n] for n in sorted(same)}, **dict.fromkeys(sorted(gone), ABSENT)}

    def _users_of(self, session: Session, names: code.Names) -> dict[str, object]:
        """Digests of variables that are kept by the names of definitions that the code makes anew.

        They hold the ones that were there before, and are kept otherwise afterwards. What cannot be
        told, an open file say, is what it was, unless the code names what shares it.
        """
        namespace = session.namespace
        named = names.binds | names.loads
        users = session.workspace.capturer.needing(names.binds) - names.binds
        with allowed():
            return {
                n: whole_digest(namespace[n], namespace, self._same_in(n, named))
                for n in sorted(users)
                if n in namespace
            }

    def _same_in(self, name: str, named: Container[str]) -> dict[int, object] | None:
        """Where the objects of a variable go that count by their identity; None if none may."""
        group = self.manifest[name].group
        return None if any(n in named for n in group) else self._untold

    def _is_as_before(self, name: str, was: object, session: Session) -> bool:
        namespace = session.namespace
        if was is None or name not in namespace or not self.is_same_object(name, session):
            return False
        with allowed():
            return was == whole_digest(namespace[name], namespace, self._untold)


def _mates(session: Session, key: Key, names: code.Names) -> set[str]:
    """Variables that share objects with those that the code names, and are not among them.

    A class is shared with its instances, and with its other names.
    """
    capturer = session.workspace.capturer
    kept = capturer.manifest()
    named = {*key.inputs, *names.binds}
    shared = {mate for n in named if n in kept for mate in kept[n].group} - named
    # Definitions hold objects, too: as defaults, as attributes.
    reached = {*named, *key.functions}
    shared |= {mate for n in reached if n in kept for mate in kept[n].group} - reached
    needed = {need for n in named if n in kept for need in kept[n].needs}
    changeable = (
        set(changeable_definitions(needed, session.workspace.tracker.values()))
        - named
        - names.loads
    )
    return {n for n in shared | changeable if n in kept}
