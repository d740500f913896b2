"""The live variables as groups of bytes: refusals of what cannot be kept, and shared objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING

from nbckpt.capture.change_tracking.change_tracker import ChangeTracker
from nbckpt.capture.groups.shared_objects import Ties
from nbckpt.capture.recipes.bindings import Bindings
from nbckpt.digests import Digest
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw_members import types_that
from nbckpt.model import Refusal
from nbckpt.runtime.interrupts import allowed
from nbckpt.runtime.user_code_errors import user_code_errors

if TYPE_CHECKING:
    from nbckpt.capture.groups.groups import Encoder, Group
    from nbckpt.capture.groups.looks import KnownLook
    from nbckpt.capture.trials import Trials

_NAMED = (FunctionType, type)


class LiveEncoder:
    """Encodes the variables as they are now, and finds those that share objects.

    Attributes
    ----------
    bindings
        Which statement made which variable, for recipes.
    too_large
        Names of variables that have more bytes than they may.
    max_bytes
        Bytes that a variable may have; None for any number.
    """

    def __init__(self, tracker: ChangeTracker) -> None:
        self.bindings = Bindings()
        self.too_large: set[str] = set()
        self.max_bytes: int | None = None
        self._tracker = tracker
        self._ties = Ties()
        self._looks: dict[str, KnownLook] = {}

    @cached_property
    def trials(self) -> Trials:
        """Loads what is kept for the first time, and tells what would not come back."""
        from nbckpt.capture.trials import Trials

        return Trials(self._tracker.namespace)

    def groups(self, names: list[str]) -> list[Group]:
        """All of `names` in groups; one that would not come back has no bytes, but refusals."""
        encoder = self.group_encoder(self._tracker.live().definitions(), self._usable_looks(names))
        with allowed():
            groups = self._encoded(encoder, names)
        tried = self.trials.judged(groups, self._tracker.values(), encoder)
        self.too_large = (self.too_large - set(names)) | encoder.too_large
        self._ties.learn(encoder.ties)
        for name in (name for group in tried if not group.known for name in group.names):
            self._looks.pop(name, None)
        return self._without_lost(tried)

    def note_kept(self, group: Group, blob: Digest) -> None:
        """Know a variable again that is as it was when a blob of it was stored."""
        if group.look is not None:
            from nbckpt.capture.groups.looks import KnownLook

            self._looks[group.names[0]] = KnownLook(group.look, blob)

    def forget(self, name: str) -> None:
        """Know nothing more of a variable: what it shares, and how it was."""
        self._ties.forget(name)
        self._looks.pop(name, None)

    def _usable_looks(self, names: Iterable[str]) -> dict[str, KnownLook]:
        """The looks at variables that are still kept in the blob that followed the look."""
        from nbckpt.runtime.dirty_pages.memory import READS_ALL

        if READS_ALL.get():
            return {}
        return {name: self._looks[name] for name in names if self._is_usable(name)}

    def _is_usable(self, name: str) -> bool:
        look, kept = self._looks.get(name), self._tracker.kept.get(name)
        if look is None or kept is None or kept.blob != look.blob or kept.group != (name,):
            return False
        return self.max_bytes is None or kept.size_bytes <= self.max_bytes

    def group_encoder(
        self, definitions: Sequence[str], looks: Mapping[str, KnownLook] | None = None
    ) -> Encoder:
        """An encoder of the variables that knows nothing of what was kept.

        Parameters
        ----------
        definitions
            Names of functions and classes that streams may refer to; others are no matter.
        looks
            How variables were when they were kept, where that counts.
        """
        # Not before something is kept: a restore into an empty namespace keeps nothing.
        from nbckpt.capture.groups.groups import Encoder
        from nbckpt.codecs.references import homes_of

        homes = homes_of(self._tracker.values(), self._homes_first(definitions))
        values, ways = self._tracker.values(), self.trials.ways
        return Encoder(
            self._tracker.namespace, self.bindings, homes, self.max_bytes, values, ways, looks
        )

    def _homes_first(self, definitions: Sequence[str]) -> list[str]:
        """Names of definitions; first those under which one was kept, not as another's name.

        What is written under a name stays there: an older name that is bound to it refers to it.
        """
        now, kept = self._tracker.values(), self._tracker.kept
        objects = self._tracker.objects
        named = types_that(lambda kind: issubclass(kind, _NAMED), map(now.get, definitions))
        definitions = [n for n in definitions if id(type(now[n])) in named]
        held = {n: now[n] for n in definitions if n in kept and objects.hold(n, now[n])}
        homes = {
            n for n, v in held.items() if not any(held.get(m) is v for m in kept[n].needs if m != n)
        }
        return sorted(definitions, key=lambda n: n not in homes)

    def _encoded(self, encoder: Encoder, names: list[str]) -> list[Group]:
        """The groups of some variables; one whose own code breaks a look costs nothing but itself.

        Whatever it raises where nobody expects it: its class may say what `==` means of classes.
        """
        try:
            return encoder.encode_groups(names)
        except user_code_errors() as error:
            broken = {name: why for name in names if (why := _what_breaks(encoder, name))}
            if not broken:
                raise error from None
        rest = encoder.encode_groups([name for name in names if name not in broken])
        refusals = (Refusal(name, name, "?", why) for name, why in broken.items())
        return [*rest, *(_group_of(refusal) for refusal in refusals)]

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
        return group.refused(dict.fromkeys(group.names, why), self._tracker.values())

    def sharing(self, names: Iterable[str]) -> list[tuple[str, ...]]:
        """Groups of `names` that share objects that can change; nothing is stored."""
        mutable = self._shareable(self._tracker.namespace, names)
        if len(mutable) < 2:
            return []
        if self._tracker.settled().keys() >= set(mutable):
            known = self._ties.groups(mutable)
            if known is not None:
                return known
        return self.sharing_within(self._tracker.namespace, mutable)

    def sharing_within(
        self, namespace: dict[str, object], names: Iterable[str]
    ) -> list[tuple[str, ...]]:
        """The same of any namespace; what is kept as a statement, or not at all, shares nothing."""
        from nbckpt.capture.groups.groups import Encoder
        from nbckpt.codecs.references import homes_of

        mutable = self._shareable(namespace, names)
        if len(mutable) < 2:
            return []
        homes = homes_of(namespace, self._tracker.user_names())
        with allowed():
            return Encoder(namespace, self.bindings, homes).sharing(mutable)

    def _shareable(self, namespace: Mapping[str, object], names: Iterable[str]) -> list[str]:
        kept, refusals = self._tracker.kept, self._tracker.refusals
        return [
            n
            for n in names
            if type(namespace[n]) not in ATOMS
            and n not in refusals
            and not (n in kept and kept[n].recipe)
        ]


def _what_breaks(encoder: Encoder, name: str) -> str:
    """The error that a variable's own code raises at a look, as a clause; empty if none."""
    try:
        encoder.encode_groups([name])
    except user_code_errors() as error:
        return f"cannot be looked at ({type(error).__name__}: {error})"[:200]
    return ""


def _group_of(refusal: Refusal) -> Group:
    from nbckpt.capture.groups.groups import Group

    return Group((refusal.variable,), None, (refusal,))
