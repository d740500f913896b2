"""A live namespace: what code ran in it and may have changed, and digests of what is there."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING

from nbckpt.capture.capture import Capturer
from nbckpt.capture.change_tracking.change_tracker import ChangeTracker
from nbckpt.capture.limits import Limits
from nbckpt.capture.observation import Facet, Observer, early_facet, later_facets
from nbckpt.capture.selection import Selection, missing
from nbckpt.config.settings import Settings
from nbckpt.digests import Digest, Json
from nbckpt.errors import VariableNotFoundError
from nbckpt.fingerprint import random_generators
from nbckpt.fingerprint.user_names import Own, is_nbckpts_own
from nbckpt.fingerprint.values import Examined, ValueDigester
from nbckpt.fingerprint.values.plain import forget_looks
from nbckpt.model import Key
from nbckpt.runtime import time_limit
from nbckpt.runtime.interrupts import allowed
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.branch_position import BranchPosition
from nbckpt.session.pending_writes import PendingWrites
from nbckpt.session.workspace.audit import Audit
from nbckpt.session.workspace.live_objects import LiveObjects
from nbckpt.session.workspace.torn_graphs import TornGraphs
from nbckpt.session.workspace.unkept import Unkept
from nbckpt.storage.store import Store

if TYPE_CHECKING:
    from nbckpt.capture.observation.checkpoint_reads import CheckpointReads
    from nbckpt.fingerprint.code import Names
    from nbckpt.fingerprint.keys import Inputs, Reach
    from nbckpt.session.workspace.lent_variables import LentVariables

_TOLD = 16
"""Letters of a digest in a key."""


class Workspace(Own):
    """A live namespace, and what is known of it between checkpoints.

    Attributes
    ----------
    tracker
        Knows which variables may have changed.
    capturer
        Looks at the variables.
    running
        The code of the cell that runs, where a shell tells; else None.
    guards_blocks
        Whether a shell tells of each cell that ran.
    seeded
        Random generators that somebody put where they stand.
    observer
        What sees inputs and effects of cells that their text does not show.
    audit
        Compares what is kept with what is there.
    unkept
        What is absent because it could not be kept.
    live_objects
        What could not be kept, and is there.
    torn_graphs
        Tensors whose graphs lead nowhere.
    has_only_restored
        Whether no code of the notebook has run in this process: nothing but restores, imports from
        libraries and nbckpt's own verbs have made the variables.
    """

    def __init__(
        self,
        store: Store,
        namespace: dict[str, object],
        hidden: Container[str],
        position: BranchPosition,
        writes: PendingWrites,
        answer: Callable[[str, str], Json],
    ) -> None:
        self._namespace = namespace
        self.tracker = ChangeTracker(namespace, hidden)
        self.capturer = Capturer(store, self.tracker)
        self.audit = Audit(self.capturer, namespace, position, writes)
        self.capturer.audit = self.audit.after_look
        self.running: ast.Module | None = None
        self.guards_blocks = False
        self.seeded: set[str] = set()
        self._never_seeded: dict[str, Digest] = {}  # generator → its state while that was so
        self.live_objects = LiveObjects(self.capturer)
        self.torn_graphs = TornGraphs(namespace)
        touch, folder = self.tracker.touched, str(store.path)
        state = early_facet(namespace, touch)

        def later() -> tuple[Facet, ...]:
            return later_facets(namespace, touch, folder, state, self.checkpoint_reads)

        self._answer = answer
        self.observer = Observer((state,), later)
        self.unkept = Unkept()
        self.has_only_restored = self._has_only_modules()
        self._position = position

    @cached_property
    def checkpoint_reads(self) -> CheckpointReads:
        """What code of the notebook reads of checkpoints."""
        from nbckpt.capture.observation.checkpoint_reads import CheckpointReads

        return CheckpointReads(self._answer)

    def apply_settings(self, settings: Settings) -> None:
        """Keep to other settings from now on."""
        self.capturer.obey(Limits(settings.max_value_size, settings.max_store_size))
        self.audit.mode = settings.verify
        time_limit.set_limit(settings.capture_timeout_s)

    def _has_only_modules(self) -> bool:
        """True if no variable tells of code that has run before nbckpt was there."""
        values = map(self._namespace.get, self.tracker.user_names())
        return all(type(value) is ModuleType for value in values)  # to the first that is none

    def own_names(self) -> set[str]:
        """Names that hold nbckpt and what was imported from it; a move leaves them."""
        names = self.tracker.user_names()
        return {n for n in names if is_nbckpts_own(self._namespace[n])}

    def runs(self, tree: ast.Module | None) -> None:
        """Note that code is about to run in the namespace; None if it is not known which."""
        self._position.is_exact = False
        if tree is None:
            self.has_only_restored = False
        elif self.has_only_restored and tree.body:
            from nbckpt.session.workspace.setup_code import sets_up

            self.has_only_restored = sets_up(tree)

    def ran(self, tree: ast.Module | None) -> None:
        """Note that code ran in the namespace; None if it is not known which.

        A shell says so of each cell. Without one, every call here asks for a look at everything.
        """
        self.runs(tree)
        forget_looks()
        self.audit.ran()
        if tree is None:
            # In a shell it was no cell: what is quickly looked at is looked at all the same.
            self.tracker.touched(self.tracker.quick_to_look_at() if self.guards_blocks else None)
            return
        from nbckpt.fingerprint import code
        from nbckpt.fingerprint.values.sources import names_in

        with allowed():
            names = code.names_of_tree(tree, self._namespace)
        self.tracker.touched(self.reach_of(names))
        self.capturer.encoder.bindings.ran(tree)
        if random_generators.seeds(tree, self._namespace, names_in):
            self.seeded.update(random_generators.NAMES)
            if random_generators.seeds_unreadable(tree, self._namespace):
                self.seeded.add(random_generators.UNREADABLE)

    def reach(self, tree: ast.Module) -> frozenset[str] | None:
        """Names that code about to run can touch; None if it may touch any.

        Once it ran, `ran` no longer finds those that it touched through a function which it then
        redefined.
        """
        from nbckpt.fingerprint import code, keys

        names = code.names_of_tree(tree)
        return self._with_modules(lambda: keys.reach_of(names, self._namespace), is_over=False)

    def reach_of(self, names: Names, values: Collection[object] = ()) -> frozenset[str] | None:
        """Names that code can touch, itself or by modules; None: any.

        Parameters
        ----------
        names
            Those that the code has.
        values
            What it is given beside these.
        """
        from nbckpt.fingerprint import keys

        return self._with_modules(lambda: keys.reach_of(names, self._namespace, values))

    @cached_property
    def _lent_variables(self) -> LentVariables:
        """The variables that modules beside the notebook hold; loaded when code reaches one."""
        from nbckpt.session.workspace.lent_variables import LentVariables

        return LentVariables(self.tracker)

    def modules_ran(self) -> None:
        """Note that code of modules beside the notebook ran, by whatever name."""
        from nbckpt.fingerprint.keys import Reach

        self.tracker.touched(self._with_modules(lambda: Reach(frozenset(), is_into_modules=True)))

    def _with_modules(
        self, ask: Callable[[], Reach], *, is_over: bool = True
    ) -> frozenset[str] | None:
        """The names of a reach, and those that modules beside the notebook touch; None: any.

        Parameters
        ----------
        is_over
            Whether the code may have lent what it names; else what is lent is known already.
        """
        from nbckpt.fingerprint import keys

        try:
            with allowed():
                names, is_into_modules = ask()
                if names is None or not is_into_modules:
                    return names
                lent = keys.sharing(
                    self._lent_variables.look(names if is_over else ()), self._namespace
                )
                called = keys.touched(self._lent_variables.called, self._namespace)
        except user_code_errors():  # whatever a value's own code raises when it is looked at
            return None
        return None if lent is None or called is None else names | lent | called

    def key_of(
        self,
        tree: ast.Module,
        selection: Selection,
        deps: Sequence[str] = (),
        lacking: Mapping[str, Digest] | None = None,
        met: Callable[[Inputs], object] = lambda _: None,
    ) -> Key:
        """Key of a step with this code: everything that it depends on, here and now.

        Parameters
        ----------
        lacking
            Variables that could not be kept → digest of the value that they would hold.
        met
            Called with the inputs that were met on the way.
        """
        from nbckpt.fingerprint import keys

        with allowed():
            key = keys.key_of(
                tree,
                self._namespace,
                deps=deps,
                options=selection.options(),
                lacking=lacking,
                kept=self.tracker.present(),
                met=met,
            )
        groups = self.capturer.encoder.sharing(
            n for n in sorted(key.inputs) if n in self._namespace
        )
        return key._replace(shares=tuple(map(self._described, groups)))

    def _described(self, group: Sequence[str]) -> str:
        """Variables that share objects, and a digest that tells where in them the objects are."""
        return f"{', '.join(group)}: {self._examined_together(group).digest[:_TOLD]}"

    def _examined_together(self, names: Iterable[str]) -> Examined:
        """Some live variables as one value: which parts of them are one counts, too."""
        now = [self._namespace[n] for n in sorted(names)]
        with allowed():
            return ValueDigester(self._namespace).examine(tuple(now))

    def tie_of(self, name: str, key: Key | None) -> Digest:
        """Digest, as one value, of a variable and what it shares objects with of a key's inputs.

        Empty if that is nothing, or if nobody can tell.
        """
        kept = self.capturer.manifest()
        inputs = {*key.inputs, *key.functions} if key else set()
        group = kept[name].group if name in kept and name in self._namespace else ()
        together = {n for n in group if n in inputs and n in self._namespace}
        if not together:
            return ""
        examined = self._examined_together({name, *together})
        return "" if examined.unknown else examined.digest

    def digests_of(self, names: Iterable[str]) -> dict[str, Digest]:
        """Digests of live variables that are the same in every process."""
        if not (asked := sorted(names)):
            return {}
        now = dict(self._namespace)  # threads bind names meanwhile
        with allowed():
            return {n: ValueDigester(self._namespace).digest(now[n]) for n in asked if n in now}

    def random_states(self) -> dict[str, str]:
        """Digest of each random generator's state, of those whose numbers were asked for."""
        self.capturer.capture_random_states()
        kept = self.capturer.manifest()
        return self.states_asked_for(
            {n: kept[n].value for n in random_generators.NAMES if n in kept}
        )

    def moved_generator(self, states: Mapping[str, Digest]) -> str | None:
        """A clause that names a random generator which is not where it was; None if all are."""
        now = self.random_states() if states else {}
        moved = (name for name, state in states.items() if now.get(name, "") != state)
        name = next(moved, None)
        return name and f"it draws random numbers, and {name} is not where it was"

    def states_asked_for(self, digests: Mapping[str, Digest]) -> dict[str, Digest]:
        """Of digests by name, those of random generators that code may have seeded.

        Not one that stands where it stood before there was such code: a cell that only defines
        what seeds has seeded nothing yet.
        """
        present = random_generators.NAMES & digests.keys()
        for name in present - self.seeded - self._never_seeded.keys():
            self._never_seeded[name] = digests[name]
        asked_for = {n for n in present & self.seeded if digests[n] != self._never_seeded.get(n)}
        return {name: digests[name] for name in asked_for}

    def require_names(self, selection: Selection, known: Container[str] = ()) -> None:
        """Raise unless every variable that `selection` names exists or is in `known`."""
        present = self.tracker.present()
        for name in sorted(selection.vars or ()):
            if name not in present and name not in known:
                raise VariableNotFoundError(missing(name, present))
