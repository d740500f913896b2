"""Namespace → manifest: what changed since the last look, and what cannot be kept.

A name is looked at when the code that ran could have touched it, when it is bound to another
object than before, or when it shares objects with one of those. All others keep the blob they
have, however large they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

from nbckpt.capture.identity import (
    Identity,
    Place,
    Places,
    identity_of,
    is_fixed,
)
from nbckpt.capture.kept_variables import HeldObjects, KeptVariables
from nbckpt.capture.limits import Limits
from nbckpt.capture.live_names import LiveNames
from nbckpt.capture.random_states import Generators
from nbckpt.capture.recipes import Bindings
from nbckpt.capture.selection import Selection
from nbckpt.capture.shared_objects import Ties
from nbckpt.capture.trials import Trials
from nbckpt.digests import Digest
from nbckpt.fingerprint import random_state
from nbckpt.fingerprint.names import text_of_name
from nbckpt.fingerprint.reachability import reaches
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw import types_that
from nbckpt.model import Manifest, Refusal, Variable
from nbckpt.runtime.context import called_with
from nbckpt.runtime.dirty_pages.memory import READS_ALL
from nbckpt.runtime.interrupts import allowed, breathe
from nbckpt.runtime.time_limit import OutOfTimeError, bounded
from nbckpt.storage.store import Store
from nbckpt.text.describe import preview_of, shape_of, type_name_of
from nbckpt.text.progress_bar import Bar

if TYPE_CHECKING:
    from nbckpt.capture.groups import Encoder, Group


QUICK_BYTES = 2_000_000
"""So much is pickled in some 20 milliseconds."""

_NAMED = (FunctionType, type)
_NEVER = object()
"""Sentinel that no variable holds."""
_ODD = "globals()[…] made it"
_IN_PAGES = re.compile(r"(numpy|pandas|polars|pyarrow|torch)\.")


def _described(value: object) -> tuple[str, str | None, str]:
    """Type, shape and preview of a value, as far as its own code tells how it looks."""
    try:
        with allowed(), bounded(value):
            return type_name_of(value), shape_of(value), preview_of(value)
    except (Exception, OutOfTimeError):
        return type(value).__name__, None, ""


def _what_breaks(encoder: Encoder, name: str) -> str:
    """The error that a variable's own code raises at a look, as a clause; empty if none."""
    try:
        encoder.encode_groups([name])
    except Exception as error:
        return f"cannot be looked at ({type(error).__name__}: {error})"[:200]
    return ""


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


@dataclass
class Capturer:
    """Knows what of a live namespace is kept already.

    Attributes
    ----------
    hidden
        Names that are in the namespace without being the user's.
    bindings
        Which statement made which variable, for recipes.
    audit
        Called after each look, with the names that had been touched before it (None: any name):
        which names are not what was kept of them. These are looked at again.
    trials
        Loads what is kept for the first time, and tells what would not come back.
    """

    store: Store
    namespace: dict[str, object]
    hidden: Container[str] = frozenset()
    bindings: Bindings = field(default_factory=Bindings)
    audit: Callable[[set[str] | None], set[str]] | None = None
    _kept: KeptVariables = field(default_factory=KeptVariables)
    _identities: HeldObjects = field(default_factory=HeldObjects)
    _refusals: dict[str, Refusal] = field(default_factory=dict)
    _pending: set[str] | None = None  # None: any name may have changed

    def __post_init__(self) -> None:
        self._limits = Limits()
        self._looked_at: dict[str, object] | None = None
        self._is_compared = False  # what is looked at, with the last look
        self._names = LiveNames(self.hidden)
        self._doubtful: set[str] = set()  # that they hold what they held
        self._gone: set[str] = set()
        self._too_large: set[str] = set()
        self._ties = Ties()
        self.trials = Trials(self.namespace)
        self._generators = Generators(self.store)
        self._generation = self.store.generation
        self._pending = set(self.user_names())

    def obey(self, limits: Limits) -> None:
        """Keep within `limits` from now on; what was too large is looked at again."""
        self._limits = limits
        self.touched(self._too_large)

    def user_names(self) -> tuple[str, ...]:
        """The user's variables, in the order in which they were made."""
        return self._live().listed

    def present(self) -> Set[str]:
        """The same names as a set, which may change with the next call."""
        return self._live().present

    def hidden_names(self) -> Set[str]:
        """Names that are neither IPython's nor kept: nbckpt's own, and what startup files made."""
        return self._live().withheld

    def places(self) -> Places:
        """Where the objects of all names stand, without holding one."""
        names = self._live()
        weakly = {n: Place(self.namespace.get(n)) for n in self._identities.unproven}
        return Places(names.addresses(), weakly)

    def _live(self) -> LiveNames:
        """The names as they are now, or as they were when the variables began to be looked at."""
        if not self._is_compared:
            # A copy: threads bind names meanwhile.
            now = dict(self.namespace) if self._looked_at is None else self._looked_at
            moves = self._names.look(now)
            self._doubtful |= moves.bound
            self._gone |= moves.gone
            self._is_compared = self._looked_at is not None
        return self._names

    def touched(self, names: Iterable[str] | None) -> None:
        """Note that code ran which may have changed `names`; None is all of them."""
        if names is None or self._pending is None:
            self._pending = None
        else:
            self._pending.update(names)

    def let_go(self, names: Iterable[str] | None) -> None:
        """Hold no object of `names` any longer: code that may drop it is about to run.

        They count as bound to another object then. None is all names.
        """
        for name in list(self._identities) if names is None else names:
            known = self._identities.get(name)
            if type(known) is Identity and known.keeps_alive:
                self._forget_object(name)

    def distrust(self, names: Iterable[str]) -> None:
        """Have `names` looked at whatever is known of them: it turned out to be wrong."""
        doubted = set(names)
        for name in doubted:
            self._forget_object(name)
            self._ties.forget(name)
        self._generators.forget(doubted)
        self.touched(doubted - random_state.NAMES)

    @property
    def too_large(self) -> frozenset[str]:
        """Names of variables that have more bytes than they may."""
        return frozenset(self._too_large)

    def _forget_object(self, name: str) -> None:
        """Have a name count as bound to another object."""
        self._identities.pop(name, None)
        self._doubtful.add(name)

    def manifest(self) -> Manifest:
        """All variables as they are kept, as of the last look."""
        return self._kept.snapshot()

    def kept_as(self, name: str) -> Variable | None:
        """A variable as it is kept, as of the last look; None if it is not kept."""
        return self._kept.get(name)

    def needing(self, definitions: Iterable[str]) -> set[str]:
        """Names of kept variables that refer to some definitions by their names."""
        return self._kept.needing(definitions)

    def kept_names(self) -> list[str]:
        """The names of what is kept, as of the last look."""
        return list(self._kept)

    def adopt(self, restored: Mapping[str, Variable], removed: Iterable[str] = ()) -> None:
        """Take note that these names now hold what these blobs hold."""
        for name, variable in restored.items():
            self._kept[name] = variable
            self._identities[name] = identity_of(self.namespace.get(name))
            self._doubtful.add(name)
            self._gone.add(name)  # if it is not there, as a look will tell
            self._refusals.pop(name, None)
            self._ties.forget(name)
            if self._pending is not None:
                self._pending.discard(name)
        for name in removed:
            self._forget(name)
        # What refers to a definition by its name holds the one that was there till now.
        self.distrust(self._kept.needing(restored) - restored.keys())

    def settled(self) -> Manifest:
        """The kept variables that are still as they were: no code can have changed them since."""
        if self._pending is None:
            return {}
        unsure = self._pending | self._not_the_same()
        unsure = self._closed(unsure, self._kept) if unsure else unsure
        if not any(n in self._kept for n in unsure):
            return self._kept.snapshot()
        return {n: v for n, v in self._kept.items() if unsure.isdisjoint(v.group)}

    def settled_digest(self) -> Digest:
        """A digest of all variables; empty if one is not kept, or not settled."""
        kept = self._kept
        if self._pending is None or self.refusals():
            return Digest("")
        unsure = self._pending | self._not_the_same()
        if any(n in kept for n in unsure):
            return Digest("")
        # Of the names that are kept all are there now, since none is gone.
        n_states = sum(name in kept for name in random_state.NAMES)
        is_whole = len(kept) - n_states == len(self.present())
        return Digest(kept.digest() if is_whole else "")

    def is_untouched(self, names: Iterable[str]) -> bool:
        """True if no code is known to have touched any of `names` since they were looked at."""
        return self._pending is not None and self._pending.isdisjoint(names)

    def untouched(self) -> set[str]:
        """Names, there or kept, that no code is known to have touched since they were looked at."""
        if self._pending is None:
            return set()
        return {*self.user_names(), *self._kept} - self._pending - random_state.NAMES

    def untouched_objects(self) -> set[str]:
        """Of these, the ones that hold what may change where it stands."""
        if self._pending is None:
            return set()
        return self._identities.others - self._pending - random_state.NAMES

    def quick_to_look_at(self) -> list[str]:
        """The names of values that are small, or arrays whose pages tell what was written."""
        kept = self._kept
        names = [n for n in self.user_names() if n not in self._refusals]
        sizes = {n: kept[n].size_bytes if n in kept else 0 for n in names}
        found = [n for n in sizes if n in kept and _IN_PAGES.match(kept[n].type_name)]
        size = 0
        for name in sorted(sizes.keys() - set(found), key=sizes.__getitem__):
            size += sizes[name]
            if size > QUICK_BYTES:
                break
            found.append(name)
        return found

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
            self._looked_at = dict(self.namespace)  # threads bind names meanwhile
            self._is_compared = False
            kept, objects = self._kept.snapshot(), self._identities.snapshot()
            refusals, gone = dict(self._refusals), set(self._gone)
            pending = None if self._pending is None else set(self._pending)
            try:
                captured = self._capture(selection, only, base)
                if self.audit is not None and (stale := self.audit(pending)):
                    self.distrust(stale)
                    again = called_with(READS_ALL, True, self._capture, selection, only, base)
                    captured = replace(
                        again,
                        changed=captured.changed | again.changed,
                        removed=captured.removed | again.removed,
                        missed=frozenset(stale),
                    )
                breathe()
            except BaseException:
                self._kept.revert(kept)
                self._doubtful.update(objects.overlay)
                self._identities.revert(objects)
                self._refusals, self._pending = refusals, pending
                self._gone |= gone
                raise
            finally:
                self._looked_at, self._is_compared = None, False
            return captured

    def _now(self) -> dict[str, object]:
        """The variables; while they are looked at, as they were when that began."""
        return self.namespace if self._looked_at is None else self._looked_at

    def forget_lost(self) -> None:
        """Know nothing of what was kept and is not in the store any more, since a prune.

        The next capture encodes and puts it again.
        """
        if self.store.generation == self._generation:
            return
        self._generation = self.store.generation
        lost = {n for n, v in list(self._kept.items()) if self._is_lost(v)}
        for name in lost:
            del self._kept[name]
            self._ties.forget(name)
        self._generators.forget_lost(self._is_lost)
        self.touched(lost - random_state.NAMES)

    def _is_lost(self, variable: Variable) -> bool:
        return not self.store.can_rely_on(variable.blob)

    def _capture(
        self, selection: Selection, only: Container[str] | None, base: Container[str]
    ) -> Captured:
        present = self.present()
        removed = {n for n in self._gone if n not in present} - random_state.NAMES
        removed = {n for n in removed if n in self._kept or n in self._refusals}
        affected = {g for n in removed if n in self._kept for g in self._kept[n].group}
        looked_at = self._to_look_at(affected, removed)
        if only is not None:
            self.touched(looked_at)
            looked_at = self._closed({n for n in looked_at if n in only}, present)
        left_out = {n for n in looked_at if not selection.follows(n, n in self._kept or n in base)}
        looked_at -= left_out
        for name in left_out:
            self._kept.pop(name, None)
            self._refusals.pop(name, None)
        changed = self._keep(sorted(looked_at)) if looked_at else set()
        # A value without its class is none: definitions come along whether asked for or not.
        while needed := (self._missing_definitions() & present) - looked_at:
            changed |= self._keep(sorted(needed))
            looked_at |= needed
            left_out -= needed
        changed |= self.capture_random_states()
        for name in removed:
            self._forget(name)
        self._gone.clear()
        pending = present if self._pending is None else self._pending & present
        pending = {n for n in pending if not self.is_as_kept(n)}
        self._pending = (pending - looked_at - removed) | left_out
        omitted = tuple(n for n in self.user_names() if n in left_out) if left_out else ()
        return Captured(
            self.manifest(), frozenset(changed), frozenset(removed), self.refusals(), omitted
        )

    def _missing_definitions(self) -> set[str]:
        """The functions and classes that kept values refer to, and that are not kept."""
        return self._kept.needed() - self._kept.keys()

    def _to_look_at(self, affected: set[str], removed: set[str]) -> set[str]:
        """Names that may have changed, closed over what they share objects with."""
        present = self.present()
        now, kept = self._now(), self._kept
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
        return self._closed(found & present, present)

    def _behind_refused(self, found: set[str], present: Set[str]) -> set[str]:
        """Variables that share objects with unkeepable ones of `found`, as far as can be told."""
        refused = found & self._refusals.keys()
        if not refused:
            return set()
        from nbckpt.fingerprint.referents import names_reached

        others = {n for n in present - found if n in self._kept and not self.is_as_kept(n)}
        return names_reached((self._now()[n] for n in refused), others, self._now())

    def is_as_kept(self, name: str) -> bool:
        """True if a name holds the same object, and that cannot have changed."""
        value = self._now()[name]
        return name in self._kept and is_fixed(value) and self._holds_same(name, value)

    def _holds_same(self, name: str, value: object) -> bool:
        """True if `value` is the object that a name held at the last look."""
        known = self._identities.get(name, _NEVER)
        return known is value or (type(known) is Identity and known.is_of(value))

    def _not_the_same(self) -> set[str]:
        """Names, there or kept, that hold another object than at the last look, or none.

        An object whose address is the same is the same one if it was held meanwhile.
        """
        present, now = self.present(), self._now()
        doubtful = {n for n in self._doubtful if n in present or n in self._kept}
        self._doubtful = {n for n in doubtful if not self._holds_same(n, now.get(n))}
        changed = {n for n in self._identities.unproven if not self._holds_same(n, now.get(n))}
        gone = {n for n in self._gone if n not in present and n in self._kept}
        return (self._doubtful | changed | gone) - random_state.NAMES

    def _closed(self, found: set[str], present: Container[str]) -> set[str]:
        """`found` and all that shares objects with it, or that it refers to and that can change."""
        queue = list(found)
        while queue:
            variable = self._kept.get(queue.pop())
            if variable is None:
                continue
            for mate in (*variable.group, *self.changeable(variable.needs)):
                if mate in present and mate not in found:
                    found.add(mate)
                    queue.append(mate)
        return found

    def changeable(self, needs: Iterable[str]) -> list[str]:
        """Of definitions that a value refers to by name, those that can change through it."""
        from nbckpt.fingerprint.values.definitions import holds_state

        now = self._now()
        found = [(n, now.get(n)) for n in needs]
        return [n for n, v in found if isinstance(v, FunctionType | type) and holds_state(v)]

    def _forget(self, name: str) -> None:
        self._kept.pop(name, None)
        self._refusals.pop(name, None)
        self._forget_object(name)
        self._ties.forget(name)

    def _keep(self, looked_at: list[str]) -> set[str]:
        """Encode and store these names; which of them changed."""
        encoder = self.encoder(self._names.definitions())
        with allowed():
            outcomes = self._encoded(encoder, looked_at)
        outcomes = self._without_lost(self.trials.judged(outcomes, self._now(), encoder))
        self._too_large = (self._too_large - set(looked_at)) | encoder.too_large
        self._ties.learn(encoder.ties)
        self._renew_refusals({n for o in outcomes if o.encoded is None for n in o.names})
        size = sum(memoryview(p).nbytes for o in outcomes if o.encoded for p in o.encoded.parts)
        changed: set[str] = set()
        with Bar("saving", size) as bar:
            for outcome in outcomes:
                changed |= self._keep_group(outcome, bar)
        return changed

    def _without_lost(self, groups: list[Group]) -> list[Group]:
        """The groups, with refusals of what refers to a definition that is refused."""
        gone: set[str] = set()
        while lost := {n for g in groups if g.encoded is None for n in g.names} - gone:
            gone |= lost
            groups = [one for group in groups for one in self._without(gone, group)]
        return groups

    def _without(self, gone: set[str], group: Group) -> list[Group]:
        """A group, or refusals of its variables if it refers to what is gone."""
        needed = () if group.encoded is None else sorted(gone & group.encoded.needs)
        if not needed:
            return [group]
        why = f"needs {' and '.join(needed)}, which cannot be kept"
        return group.refused(dict.fromkeys(group.names, why), self._now())

    def _encoded(self, encoder: Encoder, names: list[str]) -> list[Group]:
        """The groups of some variables; one whose own code breaks a look costs nothing but itself.

        Whatever it raises where nobody expects it: its class may say what `==` means of classes.
        """
        try:
            return encoder.encode_groups(names)
        except Exception as error:
            broken = {name: why for name in names if (why := _what_breaks(encoder, name))}
            if not broken:
                raise error from None
        rest = encoder.encode_groups([name for name in names if name not in broken])
        refusals = (Refusal(name, name, "?", why) for name, why in broken.items())
        return [*rest, *(self._group_of(refusal) for refusal in refusals)]

    @staticmethod
    def _group_of(refusal: Refusal) -> Group:
        from nbckpt.capture.groups import Group

        return Group((refusal.variable,), None, (refusal,))

    def encoder(self, definitions: Sequence[str]) -> Encoder:
        """An encoder of the variables that knows nothing of what was kept.

        Parameters
        ----------
        definitions
            Names of functions and classes that streams may refer to; others are no matter.
        """
        # Not before something is kept: a restore into an empty namespace keeps nothing.
        from nbckpt.capture.groups import Encoder
        from nbckpt.codecs.pickler import homes_of

        homes = homes_of(self._now(), self._homes_first(definitions))
        limit, ways = self._limits.value_bytes, self.trials.ways
        return Encoder(self.namespace, self.bindings, homes, limit, self._now(), ways)

    def _homes_first(self, definitions: Sequence[str]) -> list[str]:
        """Names of definitions; first those under which one was kept, not as another's name.

        What is written under a name stays there: an older name that is bound to it refers to it.
        """
        now, kept = self._now(), self._kept
        named = types_that(lambda kind: issubclass(kind, _NAMED), map(now.get, definitions))
        definitions = [n for n in definitions if id(type(now[n])) in named]
        held = {n: now[n] for n in definitions if n in kept and self._holds_same(n, now[n])}
        homes = {
            n for n, v in held.items() if not any(held.get(m) is v for m in kept[n].needs if m != n)
        }
        return sorted(definitions, key=lambda n: n not in homes)

    def value_of(self, name: str) -> object:
        """The value of a name; while the variables are looked at, as it was when that began."""
        return self._now()[name]

    def _keep_group(self, outcome: Group, bar: Bar) -> set[str]:
        for name in outcome.names:
            self._identities[name] = identity_of(self._now()[name])
            self._doubtful.discard(name)
        if outcome.encoded is None:
            return self._refuse(outcome)
        size = sum(memoryview(part).nbytes for part in outcome.encoded.parts)
        blob = self.store.put_blob(outcome.encoded.parts, within=self._limits.store_bytes)
        bar.advance(size)
        changed = set()
        for name in outcome.names:
            self._refusals.pop(name, None)
            before = self._kept.get(name)
            if before is not None and before.blob == blob and before.group == outcome.names:
                continue
            value = self._now()[name]
            changed.add(name)
            type_name, shape, preview = _described(value)
            self._kept[name] = Variable(
                name=name,
                blob=blob,
                value=outcome.values.get(name, blob),
                type_name=type_name,
                size_bytes=size,
                shape=shape,
                preview=preview,
                group=outcome.names,
                needs=tuple(sorted(outcome.encoded.needs)),
                recipe=name in outcome.recipes,
            )
        return changed

    def _renew_refusals(self, looked_at: set[str]) -> None:
        """Have what holds, or is held by, something that may have changed count as changed."""
        now = self._now()
        present = [n for n in looked_at if n in now]
        for name in self._refusals.keys() - looked_at:
            if name in now and any(
                reaches(now[n], now[name], self.namespace)
                or reaches(now[name], now[n], self.namespace)
                for n in present
            ):
                self._refusals[name] = Refusal(*self._refusals[name])

    def _refuse(self, outcome: Group) -> set[str]:
        changed = set()
        for refusal in outcome.refusals:
            name = refusal.variable
            if self._kept.pop(name, None) is not None or name not in self._refusals:
                changed.add(name)
            self._refusals[name] = refusal
        return changed

    def still_refuses(self, refusal: Refusal) -> bool:
        """True if a variable that could not be kept was neither touched nor bound since."""
        name = refusal.variable
        if self._refusals.get(name) is not refusal or self._pending is None:
            return False
        return name not in self._pending and self._holds_same(name, self.namespace.get(name))

    def may_share(self, names: Iterable[str]) -> bool:
        """True if some of `names` may share an object with what has not been looked at."""
        now = self.namespace
        shareable = {n for n in names if n in now and not is_fixed(now[n])}
        if not shareable or self._pending is None:
            return bool(shareable)
        return any(n in now and not is_fixed(now[n]) for n in self._pending)

    def refusals(self) -> tuple[Refusal, ...]:
        """Refusals of all that cannot be kept, as of the last look."""
        return (*self._refusals.values(), *map(self._refusal_of, self._live().odd))

    def _refusal_of(self, name: Any) -> Refusal:
        """The refusal of what is bound to no name that code can use."""
        value = self._now().get(name)
        why = f"is under a name that no code can use: bind it to another ({_ODD})"
        text = text_of_name(name)
        return Refusal(text, text, type(value).__name__, why)

    def sharing(self, names: Iterable[str]) -> list[tuple[str, ...]]:
        """Groups of `names` that share objects that can change; nothing is stored."""
        mutable = self._shareable(self.namespace, names)
        if len(mutable) < 2:
            return []
        if self.settled().keys() >= set(mutable):
            known = self._ties.groups(mutable)
            if known is not None:
                return known
        return self.sharing_within(self.namespace, mutable)

    def sharing_within(
        self, namespace: dict[str, object], names: Iterable[str]
    ) -> list[tuple[str, ...]]:
        """The same of any namespace; what is kept as a statement, or not at all, shares nothing."""
        from nbckpt.capture.groups import Encoder
        from nbckpt.codecs.pickler import homes_of

        mutable = self._shareable(namespace, names)
        if len(mutable) < 2:
            return []
        homes = homes_of(namespace, self.user_names())
        with allowed():
            return Encoder(namespace, self.bindings, homes).sharing(mutable)

    def _shareable(self, namespace: Mapping[str, object], names: Iterable[str]) -> list[str]:
        return [
            n
            for n in names
            if type(namespace[n]) not in ATOMS
            and n not in self._refusals
            and not self._is_made_again(n)
        ]

    def _is_made_again(self, name: str) -> bool:
        return name in self._kept and self._kept[name].recipe

    def capture_random_states(self) -> set[str]:
        """Look at the random generators alone; names of those that have moved on."""
        with self.store.writing():
            found = self._generators.look()
        changed = {n for n, v in found.items() if n not in self._kept or self._kept[n] != v}
        self._kept.update(found)
        return changed
