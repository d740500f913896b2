"""Variables encoded once more, with no memory of what was learnt of them, and compared.

Other bytes may mean the same value: each pickle of a figure differs from the last, and a set that
came from another process has its items in another order. Then what was kept is built and digested.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.digests import Digest
from nbckpt.fingerprint.values import ValueDigester
from nbckpt.fingerprint.values.remembering import REMEMBERS
from nbckpt.model import Manifest
from nbckpt.runtime.context import called_with
from nbckpt.runtime.interrupts import allowed
from nbckpt.runtime.user_code_errors import user_code_errors

if TYPE_CHECKING:
    from nbckpt.capture.capture import Capturer
    from nbckpt.capture.decode import Values


class Recaptured(NamedTuple):
    """A group of variables as they would be kept now.

    Attributes
    ----------
    blob
        None if they cannot be kept, or are too large.
    recipes
        Names of those that are kept as the statement that makes them.
    """

    names: tuple[str, ...]
    blob: Digest | None
    recipes: frozenset[str] = frozenset()


class Verdict(Enum):
    """Meaning of bytes that differ from those that were kept.

    Attributes
    ----------
    SAME
        The same value.
    OTHER
        Another value.
    UNTOLD
        Bytes differ from one look to the next, and from those that were kept: nobody can tell.
    RESTLESS
        It is being changed just now, or it is another at each look.
    UNBUILT
        The kept value cannot be built here.
    """

    SAME = "same"
    OTHER = "other"
    UNTOLD = "untold"
    RESTLESS = "restless"
    UNBUILT = "unbuilt"


class Judged(NamedTuple):
    """A verdict, and what it rests on.

    Attributes
    ----------
    names
        Of an `OTHER`, the variables that have another value.
    values
        What was kept, where it was built.
    """

    verdict: Verdict
    names: frozenset[str] = frozenset()
    values: Values | None = None


class Recapture:
    """Encodes the live variables of a capturer, and compares them with what was kept.

    Nothing is stored, and the capturer learns nothing.
    """

    def __init__(self, capturer: Capturer) -> None:
        self._capturer = capturer

    def groups(
        self, names: Iterable[str], definitions: Iterable[str] | None = None
    ) -> list[Recaptured]:
        """Each of `names` in the one group that it belongs to.

        Parameters
        ----------
        definitions
            Names of functions and classes that streams may refer to; by default all.
        """
        from nbckpt.storage.blobs import digest_of_parts

        capturer = self._capturer
        tracker = capturer.tracker
        known = tracker.live().definitions() if definitions is None else list(definitions)
        encoder = capturer.encoder.group_encoder(known)
        with allowed():
            outcomes = called_with(REMEMBERS, False, encoder.encode_groups, list(names))
            return [
                Recaptured(o.names, digest_of_parts(o.encoded.parts), o.recipes)
                if o.encoded is not None
                else Recaptured(o.names, None)
                for o in outcomes
            ]

    def groups_read_whole(self, names: Iterable[str]) -> list[Recaptured]:
        """The same, with all memory read whatever is known of its pages."""
        from nbckpt.runtime.dirty_pages.memory import READS_ALL

        return called_with(READS_ALL, True, self.groups, names)

    def blobs(self, names: Iterable[str]) -> dict[str, Digest]:
        """Digests of the bytes that would be kept of `names` now, of those that can be."""
        return {n: group.blob for group in self.groups(names) if group.blob for n in group.names}

    def digests(self, names: Iterable[str]) -> dict[str, Digest]:
        """Digests of live values that are the same in every process."""
        tracker = self._capturer.tracker
        values = {n: tracker.values()[n] for n in sorted(names)}
        with allowed():
            return {n: ValueDigester(tracker.namespace).digest(v) for n, v in values.items()}

    def judged(self, names: list[str], blobs: Mapping[str, Digest], kept: Manifest) -> Judged:
        """Verdict on `names`, which have these bytes now and other ones in `kept`."""
        from nbckpt.capture.decode import Values

        if any(_is_gone(self._capturer.tracker.values()[name]) for name in names):
            return Judged(Verdict.UNTOLD)  # to build what was kept would import it again
        before = self.digests(names)
        if self.blobs(names) != blobs:
            is_steady = self.digests(names) == before
            return Judged(Verdict.UNTOLD if is_steady else Verdict.RESTLESS)
        values = Values(self._capturer.store, kept)
        then = self._digests_in(values, names)
        if then is None:
            return Judged(Verdict.UNBUILT)
        differing = frozenset(n for n in names if before[n] != then[n])
        return Judged(Verdict.OTHER if differing else Verdict.SAME, differing, values)

    def path_in(self, name: str, values: Values) -> str:
        """Where a live variable parts from what was kept of it."""
        from nbckpt.capture.divergence import path_of_divergence

        capturer = self._capturer
        if name not in values.namespace:
            return name
        with allowed():
            try:
                return path_of_divergence(
                    name,
                    capturer.tracker.values()[name],
                    values.namespace[name],
                    ValueDigester(capturer.tracker.namespace).digest,
                    ValueDigester(values.namespace).digest,
                )
            except user_code_errors():  # whatever a value's own code raises
                return name

    def _digests_in(self, values: Values, names: list[str]) -> dict[str, Digest] | None:
        with allowed():
            try:
                for name in names:
                    values.build(name)
                digester = ValueDigester(values.namespace)
                return {name: digester.digest(values.namespace[name]) for name in sorted(names)}
            except user_code_errors():  # whatever a value's own code raises
                return None


def _is_gone(value: object) -> bool:
    """True if a value is a module that an import would not find, but load anew."""
    if not issubclass(type(value), ModuleType):
        return False
    name = getattr(value, "__name__", None)
    return type(name) is str and sys.modules.get(name) is not value
