"""Namespace → manifest: what changed since the last look, and what cannot be kept."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from nbckpt.capture.change_tracking.change_tracker import ChangeTracker
from nbckpt.capture.limits import Limits
from nbckpt.capture.live_encoder import LiveEncoder
from nbckpt.capture.random_states import Generators
from nbckpt.capture.selection import Selection
from nbckpt.digests import Digest
from nbckpt.fingerprint import random_generators
from nbckpt.fingerprint.values.plain import ATOMS, forget_looks
from nbckpt.fingerprint.values.remembering import forget_all_but
from nbckpt.model import Manifest, Refusal, Variable
from nbckpt.runtime.context import called_with
from nbckpt.runtime.gc_pause import switched_off
from nbckpt.runtime.interrupts import allowed, breathe
from nbckpt.runtime.time_limit import OutOfTimeError, bounded
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.storage.store import Store

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from nbckpt.capture.groups.groups import Group

SizedGroup: TypeAlias = "tuple[Group, list[Buffer], int]"
"""A group, the parts of its blob, and how many bytes these have."""

TURN_BYTES = 1 << 20
"""So many bytes of small groups are put at once."""


def _described(value: object) -> tuple[str, str | None, str]:
    """Type, shape and preview of a value, as far as its own code tells how it looks."""
    from nbckpt.text.describe import preview_of, shape_of, type_name_of

    try:
        if type(value) in ATOMS:  # they have no code of their own
            return type_name_of(value), shape_of(value), preview_of(value)
        with allowed(), bounded(value):
            return type_name_of(value), shape_of(value), preview_of(value)
    except user_code_errors(OutOfTimeError):
        return type(value).__name__, None, ""


def _variable(name: str, value: object, group: Group, blob: Digest, size_bytes: int) -> Variable:
    assert group.encoded is not None
    type_name, shape, preview = _described(value)
    return Variable(
        name=name,
        blob=blob,
        value=group.values.get(name, blob),
        type_name=type_name,
        size_bytes=size_bytes,
        shape=shape,
        preview=preview,
        group=group.names,
        needs=tuple(sorted(group.encoded.needs)),
        recipe=name in group.recipes,
    )


def _in_turns(sized: list[SizedGroup]) -> Iterator[list[SizedGroup]]:
    """Groups by turns: many small ones are put at once, and progress is told between two turns."""
    turn: list[SizedGroup] = []
    total = 0
    for one in sized:
        if turn and total + one[-1] > TURN_BYTES:
            yield turn
            turn, total = [], 0
        turn.append(one)
        total += one[-1]
    if turn:
        yield turn


@dataclass(frozen=True)
class Captured:
    """Result of one look at the namespace.

    Attributes
    ----------
    manifest
        All variables that are kept now.
    changed
        Names that are new or have another value than at the last look.
    removed
        Names that were there at the last look and are gone.
    refused
        Everything in the whole namespace that cannot be kept.
    omitted
        Names that are there, and were not asked for.
    missed
        Names of `changed` that no known code touched: the cause of the change is unknown.
    """

    manifest: Manifest
    changed: frozenset[str]
    removed: frozenset[str]
    refused: tuple[Refusal, ...]
    omitted: tuple[str, ...]
    missed: frozenset[str] = frozenset()


class Capturer:
    """Puts what changed of a live namespace into a store, and knows what is kept of it.

    Attributes
    ----------
    tracker
        Knows which names may have changed since the last look.
    encoder
        Encodes the variables as they are now.
    audit
        Called after each look, with the names that had been touched before it (None: any name):
        which names are not what was kept of them. These are looked at again.
    """

    def __init__(self, store: Store, tracker: ChangeTracker) -> None:
        self.store = store
        self.tracker = tracker
        self.encoder = LiveEncoder(tracker)
        self.audit: Callable[[set[str] | None], set[str]] | None = None
        self._limits = Limits()
        self._generators = Generators(store)
        self._generation = store.generation

    def obey(self, limits: Limits) -> None:
        """Keep within `limits` from now on; what was too large is looked at again."""
        self._limits = limits
        self.encoder.max_bytes = limits.value_bytes
        self.tracker.touched(self.encoder.too_large)

    def distrust(self, names: Iterable[str]) -> None:
        """Have `names` looked at whatever is known of them: it turned out to be wrong."""
        doubted = set(names)
        for name in doubted:
            self.tracker.forget_object(name)
            self.encoder.forget(name)
        self._generators.forget(doubted)
        self.tracker.touched(doubted - random_generators.NAMES)

    def manifest(self) -> Manifest:
        """All variables as they are kept, as of the last look."""
        return self.tracker.kept.snapshot()

    def kept_as(self, name: str) -> Variable | None:
        """A variable as it is kept, as of the last look; None if it is not kept."""
        return self.tracker.kept.get(name)

    def needing(self, definitions: Iterable[str]) -> set[str]:
        """Names of kept variables that refer to some definitions by their names."""
        return self.tracker.kept.needing(definitions)

    def kept_names(self) -> list[str]:
        """The names of what is kept, as of the last look."""
        return list(self.tracker.kept)

    def adopt(self, restored: Mapping[str, Variable], removed: Iterable[str] = ()) -> None:
        """Take note that these names now hold what these blobs hold."""
        forget_looks()
        for name, variable in restored.items():
            self.tracker.kept[name] = variable
            self.tracker.was_restored(name)
            self.tracker.refusals.pop(name, None)
            self.encoder.forget(name)
        for name in removed:
            self._forget(name)
        # What refers to a definition by its name holds the one that was there till now.
        self.distrust(self.tracker.kept.needing(restored) - restored.keys())

    def capture(
        self,
        selection: Selection = Selection(),  # noqa: B008  # immutable
        *,
        only: Container[str] | None = None,
        base: Container[str] = frozenset(),
    ) -> Captured:
        """Look at what may have changed, and put what did into the store.

        Parameters
        ----------
        selection
            What is to be kept. What is not stays to be looked at by the next call.
        only
            Look at no other names than these; the others stay to be looked at.
        base
            Names that the parent holds: these are followed like what is kept already.

        Raises
        ------
        StoreError
            If the disk refuses: it is as if nobody had looked. So it is after an interrupt.
        """
        with self.store.turn.taken(), self.store.writing():
            self.forget_lost()
            with self.tracker.looking() as pending:
                captured = self._capture(selection, only, base)
                if self.audit is not None and (stale := self.audit(pending)):
                    self.distrust(stale)
                    from nbckpt.runtime.dirty_pages.memory import READS_ALL

                    forget_all_but(())
                    again = called_with(READS_ALL, True, self._capture, selection, only, base)
                    captured = replace(
                        again,
                        changed=captured.changed | again.changed,
                        removed=captured.removed | again.removed,
                        missed=frozenset(stale),
                    )
                breathe()
            forget_all_but(self.tracker.namespace.values())
            return captured

    def forget_lost(self) -> None:
        """Know nothing of what was kept and is not in the store any more, since a prune.

        The next capture encodes and puts it again.
        """
        if self.store.generation == self._generation:
            return
        self._generation = self.store.generation
        lost = {n for n, v in list(self.tracker.kept.items()) if self._is_lost(v)}
        for name in lost:
            del self.tracker.kept[name]
            self.encoder.forget(name)
        self._generators.forget_lost(self._is_lost)
        self.tracker.touched(lost - random_generators.NAMES)

    def _is_lost(self, variable: Variable) -> bool:
        return not self.store.blobs.can_rely_on(variable.blob)

    def _capture(
        self, selection: Selection, only: Container[str] | None, base: Container[str]
    ) -> Captured:
        tracker, kept = self.tracker, self.tracker.kept
        present = tracker.present()
        removed = tracker.removed()
        looked_at = tracker.suspects(removed)
        if only is not None:
            tracker.touched(looked_at)
            looked_at = tracker.closed({n for n in looked_at if n in only}, present)
        left_out = {n for n in looked_at if not selection.follows(n, n in kept or n in base)}
        looked_at -= left_out
        looked_at |= tracker.mates_of_left_out(looked_at, present) - left_out
        for name in left_out:
            kept.pop(name, None)
            tracker.refusals.pop(name, None)
        changed = self._keep(sorted(looked_at)) if looked_at else set()
        # A value without its class is none: definitions come along whether asked for or not.
        while needed := (self._missing_definitions() & present) - looked_at:
            changed |= self._keep(sorted(needed))
            looked_at |= needed
            left_out -= needed
        changed |= self.capture_random_states()
        for name in removed:
            self._forget(name)
        tracker.looked_at(looked_at, removed=removed, left_out=left_out)
        omitted = tuple(n for n in tracker.user_names() if n in left_out) if left_out else ()
        return Captured(
            self.manifest(), frozenset(changed), frozenset(removed), self.refusals(), omitted
        )

    def _missing_definitions(self) -> set[str]:
        """The functions and classes that kept values refer to, and that are not kept."""
        kept = self.tracker.kept  # `needed - kept.keys()` would go through all that is kept
        return {name for name in kept.needed() if name not in kept}

    def _forget(self, name: str) -> None:
        self.tracker.kept.pop(name, None)
        self.tracker.refusals.pop(name, None)
        self.tracker.forget_object(name)
        self.encoder.forget(name)

    def _keep(self, looked_at: list[str]) -> set[str]:
        """Encode and store these names; which of them changed."""
        # Not before something is kept, like the encoder.
        from nbckpt.storage.blobs import size_of_parts
        from nbckpt.text.progress_bar import Bar

        groups = self.encoder.groups(looked_at)
        for name in chain.from_iterable(group.names for group in groups):
            self.tracker.holds(name)
        changed = self._refuse([group for group in groups if group.encoded is None])
        for name in chain.from_iterable(group.names for group in groups if group.known):
            self.tracker.refusals.pop(name, None)
        encoded = (
            (group, group.encoded.parts)
            for group in groups
            if group.encoded is not None and not group.known
        )
        sized = [(group, parts, size_of_parts(parts)) for group, parts in encoded]
        # The collector waits where no code of the user's runs, which may leave garbage.
        with Bar("saving", sum(size for *_, size in sized)) as bar, switched_off():
            for some in _in_turns(sized):
                blobs = self.store.put_blobs(
                    [parts for _, parts, _ in some], within=self._limits.store_bytes
                )
                bar.advance(sum(size for *_, size in some))
                for (group, _, size), blob in zip(some, blobs, strict=True):
                    changed |= self._note_kept(group, blob, size)
        return changed

    def _note_kept(self, group: Group, blob: Digest, size_bytes: int) -> set[str]:
        """Note that a group is in the store; which of its names changed."""
        tracker, values = self.tracker, self.tracker.values()
        self.encoder.note_kept(group, blob)
        changed = set()
        for name in group.names:
            tracker.refusals.pop(name, None)
            before = tracker.kept.get(name)
            if before is not None and before.blob == blob and before.group == group.names:
                continue
            changed.add(name)
            tracker.kept[name] = _variable(name, values[name], group, blob, size_bytes)
        return changed

    def _refuse(self, groups: list[Group]) -> set[str]:
        """Note why groups cannot be kept; which of their names changed."""
        tracker, kept, known = self.tracker, self.tracker.kept, self.tracker.refusals
        refused = {name for group in groups for name in group.names}
        known.renew(refused, tracker.values(), tracker.namespace)
        changed = set()
        for refusal in chain.from_iterable(group.refusals for group in groups):
            name = refusal.variable
            if kept.pop(name, None) is not None or name not in known:
                changed.add(name)
            known[name] = refusal
        return changed

    def refusals(self) -> tuple[Refusal, ...]:
        """Refusals of all that cannot be kept, as of the last look."""
        return self.tracker.refusals.listed(self.tracker.live().odd, self.tracker.values())

    def capture_random_states(self) -> set[str]:
        """Look at the random generators alone; names of those that have moved on."""
        with self.store.writing():
            found = self._generators.look()
        kept = self.tracker.kept
        changed = {n for n, v in found.items() if n not in kept or kept[n] != v}
        kept.update(found)
        return changed
