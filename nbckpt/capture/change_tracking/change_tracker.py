"""The names of a live namespace that may hold another value than at the last look.

A name is looked at when the code that ran could have touched it, when it is bound to another
object than before, or when it shares objects with one of those. All others keep the blob they
have, however large they are.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from types import FunctionType

from nbckpt.capture.change_tracking.identity import (
    Place,
    Places,
    identity_of,
    is_fixed,
)
from nbckpt.capture.change_tracking.kept_variables import HeldObjects, KeptVariables, Refusals
from nbckpt.capture.change_tracking.live_names import LiveNames
from nbckpt.digests import Digest
from nbckpt.fingerprint import random_generators
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.model import Manifest, Refusal
from nbckpt.runtime.dict_version import version_of


class ChangeTracker:
    """Knows which names were touched, are settled, or hold what they held at the last look.

    Attributes
    ----------
    namespace
        The live variables.
    kept
        The variables as they are kept, as of the last look.
    refusals
        Those that cannot be kept, as of the last look.
    objects
        The objects that the names held then.

    Parameters
    ----------
    hidden
        Names that are in the namespace without being the user's.
    """

    def __init__(self, namespace: dict[str, object], hidden: Container[str] = frozenset()) -> None:
        self.namespace = namespace
        self.kept = KeptVariables()
        self.refusals = Refusals()
        self.objects = HeldObjects()
        self._names = LiveNames(hidden)
        self._looked_at: dict[str, object] | None = None
        self._is_compared = False  # what is looked at, with the last look
        self._version: int | None = None  # of the names at their last look, where Python tells it
        self._version_looked_at: int | None = None
        self._doubtful: set[str] = set()  # that they hold what they held
        self._gone: set[str] = set()
        self._touched: set[str] | None = None
        self._left_out: set[str] = set()
        self._pending: set[str] | None = set(self.user_names())  # None: any name may have changed

    def user_names(self) -> tuple[str, ...]:
        """The user's variables, in the order in which they were made."""
        return self.live().listed

    def present(self) -> Set[str]:
        """The same names as a set, which may change with the next call."""
        return self.live().present

    def hidden_names(self) -> Set[str]:
        """Names that are neither IPython's nor kept: nbckpt's own, and what startup files made."""
        return self.live().withheld

    def places(self) -> Places:
        """Where the objects of all names stand, without holding one."""
        addresses = self.live().addresses()
        return Places(addresses, {n: Place(self.namespace.get(n)) for n in self.objects.unproven})

    def live(self) -> LiveNames:
        """The names as they are now, or as they were when the variables began to be looked at."""
        if self._is_compared:
            return self._names
        is_copied = self._looked_at is not None
        version = self._version_looked_at if is_copied else version_of(self.namespace)
        if version is None or version != self._version or self._names.hides_more():
            # A copy: threads bind names meanwhile.
            moves = self._names.look(self.values() if is_copied else dict(self.namespace))
            self._version = version
            self._doubtful |= moves.bound
            self._gone |= moves.gone
            if self._touched is not None:
                self._touched |= moves.bound
        self._is_compared = is_copied
        return self._names

    def values(self) -> dict[str, object]:
        """The variables; while they are looked at, as they were when that began."""
        return self.namespace if self._looked_at is None else self._looked_at

    def touched(self, names: Iterable[str] | None) -> None:
        """Note that code ran which may have changed `names`; None is all of them."""
        if names is None:
            self._pending = self._touched = None
            return
        names = set(names)
        if self._pending is not None:
            self._pending |= names
        if self._touched is not None:
            self._touched |= names

    def take_touched(self) -> set[str] | None:
        """The names that were touched or bound since this was asked last; None: any.

        A look at the variables in between makes no difference.
        """
        self.live()
        touched, self._touched = self._touched, set()
        return touched

    def may_hold_parts_of(self, names: set[str] | None) -> Set[str]:
        """The names that may share an object with what some held, or hold; None: with any.

        What a variable shares that cannot be kept is not known: with one of these it is all. So it
        is with what was touched and not looked at since.
        """
        present = self.present()
        if names is None or self._pending is None:
            return present
        unsure = names | self._pending
        return present if unsure & self.refusals.keys() else self.closed(unsure, present)

    def let_go(self, names: Iterable[str] | None) -> None:
        """Hold no object of `names` any longer: code that may drop it is about to run.

        They count as bound to another object then. None is all names.
        """
        for name in self.objects.kept_alive(names):
            self.forget_object(name)

    def forget_object(self, name: str) -> None:
        """Have a name count as bound to another object."""
        self.objects.pop(name, None)
        self._doubtful.add(name)

    def holds(self, name: str) -> None:
        """Note that a name was looked at, and the object that it holds."""
        self.objects[name] = identity_of(self.values()[name])
        self._doubtful.discard(name)

    def was_restored(self, name: str) -> None:
        """Note that a name holds now what is kept of it."""
        self.objects[name] = identity_of(self.namespace.get(name))
        self._doubtful.add(name)
        self._gone.add(name)  # if it is not there, as a look will tell
        if self._touched is not None:
            self._touched.add(name)
        if self._pending is not None:
            self._pending.discard(name)

    @contextmanager
    def looking(self) -> Iterator[set[str] | None]:
        """Have the variables stay as they are now while they are looked at.

        Yields the names that were touched before (None: any). If the look fails, or is
        interrupted, it is as if nobody had looked.
        """
        version = version_of(self.namespace)
        self._looked_at = dict(self.namespace)  # threads bind names meanwhile
        is_of_copy = version_of(self.namespace) == version  # a finalizer may bind names, too
        self._version_looked_at = version if is_of_copy else None
        self._is_compared = False
        kept, objects = self.kept.snapshot(), self.objects.snapshot()
        refusals, gone = Refusals(self.refusals), set(self._gone)
        pending = None if self._pending is None else set(self._pending)
        try:
            yield pending
        except BaseException:
            self.kept.revert(kept)
            self._doubtful.update(objects.overlay)
            self.objects.revert(objects)
            self.refusals, self._pending = refusals, pending
            self._gone |= gone
            raise
        finally:
            self._looked_at, self._is_compared = None, False

    def looked_at(self, names: set[str], *, removed: set[str], left_out: set[str]) -> None:
        """Note the outcome of a look: names that were looked at, went, or wait for the next."""
        self._gone.clear()
        present = self.present()
        pending = present if self._pending is None else self._pending & present
        pending = {n for n in pending if not self.is_as_kept(n)}
        self._pending = (pending - names - removed) | left_out
        self._left_out = (self._left_out - names - removed) | left_out

    def mates_of_left_out(self, names: set[str], present: Set[str]) -> Set[str]:
        """Variables that share objects with those of some names that no look has seen so far.

        Which share with these is told by no group: the look that left them out kept the others.
        """
        late, values = names & self._left_out, self.values()
        if not late:
            return set()
        from nbckpt.fingerprint import keys
        from nbckpt.fingerprint.referents import names_reached

        others = present - names
        mates = names_reached([values[n] for n in late], others & values.keys(), values)
        return self.closed(mates | (keys.on_same_memory(late, values) & others), present)

    def removed(self) -> set[str]:
        """Names that were there at the last look, kept or refused, and are gone."""
        present = self.present()
        removed = {n for n in self._gone if n not in present} - random_generators.NAMES
        return {n for n in removed if n in self.kept or n in self.refusals}

    def suspects(self, removed: set[str]) -> set[str]:
        """Names that may have changed, closed over what they share objects with."""
        affected = {g for n in removed if n in self.kept for g in self.kept[n].group}
        present = self.present()
        now, kept = self.values(), self.kept
        rebound = self._not_the_same() & present
        found = set(present if self._pending is None else (self._pending | affected) & present)
        found = {
            n for n in found if n not in kept or not (type(now[n]) in ATOMS or is_fixed(now[n]))
        }
        found |= rebound
        # A blob that refers to a function by name is stale when the name means another one now,
        # or none: what is deleted may be held by another name still.
        found |= kept.needing(rebound | removed)
        found |= self._behind_refused(found & present, present)
        return self.closed(found & present, present)

    def _behind_refused(self, found: set[str], present: Set[str]) -> set[str]:
        """Variables that share objects with unkeepable ones of `found`, as far as can be told."""
        refused = found & self.refusals.keys()
        if not refused:
            return set()
        from nbckpt.fingerprint.referents import names_reached

        others = {n for n in present - found if n in self.kept and not self.is_as_kept(n)}
        return names_reached((self.values()[n] for n in refused), others, self.values())

    def _not_the_same(self) -> set[str]:
        """Names, there or kept, that hold another object than at the last look, or none.

        An object whose address is the same is the same one if it was held meanwhile.
        """
        present, now = self.present(), self.values()
        doubtful = {n for n in self._doubtful if n in present or n in self.kept}
        self._doubtful = {n for n in doubtful if not self.objects.hold(n, now.get(n))}
        changed = {n for n in self.objects.unproven if not self.objects.hold(n, now.get(n))}
        gone = {n for n in self._gone if n not in present and n in self.kept}
        return (self._doubtful | changed | gone) - random_generators.NAMES

    def closed(self, found: set[str], present: Container[str]) -> set[str]:
        """`found` and all that shares objects with it, or that it refers to and that can change."""
        queue = list(found)
        while queue:
            variable = self.kept.get(queue.pop())
            if variable is None:
                continue
            for mate in (*variable.group, *changeable_definitions(variable.needs, self.values())):
                if mate in present and mate not in found:
                    found.add(mate)
                    queue.append(mate)
        return found

    def is_as_kept(self, name: str) -> bool:
        """True if a name holds the same object, and that cannot have changed."""
        value = self.values()[name]
        return name in self.kept and is_fixed(value) and self.objects.hold(name, value)

    def settled(self) -> Manifest:
        """The kept variables that are still as they were: no code can have changed them since."""
        if self._pending is None:
            return {}
        unsure = self._pending | self._not_the_same()
        unsure = self.closed(unsure, self.kept) if unsure else unsure
        if not any(n in self.kept for n in unsure):
            return self.kept.snapshot()
        return {n: v for n, v in self.kept.items() if unsure.isdisjoint(v.group)}

    def settled_digest(self) -> Digest:
        """A digest of all variables; empty if one is not kept, or not settled."""
        kept = self.kept
        if self._pending is None:
            return Digest("")
        if self.refusals or self.live().odd:
            return Digest("")
        if any(n in kept for n in self._pending | self._not_the_same()):
            return Digest("")
        # Of the names that are kept all are there now, since none is gone.
        n_states = sum(name in kept for name in random_generators.NAMES)
        return Digest(kept.digest() if len(kept) - n_states == len(self.present()) else "")

    def is_untouched(self, names: Iterable[str]) -> bool:
        """True if no code is known to have touched any of `names` since they were looked at."""
        return self._pending is not None and self._pending.isdisjoint(names)

    def untouched(self) -> set[str]:
        """Names, there or kept, that no code is known to have touched since they were looked at."""
        if self._pending is None:
            return set()
        return {*self.user_names(), *self.kept} - self._pending - random_generators.NAMES

    def quick_to_look_at(self) -> list[str]:
        """The names of values that are small, or arrays whose pages tell what was written."""
        return self.kept.quick_to_look_at(n for n in self.user_names() if n not in self.refusals)

    def still_refuses(self, refusal: Refusal) -> bool:
        """True if a variable that could not be kept was neither touched nor bound since."""
        name = refusal.variable
        if self.refusals.get(name) is not refusal or self._pending is None:
            return False
        return name not in self._pending and self.objects.hold(name, self.namespace.get(name))

    def may_share(self, names: Iterable[str]) -> bool:
        """True if some of `names` may share an object with what has not been looked at."""
        now = self.namespace
        shareable = {n for n in names if n in now and not is_fixed(now[n])}
        if not shareable or self._pending is None:
            return bool(shareable)
        return any(n in now and not is_fixed(now[n]) for n in self._pending)


def changeable_definitions(needs: Iterable[str], values: Mapping[str, object]) -> list[str]:
    """Of definitions that a value refers to by name, those that can change through it."""
    from nbckpt.fingerprint.values.definitions import holds_state

    found = [(n, values.get(n)) for n in needs]
    return [n for n, v in found if isinstance(v, FunctionType | type) and holds_state(v)]
