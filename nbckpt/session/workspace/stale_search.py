"""The search for variables that are not what is kept of them: all, or one at random."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbckpt.fingerprint import random_generators
from nbckpt.fingerprint.user_names import Own
from nbckpt.runtime.context import called_with
from nbckpt.runtime.dirty_pages.memory import READS_ALL, is_as_known
from nbckpt.runtime.dirty_pages.tracker import give_up
from nbckpt.session.workspace.audit_sampling import RESTLESS, Names, Sampler

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbckpt.capture.capture import Capturer
    from nbckpt.capture.recapture import Recapture, Recaptured
    from nbckpt.model import Variable

_UNWRITTEN = "its memory counted as not written to; from now on all memory is read"


@dataclass(frozen=True, slots=True)
class Stale:
    """A variable that is not what was kept, or restored, of it.

    Attributes
    ----------
    name
        The variable.
    path
        The way to what differs inside it.
    rule
        Why nbckpt took it for unchanged.
    step
        The step that was restored, where the restored value is not that of a run.
    """

    name: str
    path: str
    rule: str
    step: str = ""

    def __str__(self) -> str:
        where = "" if self.path == self.name else f" at {self.path}"
        if self.step:
            return f"{self.name!r}{where} is not what running {self.step!r} gives: {self.rule}"
        return f"{self.name!r} was changed{where}, and nbckpt did not see it: {self.rule}"


class StaleSearch(Own):
    """Captures variables again, and finds those that are not as they were kept.

    Attributes
    ----------
    looked_at
        Count of the variables that were captured again.
    sampler
        Chooses the one that is looked at after a cell.
    """

    def __init__(self, capturer: Capturer, namespace: Mapping[str, object]) -> None:
        self.looked_at = 0
        self._capturer = capturer
        self._namespace = namespace
        self._same: dict[tuple[str, str], str] = {}  # variable, its blob → bytes of the same value
        self._restless: Counter[Names] = Counter()
        self.sampler = Sampler(capturer, self._restless)

    def of_all(self, touched: set[str] | None) -> list[Stale]:
        """All variables that no look has captured again, against what is kept of them."""
        capturer, tracker = self._capturer, self._capturer.tracker
        names = set(tracker.user_names())
        names &= tracker.untouched()
        names -= {refusal.variable for refusal in capturer.refusals()}  # absent, and never wrong
        kept = capturer.manifest()
        states, generators = random_generators.states(), self._stale_generators()
        while apart := {n for n in names if n in kept and not names.issuperset(kept[n].group)}:
            names -= apart
        found = self._recapture().groups_read_whole(sorted(names))
        self.looked_at += len(names)
        suspects = [group for group in found if not self._is_as_kept(group)]
        stale = self._stale_among(suspects, touched)
        random_generators.put_states(states)  # values whose own code draws numbers were taken apart
        return [*generators, *stale]

    def of_one(self, touched: Iterable[str] | None) -> list[Stale]:
        """One group of variables that code has not touched, or a part of a large array."""
        group = self.sampler.drawn(touched)
        if group is None:
            return []
        if (view := self.sampler.watched_memory(group)) is not None:
            return self._stale_in_chunk(group[0], view)
        capturer = self._capturer
        kept = capturer.kept_as(group[0])
        needed = {*group, *(kept.needs if kept else ())} & self._namespace.keys()
        began = time.perf_counter()
        try:
            found = self._recapture().groups(group, needed)
            self.looked_at += len(group)
            if all(self._is_as_kept(one) for one in found):
                return []
            found = self._recapture().groups_read_whole(group)  # with every definition
            suspects = [one for one in found if not self._is_as_kept(one)]
            return self._stale_among(suspects, None if touched is None else set(touched))
        finally:
            self.sampler.took(group, time.perf_counter() - began)

    def _stale_in_chunk(self, name: str, view: memoryview) -> list[Stale]:
        """One chunk of a large array at random, read although nothing was written to it."""
        self.looked_at += 1
        if is_as_known(view, self.sampler.chunk(view)):
            return []
        give_up()
        return [Stale(name, name, _UNWRITTEN)]

    def _recapture(self) -> Recapture:
        from nbckpt.capture.recapture import Recapture

        return Recapture(self._capturer)

    def _is_as_kept(self, found: Recaptured) -> bool:
        kept = [self._capturer.kept_as(name) for name in found.names]
        if found.blob is None:
            return not any(kept)  # it was refused, and is again
        return all(
            variable is not None
            and variable.group == found.names
            and (
                found.blob == variable.blob
                or variable.recipe  # its bytes are a statement
                or found.blob == self._same.get((variable.name, variable.blob))
            )
            for variable in kept
        )

    def _stale_among(self, suspects: list[Recaptured], touched: set[str] | None) -> list[Stale]:
        """Of groups that have other bytes, the variables that have another value."""
        stale: list[Stale] = []
        for group in suspects:
            if self._restless[group.names] < RESTLESS:
                stale += self._stale_in(group, touched)
        return stale

    def _stale_in(self, group: Recaptured, touched: set[str] | None) -> list[Stale]:
        from nbckpt.capture.recapture import Verdict

        capturer = self._capturer
        kept = {n: v for n in group.names if (v := capturer.kept_as(n)) is not None}
        if group.blob is None:
            return [Stale(n, n, "what it holds now cannot be kept") for n in kept]
        if absent := [n for n in group.names if n not in kept]:
            return [Stale(n, n, "no look has found it") for n in absent]
        parted = [n for n, v in kept.items() if v.group != group.names]
        names = list(group.names)
        blobs = dict.fromkeys(names, group.blob)
        judged = called_with(
            READS_ALL, True, self._recapture().judged, names, blobs, capturer.manifest()
        )
        if judged.verdict is Verdict.RESTLESS:
            self._restless[group.names] += 1
            return []
        stale = [Stale(n, n, _sharing_text(kept[n].group, group.names)) for n in parted]
        if judged.verdict is Verdict.OTHER and judged.values is not None:
            recapture, values = self._recapture(), judged.values
            differing = [
                Stale(n, recapture.path_in(n, values), self._rule(n, kept[n], touched))
                for n in sorted(judged.names)
            ]
            return [*differing, *(one for one in stale if one.name not in judged.names)]
        if stale:
            return stale
        self._same |= {(n, v.blob): group.blob for n, v in kept.items()}
        return []

    def _rule(self, name: str, kept: Variable, touched: set[str] | None) -> str:
        """Why a look took a variable for unchanged."""
        tracker = self._capturer.tracker
        if touched is not None and name not in touched:
            return "no code that ran was found to touch it"
        if self._recapture().blobs(kept.group).get(name) == kept.blob:
            give_up()
            return _UNWRITTEN
        if tracker.is_as_kept(name):
            kind = type(tracker.values()[name]).__name__
            return f"it seemed to be the same object, and nothing inside of {kind!r} can change"
        return "the look found other bytes"

    def _stale_generators(self) -> list[Stale]:
        from nbckpt.codecs.encode import encode
        from nbckpt.codecs.pickler import Scope
        from nbckpt.storage.blobs import digest_of_parts

        kept = self._capturer.manifest()
        return [
            Stale(name, name, "its state seemed to be the same")
            for name, state in random_generators.states().items()
            if name in kept
            and digest_of_parts(encode({name: state}, Scope({}), with_shares=False).parts)
            != kept[name].blob
        ]


def _sharing_text(before: Names, now: Names) -> str:
    gained = ", ".join(sorted({*now} - {*before}))
    lost = ", ".join(sorted({*before} - {*now}))
    texts = [f"shares objects with {gained}"] if gained else []
    texts += [f"shares nothing with {lost} any more"] if lost else []
    return f"it {' and '.join(texts)}, which no look had found"
