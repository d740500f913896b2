"""Check of kept values against the live ones, without the rules that looks at them rely on.

A look skips variables that it has reasons to think unchanged. A reason may be wrong, and then an
old value is kept, and restored, without a warning. So after each cell one variable is captured
again without any of these reasons; where the setting `verify` says so, all of them are, after
each look.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.config.sources import verify_log
from nbckpt.errors import StaleCaptureError
from nbckpt.fingerprint import random_state
from nbckpt.fingerprint.names import Own
from nbckpt.runtime.context import called_with
from nbckpt.runtime.dirty_pages.memory import READS_ALL, is_as_known
from nbckpt.runtime.dirty_pages.tracker import give_up
from nbckpt.session.audit_sampling import RESTLESS, Names, Sampler

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbckpt.capture.recapture import Recapture, Recaptured
    from nbckpt.model import Key, Variable
    from nbckpt.session.workspace import Keeping

EVENT = "stale"
"""In the journal, for each variable that was not as it was kept."""

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


class Audit(Own):
    """Compares what a session keeps with what is there.

    Attributes
    ----------
    found
        Each variable that was not as it was kept, or not what a run gives, oldest first.
    looked_at
        How many variables were captured again.
    shadows
        What came of running restored steps as well: ``compared``, or why not → how often.
    """

    def __init__(self, session: Keeping) -> None:
        self.found: list[Stale] = []
        self.looked_at = 0
        self.shadows: Counter[str] = Counter()
        self._session = session
        self._is_due = False
        self._same: dict[tuple[str, str], str] = {}  # variable, its blob → bytes of the same value
        self._restless: Counter[Names] = Counter()
        self._sampler = Sampler(session.capturer, self._restless)
        self._told: set[str] = set()

    @property
    def mode(self) -> str:
        """The setting `verify`: ``off``, ``on`` or ``raise``."""
        return self._session.settings.verify

    def ran(self) -> None:
        """Take note that code ran: the next look is followed by a sample."""
        self._is_due = True

    # -- when -------------------------------------------------------------------------------

    def after_look(self, touched: set[str] | None) -> set[str]:
        """The names that a look has missed; called before it ends.

        Parameters
        ----------
        touched
            What code was known to have touched before the look; None: anything.

        Raises
        ------
        StaleCaptureError
            If there are some, and the setting says so.
        """
        try:
            if self.mode != "off":
                stale = self._stale_of_all(touched)
            elif self._is_due:
                stale = self._stale_of_one(touched)
            else:
                return set()
        except Exception as defect:
            self.tell_defect(defect)
            return set()
        self._is_due = False
        self.report(stale, "it is kept now")
        return {one.name for one in stale}

    def sample(self) -> None:
        """After a cell that no look followed: look at one variable that it did not touch."""
        if not self._is_due or self._session.position is None:
            return
        self._is_due = False
        try:
            stale = self._stale_of_one(frozenset())
        except Exception as defect:
            self.tell_defect(defect)
            return
        self._session.capturer.distrust(one.name for one in stale)
        self.report(stale, "the next checkpoint has it")

    def compare_keys(self, step: str, known: Key, now: Key) -> None:
        """Report what of a key that was taken from an earlier run is not so here.

        Raises
        ------
        StaleCaptureError
            If there is something, and the setting says so.
        """
        if known.digest != now.digest:
            from nbckpt.fingerprint.keys import difference

            why = "; ".join(difference(known, now)) or "its key is another"
            self.report([Stale(step, step, f"restored by a key that it has not: {why}")], "it runs")

    # -- what -------------------------------------------------------------------------------

    def _stale_of_all(self, touched: set[str] | None) -> list[Stale]:
        capturer, names = self._session.capturer, set(self._session.tracker.user_names())
        names &= capturer.tracker.untouched()
        names -= {refusal.variable for refusal in capturer.refusals()}  # absent, and never wrong
        kept = capturer.manifest()
        states, generators = random_state.states(), self._stale_generators()
        while apart := {n for n in names if n in kept and not names.issuperset(kept[n].group)}:
            names -= apart
        found = self._recapture().groups_read_whole(sorted(names))
        self.looked_at += len(names)
        suspects = [group for group in found if not self._is_as_kept(group)]
        stale = self._stale_among(suspects, touched)
        random_state.put_states(states)  # values whose own code draws numbers were taken apart
        return [*generators, *stale]

    def _stale_of_one(self, touched: Iterable[str] | None) -> list[Stale]:
        group = self._sampler.drawn(touched)
        if group is None:
            return []
        if (view := self._sampler.watched_memory(group)) is not None:
            return self._stale_in_chunk(group[0], view)
        capturer = self._session.capturer
        kept = capturer.kept_as(group[0])
        needed = {*group, *(kept.needs if kept else ())} & self._session.namespace.keys()
        began = time.perf_counter()
        found = self._recapture().groups(group, needed)
        self._sampler.took(group, time.perf_counter() - began)
        self.looked_at += len(group)
        if all(self._is_as_kept(one) for one in found):
            return []
        found = self._recapture().groups_read_whole(group)  # with every definition
        suspects = [one for one in found if not self._is_as_kept(one)]
        return self._stale_among(suspects, None if touched is None else set(touched))

    def _stale_in_chunk(self, name: str, view: memoryview) -> list[Stale]:
        """One chunk of a large array at random, read although nothing was written to it."""
        self.looked_at += 1
        if is_as_known(view, self._sampler.chunk(view)):
            return []
        give_up()
        return [Stale(name, name, _UNWRITTEN)]

    # -- how --------------------------------------------------------------------------------

    def _recapture(self) -> Recapture:
        from nbckpt.capture.recapture import Recapture

        return Recapture(self._session.capturer)

    def _is_as_kept(self, found: Recaptured) -> bool:
        kept = [self._session.capturer.kept_as(name) for name in found.names]
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

        capturer = self._session.capturer
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
        capturer = self._session.capturer
        if touched is not None and name not in touched:
            return "no code that ran was found to touch it"
        if self._recapture().blobs(kept.group).get(name) == kept.blob:
            give_up()
            return _UNWRITTEN
        if capturer.tracker.is_as_kept(name):
            kind = type(capturer.tracker.values()[name]).__name__
            return f"it seemed to be the same object, and nothing inside of {kind!r} can change"
        return "the look found other bytes"

    def _stale_generators(self) -> list[Stale]:
        from nbckpt.codecs.encode import encode
        from nbckpt.codecs.pickler import Scope
        from nbckpt.storage.blobs import digest_of_parts

        kept = self._session.capturer.manifest()
        return [
            Stale(name, name, "its state seemed to be the same")
            for name, state in random_state.states().items()
            if name in kept
            and digest_of_parts(encode({name: state}, Scope({}), with_shares=False).parts)
            != kept[name].blob
        ]

    # -- what comes of it -------------------------------------------------------------------

    def report(self, stale: list[Stale], what_then: str) -> None:
        """Tell the user, the journal and the log of `verify` what was found.

        Raises
        ------
        StaleCaptureError
            If the setting says so.
        """
        session = self._session
        for one in stale:
            self.found.append(one)
            session.owe_event(EVENT, name=one.name, error=one.rule, step=one.step or None)
            if one.name not in self._told or self.mode != "off":
                session.writing.news.append(f"{one}; {what_then}")
            self._told.add(one.name)
        if stale and (log := verify_log()):
            _append(log, stale)
        if stale and self.mode == "raise":
            message = "; ".join(map(str, stale))
            raise StaleCaptureError(message)

    def tell_defect(self, defect: Exception) -> None:
        """Tell of an error of our own: it breaks neither a look nor a restore."""
        where = "looking at a variable once more"
        self._session.owe_event("hook_failed", where=where, error=type(defect).__name__)
        if self.mode == "off":
            return
        trace = "".join(traceback.format_exception(defect))
        self._session.writing.news.append(f"{where} failed, by a defect in nbckpt: {trace}")
        if log := verify_log():
            _append(log, [Stale("", "", f"a defect in the audit: {trace}")])


def _sharing_text(before: Names, now: Names) -> str:
    gained = ", ".join(sorted({*now} - {*before}))
    lost = ", ".join(sorted({*before} - {*now}))
    texts = [f"shares objects with {gained}"] if gained else []
    texts += [f"shares nothing with {lost} any more"] if lost else []
    return f"it {' and '.join(texts)}, which no look had found"


def _append(log: Path, stale: list[Stale]) -> None:
    """One line for each, whole: other processes write there too."""
    lines = "".join(json.dumps({"pid": os.getpid(), **asdict(one)}) + "\n" for one in stale)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, lines.encode())
    finally:
        os.close(descriptor)
