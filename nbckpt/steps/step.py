"""A step: code that is restored instead of run when the same code ran on the same values before.

A cell, the body of ``with nbckpt.checkpoint(…)`` and a loop in it go through the same four calls:
`begin` looks for a checkpoint with the step's key, `finish` makes one, `fail` notes why there is
none, `track` keeps how far a loop came.
"""

from __future__ import annotations

import ast
import json
import time
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nbckpt.capture.background_work import (
    AtWork,
    at_work,
    awaits,
    left_at_work,
    tasks_met,
)
from nbckpt.capture.change_tracker import changeable_definitions
from nbckpt.capture.identity import Places
from nbckpt.capture.observation import Ran, unheard
from nbckpt.capture.selection import Selection
from nbckpt.digests import Digest, Json
from nbckpt.errors import StoreError, UsageError, line_of
from nbckpt.fingerprint import code, keys, random_state
from nbckpt.fingerprint.keys import ABSENT
from nbckpt.fingerprint.names import Own
from nbckpt.fingerprint.referents import names_reached
from nbckpt.fingerprint.values.homes import is_named
from nbckpt.fingerprint.values.likeness import whole_digest
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.widgets import is_widget
from nbckpt.llm import scope
from nbckpt.model import (
    Cell,
    Checkpoint,
    Key,
    Manifest,
    State,
    checkpoint_record,
    is_trusted,
)
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import allowed, held, whole
from nbckpt.runtime.snapshot_dict import differing as differences
from nbckpt.session import known_keys
from nbckpt.session.session import Interrupted, Session
from nbckpt.session.workspace import new_id
from nbckpt.steps import (
    cell_results,
    effects,
    loops,
    makers,
    remake,
)
from nbckpt.steps.cache_lookup import (
    addresses_kept,
    changes_outside,
    deleted_names,
    descriptors_used,
    key_before,
    why_not_restored,
)
from nbckpt.steps.cherry_pick import stand_at
from nbckpt.steps.items import ThroughItems
from nbckpt.steps.loops import AtItem, Loops
from nbckpt.text.units import count_text
from nbckpt.timeline.recordings import BEGUN, begun_record

if TYPE_CHECKING:
    from nbckpt.steps.shadow_run import ShadowRun

_ENCODED = json.JSONEncoder().encode
_UNANSWERED = "a question of it was not answered"
_MISSED = "{!r} is another, and it or something beside it may have changed that"
"""Held from the beginning: a notebook may put another function in the place of `json.dumps`."""


@dataclass(frozen=True)
class Request:
    """Options that a step was asked for with.

    Attributes
    ----------
    name
        Name of its checkpoints; a step with another name is another step.
    selection
        Variables that it keeps.
    deps
        Files that it depends on.
    rerun
        Run from the beginning even if it could be restored.
    is_skippable
        False for a block whose body runs in any case; its loops still go on where they were.
    is_block
        True if it is a part of a cell: no recorded cell makes again a value it could not keep.
    sync
        Wait for the disk however long it takes.
    """

    name: str
    selection: Selection = field(default_factory=Selection)
    deps: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    note: str = ""
    rerun: bool = False
    sync: bool = False
    is_skippable: bool = True
    is_block: bool = False


class Begun(NamedTuple):
    """Through which items the body of a step has gone: so many loops, and items of maps."""

    loops: int
    mapped: Counter[str]


class Watch(Protocol):
    """Follows the steps of a session, while a rerun runs recorded cells."""

    def restored(self, step: Step, checkpoint: Checkpoint) -> Checkpoint:
        """Have the session stand where a step was restored; the checkpoint that stands for it."""

    def begins(self, step: Step) -> None:
        """Take note that the body of a step is about to run."""


@dataclass(eq=False)
class Step(ThroughItems, Own):
    """One execution of a step.

    Attributes
    ----------
    todo
        False when its values were restored and the body is to be skipped.
    restored
        The checkpoint that was restored; None when the body runs.
    why
        Why the body runs, one sentence each.
    is_kept
        False where the disk did not let it begin: the body runs, and nothing of it is kept.
    loops
        Its tracked loops.
    at
        Which item is in work.
    was_set
        Process state that was set because the step was restored, a short text each.
    outside
        What the body changed that no checkpoint brings back, if its caller has seen it.
    """

    session: Session
    request: Request
    cell: Cell
    tree: ast.Module
    key: Key
    todo: bool = True
    restored: Checkpoint | None = None
    why: tuple[str, ...] = ()
    took_s: float = 0.0
    _is_told: bool = True  # nothing that the key counts is beyond telling
    _can_import: bool = True
    _began_as: Digest = ""
    _before: Manifest = field(default_factory=dict)
    is_kept: bool = True
    _began: float = 0.0
    _since: float = 0.0
    _spent_s: float = 0.0  # by earlier runs, on what this one continues
    _mates_before: dict[str, str] = field(default_factory=dict)
    _ties_before: dict[str, str] = field(default_factory=dict)
    _tasks_met: tuple[str, ...] = ()
    _at_work: list[AtWork] = field(default_factory=list)
    _results_before: tuple[object, ...] = ()
    _users_before: dict[str, object] = field(default_factory=dict)
    _untold: dict[int, object] = field(default_factory=dict)
    _perhaps: dict[str, bool] = field(default_factory=dict)  # name bound on a condition: was there
    _left: dict[str, Digest] = field(default_factory=dict)  # of these, as they were
    _places_before: Places | None = None
    _random_before: dict[str, str] = field(default_factory=dict)
    _calls: scope.Place | None = None
    _windows: dict[str, object] = field(default_factory=dict)
    _observed: dict[str, Json] = field(default_factory=dict)
    was_set: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.loops = Loops(self, None)
        self.at = AtItem(self.session)

    @classmethod
    @whole
    @unheard
    def begin(cls, session: Session, request: Request, cell: Cell, tree: ast.Module) -> Step:
        """Restore the step if that can be, else get ready to run it.

        Raises
        ------
        UsageError
            If a file of `deps` is missing, or `track` stands where it could not go on.
        VariableNotFoundError
            If `selection` names what neither exists nor is bound by the code.
        StoreError
            If the disk refuses.
        """
        loops.require_plain(request.name, tree)
        if request.selection.vars and not (names := code.names_of_tree(tree)).everything:
            known = {*session.tracker.user_names(), *names.binds}
            session.require_names(request.selection, known)
        if session.reruns:
            request = replace(request, rerun=True)
        session.catch_up()
        can_restore = request.is_skippable and not request.rerun
        step = cls(session, request, cell, tree, Key(""))
        step.key = step._key_at_first(is_known=can_restore)
        session.steps.pop(request.name, None)  # they stand in the order in which they began
        session.steps[request.name] = step
        if can_restore and step._restore():
            return step
        if remake.before(session, tree):
            step.key = step._key_now()
            if can_restore and step._restore():
                return step
        step._start()
        return step

    @classmethod
    @whole
    def refused(
        cls, session: Session, request: Request, cell: Cell, tree: ast.Module, why: str
    ) -> Step:
        """A step that could not begin: its body runs, its loops and maps keep nothing."""
        session.steps.pop(request.name, None)
        step = cls(session, request, cell, tree, Key(""), why=(why,), is_kept=False)
        session.steps[request.name] = step
        step._enter()
        return step

    @property
    def is_running(self) -> bool:
        """True if the body has begun, and neither ended nor failed."""
        return id(self) in self.session.running_steps

    @cached_property
    def names(self) -> code.Names:
        """Names that the code reads and binds; a loop asks after each item."""
        return code.names_of_tree(self.tree, self.session.namespace)

    @property
    def calls(self) -> int:
        """Model calls that the running body was given answers of: paid for, or from the store."""
        place = self._calls
        if place is None or place.scope is None:
            return 0
        answered = place.scope.members()
        return int(sum(answered.get(what, 0) for what in ("recorded", "replayed", "partial")))

    def _key_at_first(self, *, is_known: bool) -> Key:
        """The step's key; `is_known` if it may be one that has begun like this before."""
        session, request = self.session, self.request
        lacking = makers.lacking(session)
        if is_known and not request.deps:
            name, selection = request.name, request.selection
            known = known_keys.known_key(session, name, self.tree, selection, lacking)
            if known is not None and session.audit.mode == "off":
                return known
            if known is not None:
                session.audit.compare_keys(request.name, known, self._key_now(lacking))
        return self._key_now(lacking)

    def _key_now(self, lacking: Mapping[str, Digest] | None = None) -> Key:
        session, request = self.session, self.request
        return session.key_of(self.tree, request.selection, request.deps, lacking, self._note_met)

    def _note_met(self, inputs: keys.Inputs) -> None:
        self._is_told, self._can_import = not inputs.is_untold, inputs.can_import

    # -- restored ---------------------------------------------------------------------------

    def _restore(self) -> bool:
        session = self.session
        began = time.perf_counter()
        found = session.timeline.find(self.request.name, self.key.digest)
        for checkpoint in found:
            if why := self._differs(checkpoint):
                self.why = (why,)
                continue
            shadow = self._shadow(checkpoint)
            namespace = session.namespace
            changed = {n: namespace[n] for n in self._not_bound(checkpoint) if n in namespace}
            # A result goes on with the part that it holds now.
            parted = cell_results.with_parts(checkpoint.in_place, namespace)
            reasons = tuple(f"it changes {n!r} in place, and a result has that" for n in parted)
            is_next = session.follows(checkpoint)
            if reasons := reasons or effects.reproduce(session, checkpoint):
                self.why = reasons
                continue
            cell_results.follow(namespace, changed, session.shown)
            self.was_set = session.observer.was_set
            self.took_s = time.perf_counter() - began
            with held(firmly=True):  # its values are bound
                if session.watch is None:
                    selection = self.request.selection
                    self.restored = stand_at(session, checkpoint, selection, is_next=is_next)
                else:
                    self.restored = session.watch.restored(self, checkpoint)
                self.todo = False
            if shadow is not None:
                shadow.compare(session, checkpoint, self.request.selection)
            makers.was_restored(session, checkpoint, self.names.binds)
            saved = checkpoint.duration_s - self.took_s
            other = {} if self.cell.source == checkpoint.cell.source else {
                "source_crc": self.cell.source_crc  # a comment, say: the key is the same
            }  # fmt: skip
            size = self._size_of(checkpoint)
            self._event(
                "restored",
                self.restored,
                took_s=self.took_s,
                saved_s=saved,
                size_bytes=size,
                **other,
            )
            return True
        if not found:
            self.why = tuple(why_not_restored(session, self.request.name, self.key))
        return False

    def _not_bound(self, checkpoint: Checkpoint) -> set[str]:
        """The variables that may get other objects, though a run would bind none to them."""
        manifest = self.session.timeline.manifest(checkpoint.id)
        bound = set(checkpoint.bound) - set(checkpoint.in_place)
        mates = {mate for n in bound if n in manifest for mate in manifest[n].group}
        return mates.union(checkpoint.in_place) - bound

    def _shadow(self, checkpoint: Checkpoint) -> ShadowRun | None:
        """Result of running the step, if the setting `verify` asks for it and it can be told."""
        if self.session.audit.mode == "off":
            return None
        from nbckpt.steps.shadow_run import shadow_of

        return shadow_of(self.session, checkpoint, self.tree)

    def _size_of(self, checkpoint: Checkpoint) -> int:
        """Bytes of what the step bound or changed."""
        manifest = self.session.timeline.manifest(checkpoint.id)
        blobs = {
            manifest[n].blob: manifest[n].size_bytes for n in checkpoint.bound if n in manifest
        }
        return sum(blobs.values())

    def _differs(self, checkpoint: Checkpoint) -> str | None:
        if checkpoint.outside:
            return f"it changes {checkpoint.outside[0]}, which is no variable of the notebook"
        if checkpoint.unrepeatable:
            return checkpoint.unrepeatable[0]
        if met := tasks_met(self.tree, self.session.namespace):
            return met[0]
        if name := self._text_asked_for(checkpoint):
            return f"the text of {name!r} changed, and a cell asks for it"
        if checkpoint.failures:
            return f"{count_text(checkpoint.failures, 'item')} of its `map` failed"
        lost = {refusal.variable for refusal in checkpoint.refused}.intersection(checkpoint.bound)
        if lost and (self.request.is_block or awaits(self.tree)):
            # Neither runs again by itself when somebody needs it.
            return f"it makes {min(lost)!r}, which could not be kept"
        if why := makers.why_not(self.session, checkpoint) or self._draws_unreadable():
            return why
        if why := self.session.observer.difference(checkpoint.observed, self._as_it_would_run()):
            return why
        if changed := self._unlike(checkpoint.preconditions):
            return f"it may leave {changed!r} as it is, and that has another value now"
        if not checkpoint.random_in:
            return None
        now = self.session.random_states()
        for name, state in checkpoint.random_in.items():
            if now.get(name, "") != state:
                return f"it draws random numbers, and {name} is not where it was"
        return None

    def _draws_unreadable(self) -> str | None:
        """Why a step that uses a generator whose state nothing tells cannot be restored."""
        namespace = self.session.namespace
        if random_state.seeds_unreadable(self.tree, namespace):
            return "it seeds the random numbers of polars, which no checkpoint holds"
        is_seeded = random_state.UNREADABLE in self.session.seeded
        if is_seeded and random_state.draws_unreadable(self.tree, namespace):
            return "it may draw seeded random numbers of polars, which no checkpoint holds"
        return None

    def _changes_outside(self) -> tuple[str, ...]:
        """Changes in the user's modules that text or values tell of, where none was observed."""
        observed = self._observed.get("attachments")
        if isinstance(observed, Mapping) and observed.get("modules"):
            return ()
        told = changes_outside(self.tree, self.session.namespace)
        return (*told, *keys.changed_in_modules(self.key))

    def _callbacks_of(self, names: set[str]) -> list[str]:
        """The callbacks of those of the variables that are widgets and could not be kept."""
        values = {n: self.session.namespace.get(n) for n in sorted(names)}
        return [f"callbacks of {n!r}" for n, v in values.items() if is_widget(type(v))]

    def _as_it_would_run(self) -> Ran:
        def values() -> dict[str, str]:
            captured = self.session.capturer.capture()
            return {n: v.value for n, v in captured.manifest.items()}

        return Ran(self.tree, self.key, self.session.namespace, values)

    def _as_it_ran(self, outputs: Sequence[Json], *, is_shown: bool) -> Ran:
        namespace = self.session.namespace
        return Ran(self.tree, self.key, namespace, self._values_before, is_shown, outputs)

    def _values_before(self) -> dict[str, str]:
        return {name: variable.value for name, variable in self._before.items()}

    def _text_asked_for(self, checkpoint: Checkpoint) -> str:
        """A definition of the cell's, other in its text alone, whose text some cell asked for."""
        if self.cell.source == checkpoint.cell.source:
            return ""
        known = [c.key for c in self.session.timeline.checkpoints.values() if c.key is not None]
        asked = (name for key in known for name in key.functions if name.startswith(keys.TEXT))
        names = (name.removeprefix(keys.TEXT).partition(".")[0] for name in asked)
        return next((name for name in names if name in checkpoint.bound), "")

    def _unlike(self, preconditions: Mapping[str, Digest]) -> str:
        """One of some names that is not as it was; empty if all are."""
        now = self.session.digests_of(preconditions)
        return next((n for n, d in preconditions.items() if now.get(n, ABSENT) != d), "")

    # -- run --------------------------------------------------------------------------------

    def _start(self) -> None:
        session, selection = self.session, self.request.selection
        if session.watch is not None:
            session.watch.begins(self)
        session.choose_branch()
        session.capturer.capture(selection, only=selection.vars)
        if self._is_told:
            self._began_as = known_keys.start_of(session, self.key, can_import=self._can_import)
        session.runs(self.tree)
        before = self._before = session.capturer.manifest()
        self._places_before = session.tracker.places()
        with allowed():
            perhaps = keys.bound(self.names, session.namespace)
        perhaps -= self.names.certain | self.key.inputs.keys()
        self._perhaps = {n: n in session.namespace for n in perhaps}
        self._mates_before = session.digests_of(self._mates())
        self._ties_before = {n: session.tie_of(n, self.key) for n in self._mates_before}
        self._users_before = self._users()
        session.tracker.let_go({*self.names.loads, *self.names.binds})
        states = {n: before[n].value for n in random_state.NAMES if n in before}
        self._random_before = session.states_asked_for(states)
        if not self.request.rerun:
            self.loops = Loops(self, self._unfinished())
        self._enter()

    def _enter(self) -> None:
        session = self.session
        session.running_steps[id(self)] = self
        self._calls = scope.enter(self.request.name, self.cell.cell_id, is_fresh=session.pays_anew)
        self.at.scope = self._calls.scope
        self._tasks_met = tasks_met(self.tree, session.namespace)
        self._at_work = session.at_work
        self._results_before = cell_results.of(session.namespace)
        self._windows = session.observer.open()
        self._began, self._since = time.perf_counter(), clock.now()

    def _mates(self) -> set[str]:
        """Variables that share objects with those that the code names, and are not among them.

        A class is shared with its instances, and with its other names.
        """
        kept = self.session.capturer.manifest()
        named = {*self.key.inputs, *self.names.binds}
        shared = {mate for n in named if n in kept for mate in kept[n].group} - named
        # Definitions hold objects, too: as defaults, as attributes.
        reached = {*named, *self.key.functions}
        shared |= {mate for n in reached if n in kept for mate in kept[n].group} - reached
        needed = {need for n in named if n in kept for need in kept[n].needs}
        changeable = (
            set(changeable_definitions(needed, self.session.tracker.values()))
            - named
            - self.names.loads
        )
        return {n for n in shared | changeable if n in kept}

    def _users(self) -> dict[str, object]:
        """Digests of variables that are kept by the names of definitions that the code makes anew.

        They hold the ones that were there before, and are kept otherwise afterwards. What cannot be
        told, an open file say, is what it was, unless the code names what shares it.
        """
        made = self.names.binds
        namespace = self.session.namespace
        named = made | self.names.loads
        users = self.session.capturer.needing(made) - made
        with allowed():
            return {
                n: whole_digest(namespace[n], namespace, self._same_in(n, named))
                for n in sorted(users)
                if n in namespace
            }

    def _same_in(self, name: str, named: Container[str]) -> dict[int, object] | None:
        """Where the objects of a variable go that count by their identity; None if none may."""
        group = self.session.capturer.manifest()[name].group
        return None if any(n in named for n in group) else self._untold

    def _is_as_before(self, name: str, was: object) -> bool:
        namespace = self.session.namespace
        if was is None or name not in namespace or not self._is_same_object(name):
            return False
        with allowed():
            return was == whole_digest(namespace[name], namespace, self._untold)

    def _unfinished(self) -> Checkpoint | None:
        """Checkpoint of an unfinished run of this step's loops; its key is then this step's."""
        name, find = self.request.name, self.session.timeline.partial
        if found := find(name, self.key.digest):
            return None if self._unlike(found.preconditions) else found
        if (interrupted := self.session.interrupted.get(name)) is None:
            return None
        key = key_before(interrupted, self.key)
        found = find(name, key.digest)
        if found is None or self._unlike(found.preconditions):
            return None
        self.key = key
        return found

    @whole
    def left(self) -> None:
        """Take note that the body has ended, however: model calls belong to it no more."""
        self.session.running_steps.pop(id(self), None)
        windows, self._windows = self._windows, {}
        if windows:
            self.session.observer.discard(windows)
        self.at.end()
        place, self._calls = self._calls, None
        if place is None:
            return
        scope.leave(place)
        if place.scope is not None and place.scope.counts:
            self.session.record_event(
                "model_calls", name=self.request.name, **place.scope.members()
            )

    def _observe(self, outputs: Sequence[Json] = (), *, is_shown: bool) -> None:
        """Take note of what the body has read and done so far."""
        if not self._windows:
            return
        ran = self._as_it_ran(outputs, is_shown=is_shown)
        self._observed = self.session.observer.close(self._windows, ran)

    @whole
    @unheard
    def finish(self, outputs: Sequence[Json] = (), *, patience_s: float = -1) -> Checkpoint:
        """Checkpoint what the body did. Call it once, after the body ended well.

        Raises
        ------
        StoreError
            If the disk refuses: the values are there, the checkpoint is not.
        """
        duration = time.perf_counter() - self._began
        try:
            self._observe(outputs, is_shown=bool(outputs))
        finally:  # an interrupt may come meanwhile: the body has run, and is left
            self.left()
            self._ran()
        with self.session.holding(self.request.name):
            try:
                draft = self._draft(self._spent_s + duration, "done")
                if outputs:
                    text = _ENCODED(outputs).encode()
                    draft = replace(draft, outputs=self.session.put_outputs(text))
            except StoreError as problem:
                self._note_lost(problem)
                raise
            self.session.commit(draft, sync=self.request.sync, patience_s=patience_s)
        self.session.interrupted.pop(self.request.name, None)
        self._event("ran", draft, took_s=duration)
        return draft

    @whole
    @unheard
    def fail(self, error: BaseException) -> Checkpoint:
        """Note that the body raised: how far its loops came is kept, the step is not."""
        session = self.session
        self.left()
        self._ran()
        changed = set(self.key.inputs) & self.names.loads
        after = {n: d for n, d in self._key_now().inputs.items() if n in changed}
        session.interrupted[self.request.name] = Interrupted(self.key, after)
        with session.holding():
            failed = self._failed(line_of(error))
            session.commit(failed)
        self._event("failed", failed, took_s=failed.duration_s)
        return failed

    def _ran(self) -> None:
        """Have what the body can have changed looked at, by functions that it redefined, too."""
        session = self.session
        session.ran(self.tree)
        session.tracker.touched({n for n in self.key.inputs if n in session.namespace})

    def _note_lost(self, problem: StoreError) -> None:
        """Have the history say that the disk did not take what the body made."""
        record = checkpoint_record(self._failed(f"not written: {problem}"))
        self.session.append([record], durable=False)
        self.session.timeline.apply(record)

    def _failed(self, why: str) -> Checkpoint:
        session = self.session
        return Checkpoint(
            id=new_id(),
            parent=session.position,
            name=self.request.name,
            branch=session.branch,
            session=session.id,
            notebook=session.notebook,
            created_at=clock.now(),
            duration_s=time.perf_counter() - self._began,
            cell=self.cell,
            state="failed",
            error=why[:500],
        )

    def _draft(self, duration_s: float, state: State) -> Checkpoint:
        session, request = self.session, self.request
        captured = session.capture(request.selection)
        now, before = captured.manifest, self._before
        differing = {n for n in differences(before, now) if not _has_same_value(n, before, now)}
        differing -= {n for n, was in self._users_before.items() if self._is_as_before(n, was)}
        differing |= self._tied_anew(captured.manifest, differing)
        assigned = self.names.binds
        refused = {r.variable for r in captured.refused}
        bound = differing | {n for n in assigned if n in now or n in refused}
        bound |= {n for n in deleted_names(self.tree) if n not in session.namespace}
        unsure = self._unsure(now, differing)
        bound -= unsure.keys()
        bound = {n for n in bound if request.selection.has(n) or n in random_state.NAMES}
        in_place = {n for n in bound & differing if self._is_same_object(n)}
        drawn = {
            n: self._random_before.get(n, "") for n in random_state.NAMES & differing if n in now
        }
        if self._random_before and random_state.reads(self.tree, session.namespace):
            drawn = {**self._random_before, **drawn}
        named = refused & {*bound, *assigned, *self.key.inputs, *self.key.functions}
        named |= self._changed_behind(bound - refused, refused - named)
        return session.draft(
            request.name,
            captured,
            cell=self.cell,
            duration_s=duration_s,
            state=state,
            key=self.key,
            lacking=session.digests_of(named - session.capturer.encoder.too_large),
            bound=tuple(sorted(bound)),
            in_place=tuple(sorted(in_place)),
            passive={
                n: (before[n].value, d, self._ties_before[n])
                for n, d in self._mates_before.items()
                if n in in_place or n not in bound
            },
            preconditions=unsure,
            unrepeatable=(
                *self._tasks_met,
                *self._unanswered(),
                *left_at_work(self._at_work, self._at_work_now()),
                *self._results_bound(bound - in_place),
                *(_MISSED.format(n) for n in sorted(captured.missed & bound)),
                *keys.changed_databases(self.key),
                *addresses_kept(self.tree, session.namespace),
                *session.observer.why_unrepeatable(in_place, self._as_it_ran((), is_shown=False)),
                *self._inseparable(bound, captured.manifest),
            ),
            outside=(
                *self._changes_outside(),
                *descriptors_used(self.tree, session.namespace),
                *self._callbacks_of(bound & refused),
                *self._changed_before(in_place, bound & refused),
                *self.outside,
            ),
            random_in=drawn,
            began_as=self._began_as,
            observed=self._observed,
            failures=self.at.failures,
            tags=request.tags,
            note=request.note,
        )

    def _changed_before(self, in_place: set[str], refused: set[str]) -> tuple[str, ...]:
        """Why a step cannot be restored that makes what cannot be kept, and changes what was not.

        A cell that failed had made that. To run the step again, for what could not be kept, would
        change once more what it has changed.
        """
        session = self.session
        if not refused or not in_place:
            return ()
        then = session.timeline.manifest(session.position) if session.position else {}
        changed = (n for n in in_place if not _has_same_value(n, then, self._before))
        return tuple(
            f"it makes what cannot be kept, and changes {n!r}, which was not kept before it"
            for n in sorted(changed)
        )

    def _results_bound(self, bound: set[str]) -> tuple[str, ...]:
        """Why a step cannot be restored that binds a result of an earlier cell: `x = Out[3]`.

        The shell has a result of its own by then, and what is bound may be a part of that.
        """
        if not bound or not self._results_before:
            return ()
        namespace = self.session.namespace
        bound = {n for n in bound if n in namespace and not is_named(namespace[n], namespace)}
        if cell_results.are_read(self.names):
            names = cell_results.sharing(self._results_before, bound, namespace)
        else:  # what it does not read itself can only be a variable's, too
            shown = {id(v) for v in self._results_before if type(v) not in ATOMS}
            if names := [n for n in sorted(bound) if id(namespace[n]) in shown]:
                staying = [n for n in self._before if n in namespace and n not in bound]
                others = {id(namespace[n]) for n in staying}
                names = [n for n in names if id(namespace[n]) not in others]
        return tuple(f"{n!r} is what the result of an earlier cell is" for n in names)

    def _at_work_now(self) -> list[AtWork]:
        """Work that goes on beside the body at its end."""
        is_of_cell = self.session.at_work is not self._at_work  # which looks when it has ended
        return self.session.at_work if is_of_cell else at_work(self.session.namespace)

    def _changed_behind(self, bound: set[str], refused: set[str]) -> set[str]:
        """Those of `refused`, which the cell does not name, that hold what it bound or changed."""
        namespace = self.session.namespace
        changed, behind = bound & namespace.keys(), refused & namespace.keys()
        if not (changed and behind):
            return set()
        with allowed():
            near = {n: namespace[n] for n in changed | behind}
            found = behind & keys.on_same_memory(changed, near)
            return found | {
                name
                for name in behind - found
                if names_reached([namespace[name]], changed, namespace)
            }

    def _unsure(self, now: Manifest, differing: set[str]) -> dict[str, Digest]:
        """The names that the body binds on a condition and left as they were, with their values.

        It may not have bound them: then they stay what the cells before made them.
        """
        same = {n for n, was_there in self._perhaps.items() if was_there and n in now} - differing
        namespace = self.session.namespace
        gone = (n for n, was_there in self._perhaps.items() if not was_there and n not in namespace)
        self._left.update(self.session.digests_of(same - self._left.keys()))
        return {**{n: self._left[n] for n in sorted(same)}, **dict.fromkeys(sorted(gone), ABSENT)}

    def _inseparable(self, bound: set[str], now: Manifest) -> tuple[str, ...]:
        """Why variables that lie on one memory cannot be kept together."""
        return tuple(
            f"{name!r} and {other!r} lie on one memory, which cannot be kept"
            for name in sorted(bound & now.keys())
            if (
                other := keys.also_on(
                    name, self.session.namespace, now[name].group, are_tables_values=True
                )
            )
        )

    def _tied_anew(self, now: Manifest, differing: set[str]) -> set[str]:
        """Variables that have equal values and other objects in common with each other now."""
        before, binds = self._before, self.names.binds

        def staying(names: Iterable[str]) -> set[str]:
            return {n for n in names if n in before and n in now and n not in binds}

        named = staying({*self.key.inputs, *self.names.loads})
        found = (n for n in named if staying(before[n].group) != staying(now[n].group))
        # Where something of a group differs, the group is brought back with that.
        return {n for n in found if differing.isdisjoint({*before[n].group, *now[n].group})}

    def _is_same_object(self, name: str) -> bool:
        places = self._places_before
        if places is None or name not in self._before:
            return False
        return places.may_be(name, self.session.namespace.get(name))

    # -- loops ------------------------------------------------------------------------------

    def running(self, what: str) -> Step:
        """The step itself, if it can go through items.

        Raises
        ------
        UsageError
            If it has ended.
        """
        if not self.is_running:
            message = f"checkpoint {self.request.name!r} has ended: use `{what}` inside of its body"
            raise UsageError(message)
        return self

    @property
    def begun(self) -> Begun:
        """Through which items the body has gone."""
        return Begun(self.loops.begun, self.at.mapped)

    def go_again(self, begun: Begun) -> None:
        """Have loops and maps go on where they were, because the code after `begun` runs again."""
        self.at.map_again(begun.mapped)
        if not self.is_kept:
            return
        unfinished = self._unfinished()
        if self.request.rerun and unfinished and unfinished.created_at < self._since:
            unfinished = None
        self.loops = Loops(self, unfinished, begun.loops)

    @whole
    @unheard
    def went_on(self, partial: Checkpoint) -> None:
        """Note that a loop goes on where `partial` was kept."""
        assert partial.progress is not None
        _, done, total = partial.progress
        self._spent_s = partial.duration_s
        saved = partial.duration_s
        if self._calls is not None and self._calls.scope is not None:
            for record in self.session.store.records(BEGUN):
                if record["checkpoint"] == partial.id and is_trusted(record):
                    self._calls.scope.go_on(record["begun"])
            if _UNANSWERED in partial.unrepeatable:
                self._calls.scope.note_unanswered(partial.id)
        self._event("continued", partial, took_s=0.0, saved_s=saved, done=done, total=total)

    @whole
    @unheard
    def keep_progress(self, progress: tuple[int, int, int], finished: tuple[Digest, ...]) -> None:
        """Keep what the step's loops have made so far."""
        self._ran()
        self._observe(is_shown=True)
        duration = time.perf_counter() - self._began
        with self.session.holding(self.request.name):
            draft = self._draft(self._spent_s + duration, "partial")
            if begun := self._repeated_calls():
                self.session.append([begun_record(draft.id, begun, clock.now())], durable=False)
            self.session.commit(replace(draft, progress=progress, finished=finished))

    def _unanswered(self) -> tuple[str, ...]:
        scope = self.at.scope
        return (_UNANSWERED,) if scope is not None and scope.is_unanswered else ()

    def _repeated_calls(self) -> dict[str, int]:
        place = self._calls
        return {} if place is None or place.scope is None else place.scope.repeated()

    def _event(self, kind: str, checkpoint: Checkpoint, **members: float) -> None:
        self.session.record_event(
            kind,
            checkpoint=checkpoint.id,
            name=checkpoint.name,
            cell_id=self.cell.cell_id,
            execution_count=self.cell.execution_count,
            **members,
        )


def _has_same_value(name: str, one: Manifest, other: Manifest) -> bool:
    """True if a variable is in both manifests, with equal values."""
    return name in one and name in other and one[name].value == other[name].value
