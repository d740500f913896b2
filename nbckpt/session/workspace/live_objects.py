"""Objects that checkpoints of this session could not keep, and tests that they are still there.

An object that nothing touched is as it was. One that was touched may have moved on; it stays where
its cell would make another one, and not the same again.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from nbckpt.fingerprint.reachability import reaches_any
from nbckpt.fingerprint.referents import held_by
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.model import Checkpoint, Refusal
from nbckpt.runtime.interrupts import allowed
from nbckpt.session.workspace.unkept import refused_by

if TYPE_CHECKING:
    from nbckpt.capture.capture import Capturer


class LiveObjects:
    """Objects that names held at checkpoints that could not keep them.

    An object is referred to weakly; one that cannot be is not remembered.
    """

    def __init__(self, capturer: Capturer) -> None:
        self._capturer = capturer
        self._tracker = capturer.tracker
        self._refusals: dict[str, tuple[Refusal, ...]] = {}
        self._objects: dict[str, dict[str, weakref.ref[object]]] = {}
        self._shared: dict[str, dict[str, frozenset[str]]] = {}
        self._last: dict[str, tuple[Refusal, frozenset[str]]] = {}
        self._waiting: dict[str, weakref.ref[Thread]] = {}
        self._waited: dict[str, dict[str, weakref.ref[Thread]]] = {}

    def captured(self, checkpoint: Checkpoint) -> None:
        """Take note of a new checkpoint of what is there now."""
        self._note_waiting(checkpoint)
        if checkpoint.refused:
            self._refusals[checkpoint.id] = checkpoint.refused
            self._shared[checkpoint.id] = {r.variable: self._held_by(r) for r in checkpoint.refused}
            self.restored(checkpoint)

    def _note_waiting(self, checkpoint: Checkpoint) -> None:
        """Note the kept threads that have not begun: once they run, they are no longer copies."""
        namespace = self._tracker.namespace
        names = {*self._waiting, *checkpoint.changed}
        there = {n: namespace[n] for n in names if n in namespace}
        self._waiting = {
            n: weakref.ref(v)
            for n, v in there.items()
            if issubclass(type(v), Thread) and isinstance(v, Thread) and v.ident is None
        }
        if self._waiting:
            self._waited[checkpoint.id] = self._waiting

    def begun_since(self, checkpoint: Checkpoint) -> set[str]:
        """Names of threads that had not begun at a checkpoint, and run now.

        A copy that has not begun would be another thread: what stops one does not stop the other.
        """
        namespace = self._tracker.namespace
        waited = {n: of() for n, of in self._waited.get(checkpoint.id, {}).items()}
        return {n for n, t in waited.items() if t and t is namespace.get(n) and t.is_alive()}

    def _held_by(self, refusal: Refusal) -> frozenset[str]:
        """The other variables whose objects one that cannot be kept holds, as of its last look."""
        name, namespace = refusal.variable, self._tracker.namespace
        known = self._last.get(name)
        if known is None or known[0] is not refusal:
            held = self._inside(name)
            found = (n for n in self._capturer.kept_names() if n in namespace)
            names = frozenset(n for n in found if held is not None and id(namespace[n]) in held)
            known = self._last[name] = (refusal, names)
        return known[1]

    def _inside(self, name: str) -> dict[int, object] | None:
        namespace = self._tracker.namespace
        if (
            name not in namespace or name in self._capturer.encoder.too_large
        ):  # to walk it takes long
            return None
        with allowed():
            return held_by([namespace[name]], namespace)

    def _is_parted(self, checkpoint: Checkpoint, name: str) -> bool:
        """True if another variable holds another object by now than the one that `name` holds."""
        then = self._shared.get(checkpoint.id, {}).get(name)
        if not then:
            return False
        held, namespace = self._inside(name), self._tracker.namespace
        return held is not None and any(
            n not in namespace or id(namespace[n]) not in held for n in then
        )

    def restored(self, checkpoint: Checkpoint) -> None:
        """Take note that the namespace is that of a checkpoint; what is known of it stays known."""
        self._note(checkpoint, refused_by(checkpoint))

    def restored_cell(self, checkpoint: Checkpoint) -> None:
        """Take note that what one cell binds is that of its checkpoint.

        What it found is so, too, where it is that of the checkpoint before.
        """
        found = refused_by(checkpoint)
        bound = found.intersection(checkpoint.bound)
        before = {} if checkpoint.joined else self._objects.get(checkpoint.parent or "", {})
        namespace = self._tracker.namespace
        as_before = {
            n for n in found & before.keys() & namespace.keys() if before[n]() is namespace[n]
        }
        self._note(checkpoint, bound | as_before)

    def _note(self, checkpoint: Checkpoint, names: Iterable[str]) -> None:
        known = self._objects.get(checkpoint.id, {})
        for name in names:
            if name not in known or known[name]() is None:
                self.made_again(checkpoint, name)

    def made_again(self, checkpoint: Checkpoint, name: str) -> None:
        """Take note that a name holds what a checkpoint could not keep."""
        namespace = self._tracker.namespace
        if name in namespace:
            with suppress(TypeError):
                found = weakref.ref(namespace[name])
                self._objects.setdefault(checkpoint.id, {})[name] = found

    def untouched(self, checkpoint: Checkpoint) -> set[str]:
        """Names that a checkpoint could not keep, and that no code has touched since.

        What holds an object of the kind that another name lost, or lost what others hold, may
        have shared it: made again, it would not.
        """
        from nbckpt.text.describe import type_name_of

        refused = self._refusals.get(checkpoint.id, ())
        stays = {r.variable for r in refused if self._tracker.still_refuses(r)}
        lost = [r for r in refused if r.variable not in stays]
        kinds = {r.type_name for r in lost}
        inside = {r.type_name for r in lost if r.path != r.variable}
        namespace = self._tracker.namespace
        return {
            r.variable
            for r in refused
            if r.variable in stays
            and not self._is_parted(checkpoint, r.variable)
            and r.type_name not in inside
            and (r.type_name not in kinds or type_name_of(namespace[r.variable]) == r.type_name)
        }

    def holders_of(self, *values: object) -> list[str]:
        """Variables that cannot be kept, a generator say, and that reach one of `values`."""
        refused = [r.variable for r in self._capturer.refusals()]
        namespace = self._tracker.namespace
        wanted = [value for value in values if type(value) not in ATOMS]
        if not refused or not wanted:
            return []
        there = (n for n in refused if n in namespace)
        return [n for n in there if reaches_any(namespace[n], wanted, namespace)]

    def holders_of_any(self, names: Iterable[str]) -> set[str]:
        """Variables that cannot be kept, and hold an object that one of `names` holds now."""
        namespace = self._tracker.namespace
        return set(self.holders_of(*(namespace[n] for n in names if n in namespace)))

    def lasting(self, checkpoint: Checkpoint) -> set[str]:
        """Names that hold what a checkpoint could not keep, and no cell makes the same again.

        It may have moved on since: a server, a thread, a connection.
        """
        from nbckpt.codecs.external_state import lives_outside

        namespace, known = self._tracker.namespace, self._objects.get(checkpoint.id, {})
        same = {n for n, of in known.items() if n in namespace and of() is namespace[n]}
        with allowed():  # what is found inside may be the user's own mapping
            return {n for n in same if lives_outside(namespace[n])}
