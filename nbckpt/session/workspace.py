"""A live namespace and what is kept of it: what code ran there, a look, a draft, its record."""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nbckpt.capture.capture import Captured, Capturer
from nbckpt.capture.limits import Limits
from nbckpt.capture.observation import Observer, early_facet, later_facets
from nbckpt.capture.selection import Selection, missing
from nbckpt.config.settings import Settings
from nbckpt.config.sources import settings_from
from nbckpt.digests import Digest
from nbckpt.errors import StoreError, VariableNotFoundError
from nbckpt.fingerprint import random_state
from nbckpt.fingerprint.values import Examined, ValueDigester
from nbckpt.model import Cell, Checkpoint, Key, Record, State, Variable, checkpoint_record
from nbckpt.runtime import clock, telemetry, time_limit
from nbckpt.runtime.interrupts import allowed, wait_for, whole
from nbckpt.runtime.snapshot_dict import Difference
from nbckpt.session.audit import Audit
from nbckpt.session.branch_position import Standing, verb
from nbckpt.session.live_objects import LiveObjects
from nbckpt.session.torn_graphs import TornGraphs
from nbckpt.session.unkept import Unkept
from nbckpt.storage.store import Store
from nbckpt.timeline import events
from nbckpt.timeline.records import event_record
from nbckpt.timeline.references import require_name

if TYPE_CHECKING:
    from nbckpt.fingerprint.keys import Inputs
    from nbckpt.session.auto.pending_cells import Joining

_TOLD = 16
"""Letters of a digest in a key."""


class Keeping(Standing):
    """A namespace whose states become checkpoints of a branch.

    Attributes
    ----------
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
    has_only_restored
        Whether no code of the notebook has run in this process: nothing but restores, imports from
        libraries and nbckpt's own verbs have made the variables.
    """

    joining: Joining

    def __init__(
        self,
        store: Store,
        namespace: dict[str, object],
        notebook: str,
        branch: str | None,
        hidden: Container[str],
        settings: Settings | None,
    ) -> None:
        super().__init__(store, notebook, branch)
        self.namespace = namespace
        self.capturer = Capturer(store, namespace, hidden)
        self._difference: Difference[str, Variable] = Difference()
        self.audit = Audit(self)
        self.capturer.audit = self.audit.after_look
        self.settings = settings or settings_from()
        self.running: ast.Module | None = None
        self.guards_blocks = False
        self.seeded: set[str] = set()
        self._never_seeded: dict[str, Digest] = {}  # generator → its state while that was so
        self.live_objects = LiveObjects(self.capturer)
        self.torn_graphs = TornGraphs(namespace)
        touch, folder = self.capturer.touched, str(store.path)
        state = early_facet(namespace, touch)
        self.observer = Observer((state,), lambda: later_facets(namespace, touch, folder, state))
        self.unkept = Unkept()
        self.has_only_restored = self._has_only_modules()
        self.is_at_position = not self.capturer.user_names()

    @property
    def settings(self) -> Settings:
        """The settings that hold for this session."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._settings = settings
        self.capturer.obey(Limits(settings.max_value_size, settings.max_store_size))
        time_limit.set_limit(settings.capture_timeout_s)
        self.store.let_wait(settings.max_background_memory)
        if problem := telemetry.choose(settings.telemetry):
            self.writing.news.append(problem)

    @property
    def joined(self) -> list[Cell]:
        """Cells that ran well since the position and were not kept by themselves."""
        return self.joining.cells

    # -- what code ran ----------------------------------------------------------------------

    def _has_only_modules(self) -> bool:
        """True if no variable tells of code that has run before nbckpt was there."""
        values = map(self.namespace.get, self.capturer.user_names())
        return all(type(value) is ModuleType for value in values)  # to the first that is none

    def runs(self, tree: ast.Module | None) -> None:
        """Note that code is about to run in the namespace; None if it is not known which."""
        self.is_at_position = False
        if tree is None:
            self.has_only_restored = False
        elif self.has_only_restored and tree.body:
            from nbckpt.session.known_keys import sets_up

            self.has_only_restored = sets_up(tree)

    def ran(self, tree: ast.Module | None) -> None:
        """Note that code ran in the namespace; None if it is not known which.

        A shell says so of each cell. Without one, every call here asks for a look at everything.
        """
        self.runs(tree)
        self.audit.ran()
        if tree is None:
            # In a shell it was no cell: what is quickly looked at is looked at all the same.
            self.capturer.touched(self.capturer.quick_to_look_at() if self.guards_blocks else None)
            return
        from nbckpt.fingerprint import code, keys
        from nbckpt.fingerprint.values.sources import names_in

        with allowed():
            names = code.names_of_tree(tree, self.namespace)
            touched = keys.touched(names, self.namespace)
        self.capturer.touched(touched)
        self.capturer.bindings.ran(tree)
        if random_state.seeds(tree, self.namespace, names_in):
            self.seeded.update(random_state.NAMES)
            if random_state.seeds_unreadable(tree, self.namespace):
                self.seeded.add(random_state.UNREADABLE)

    def reach(self, tree: ast.Module) -> frozenset[str] | None:
        """Names that code about to run can touch; None if it may touch any.

        Once it ran, `ran` no longer finds those that it touched through a function which it then
        redefined.
        """
        from nbckpt.fingerprint import code, keys

        try:
            return keys.touched(code.names_of_tree(tree), self.namespace)
        except Exception:  # whatever a value's own code raises when it is looked at
            return None

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
                self.namespace,
                deps=deps,
                options=selection.options(),
                lacking=lacking,
                kept=self.capturer.present(),
                met=met,
            )
        groups = self.capturer.sharing(n for n in sorted(key.inputs) if n in self.namespace)
        return key._replace(shares=tuple(map(self._described, groups)))

    def _described(self, group: Sequence[str]) -> str:
        """Variables that share objects, and a digest that tells where in them the objects are."""
        return f"{', '.join(group)}: {self._examined_together(group).digest[:_TOLD]}"

    def _examined_together(self, names: Iterable[str]) -> Examined:
        """Some live variables as one value: which parts of them are one counts, too."""
        now = [self.namespace[n] for n in sorted(names)]
        with allowed():
            return ValueDigester(self.namespace).examine(tuple(now))

    def tie_of(self, name: str, key: Key | None) -> Digest:
        """Digest, as one value, of a variable and what it shares objects with of a key's inputs.

        Empty if that is nothing, or if nobody can tell.
        """
        kept = self.capturer.manifest()
        inputs = {*key.inputs, *key.functions} if key else set()
        group = kept[name].group if name in kept and name in self.namespace else ()
        together = {n for n in group if n in inputs and n in self.namespace}
        if not together:
            return ""
        examined = self._examined_together({name, *together})
        return "" if examined.unknown else examined.digest

    def digests_of(self, names: Iterable[str]) -> dict[str, Digest]:
        """Digests of live variables that are the same in every process."""
        if not (asked := sorted(names)):
            return {}
        now = dict(self.namespace)  # threads bind names meanwhile
        with allowed():
            return {n: ValueDigester(self.namespace).digest(now[n]) for n in asked if n in now}

    def random_states(self) -> dict[str, str]:
        """Digest of each random generator's state, of those whose numbers were asked for."""
        self.capturer.capture_random_states()
        kept = self.capturer.manifest()
        return self.states_asked_for({n: kept[n].value for n in random_state.NAMES if n in kept})

    def states_asked_for(self, digests: Mapping[str, Digest]) -> dict[str, Digest]:
        """Of digests by name, those of random generators that code may have seeded.

        Not one that stands where it stood before there was such code: a cell that only defines
        what seeds has seeded nothing yet.
        """
        present = random_state.NAMES & digests.keys()
        for name in present - self.seeded - self._never_seeded.keys():
            self._never_seeded[name] = digests[name]
        asked_for = {n for n in present & self.seeded if digests[n] != self._never_seeded.get(n)}
        return {name: digests[name] for name in asked_for}

    # -- checkpoint -------------------------------------------------------------------------

    @verb
    def checkpoint(
        self,
        name: str,
        *,
        vars: Iterable[str] | None = None,  # noqa: A002  # the option's name everywhere else
        exclude: Iterable[str] = (),
        tags: Iterable[str] = (),
        note: str = "",
        sync: bool = False,
    ) -> Checkpoint:
        """Keep what is there now, under `name`.

        Raises
        ------
        UsageError
            If `name` is none that a reference can mean.
        VariableNotFoundError
            If `vars` names a variable that does not exist.
        StoreError
            If the disk refuses.
        """
        name = require_name(name)
        selection = Selection(None if vars is None else frozenset(vars), frozenset(exclude))
        self.require_names(selection)
        self.ran(self.running)
        began = clock.now()
        with self.holding(name):
            captured = self.capture(selection)
            draft = self.draft(name, captured, cell=Cell(""), duration_s=clock.now() - began)
            bound = tuple(sorted(captured.changed))
            draft = replace(draft, tags=tuple(tags), note=note, bound=bound)
            self.commit(draft, sync=sync)
        return draft

    def capture(self, selection: Selection) -> Captured:
        """Look at what may have changed, and put what of it is selected into the store."""
        base = self.timeline.manifest(self.position) if self.position else {}
        return self.capturer.capture(selection, base=base)

    def put_outputs(self, text: bytes) -> Digest:
        """Put a cell's outputs into the store, beside its variables, and return their digest."""
        return self.store.put_blob([text], within=self._settings.max_store_size)

    def require_names(self, selection: Selection, known: Container[str] = ()) -> None:
        """Raise unless every variable that `selection` names exists or is in `known`."""
        present = self.capturer.present()
        for name in sorted(selection.vars or ()):
            if name not in present and name not in known:
                raise VariableNotFoundError(missing(name, present))

    def draft(
        self,
        name: str,
        captured: Captured,
        *,
        cell: Cell,
        duration_s: float,
        state: State = "done",
        **members: Any,
    ) -> Checkpoint:
        """A checkpoint of what was captured, as a change of where the namespace was.

        Parameters
        ----------
        members
            Others of the checkpoint's, by their names.
        """
        self.choose_branch()
        base = self.timeline.manifest(self.position) if self.position else {}
        now, differing = captured.manifest, self._difference.of(base, captured.manifest)
        changed = {n: now[n] for n in sorted(differing) if n in now}
        return Checkpoint(
            id=new_id(),
            parent=self.position,
            name=name,
            branch=self.branch,
            session=self.id,
            notebook=self.notebook,
            created_at=clock.now(),
            duration_s=duration_s,
            cell=cell,
            state=state,
            changed=changed,
            removed=tuple(sorted(n for n in differing if n not in now)),
            refused=captured.refused,
            omitted=captured.omitted,
            seeded=tuple(sorted(self.seeded)),
            standing=self.observer.standing(),
            inherited=self.timeline.inherited(self.position),
            joined=tuple(self.joined) if state == "done" and not captured.omitted else (),
            **members,
        )

    @whole
    def commit(self, checkpoint: Checkpoint, *, sync: bool = False, patience_s: float = -1) -> None:
        """Write a checkpoint, and move the branch to it if it is done.

        Returns when it is durable or, unless `sync`, after the settings' patience.

        Raises
        ------
        StoreError
            If the disk refuses: the checkpoint counts as failed, until the disk takes it with a
            later one.
        """
        records = [checkpoint_record(checkpoint)]
        if checkpoint.state == "done":
            records.append(self.head_record(checkpoint))
        event = self._event_of(checkpoint)
        written = self.append([*records, event] if event else records)
        self.writing.follow(checkpoint, written)
        if event:
            written.add_done_callback(partial(_told, event, telemetry.context()))
        for record in records:
            self.timeline.apply(record)
        self.live_objects.captured(checkpoint)
        if checkpoint.state == "done":
            self.position, self.is_at_position = checkpoint.id, True
            self.joining.kept(checkpoint, written)
        patience = self.settings.patience_s if patience_s < 0 else patience_s
        try:
            _await(written, None if sync else patience)
        except StoreError as refusal:
            self.refusal = refusal
            self.writing.settle(raised=checkpoint.id)
            raise
        self.writing.settle()
        self.tell("progress" if checkpoint.state == "partial" else "checkpoint")

    def _event_of(self, checkpoint: Checkpoint) -> Record | None:
        """Journal event for a checkpoint that was made; None for a failure, which has another."""
        if checkpoint.state == "failed":
            return None
        parent = self.timeline.checkpoints.get(checkpoint.parent or "")
        known = {refusal.variable for refusal in parent.refused} if parent else set()
        left_out = sorted({refusal.variable for refusal in checkpoint.refused} - known)
        held = self.held
        members = {
            "checkpoint": checkpoint.id,
            "name": checkpoint.name,
            "took_s": time.perf_counter() - held.since if held else 0.0,
            "size_bytes": self.store.added_bytes - held.added_bytes if held else 0,
            "left_out": left_out or None,
            "outcome": "partial" if left_out else None,
        }
        return event_record("kept" if checkpoint.state == "done" else "progress", self.id, members)


def new_id() -> str:
    """A new checkpoint's id: random, so that its first characters tell it from all others."""
    return os.urandom(10).hex()


def _told(event: Record, context: object, written: Future[None]) -> None:
    """Tell of a checkpoint that is durable."""
    if written.exception() is None:
        events.tell(event, context)


def _await(written: Future[None], timeout_s: float | None) -> None:
    """Have the user wait for the disk, as long as no interrupt waits: the record is on its way."""
    if wait_for(written, timeout_s):
        written.result()
