"""Check of kept values against the live ones, without the rules that looks at them rely on.

A look skips variables that it has reasons to think unchanged. A reason may be wrong, and then an
old value is kept, and restored, without a warning. So after each cell one variable is captured
again without any of these reasons; where the setting `verify` says so, all of them are, after
each look.
"""

from __future__ import annotations

import json
import os
import traceback
from collections import Counter
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.config.settings_sources import verify_log
from nbckpt.errors import StaleCaptureError
from nbckpt.fingerprint.user_names import Own
from nbckpt.runtime.user_code_errors import user_code_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbckpt.capture.capture import Capturer
    from nbckpt.model import Key
    from nbckpt.session.branch_position import BranchPosition
    from nbckpt.session.pending_writes import PendingWrites
    from nbckpt.session.workspace.stale_search import Stale, StaleSearch

EVENT = "stale"
"""In the journal, for each variable that was not as it was kept."""


class Audit(Own):
    """Compares what a session keeps with what is there.

    Attributes
    ----------
    found
        Each variable that was not as it was kept, or not what a run gives, oldest first.
    mode
        The setting `verify`: ``off``, ``on`` or ``raise``.
    shadows
        What came of running restored steps as well: ``compared``, or why not → how often.
    """

    def __init__(
        self,
        capturer: Capturer,
        namespace: Mapping[str, object],
        position: BranchPosition,
        writes: PendingWrites,
    ) -> None:
        self.found: list[Stale] = []
        self.shadows: Counter[str] = Counter()
        self.mode = "off"
        self._capturer = capturer
        self._namespace = namespace
        self._position = position
        self._writes = writes
        self._is_due = False
        self._told: set[str] = set()

    @cached_property
    def search(self) -> StaleSearch:
        """Looks at the variables again."""
        from nbckpt.session.workspace.stale_search import StaleSearch

        return StaleSearch(self._capturer, self._namespace)

    def ran(self) -> None:
        """Take note that code ran: the next look is followed by a sample."""
        self._is_due = True

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
                stale = self.search.of_all(touched)
            elif self._is_due:
                stale = self.search.of_one(touched)
            else:
                return set()
        except user_code_errors() as defect:
            self.tell_defect(defect)
            return set()
        self._is_due = False
        self.report(stale, "it is kept now")
        return {one.name for one in stale}

    def sample(self) -> None:
        """After a cell that no look followed: look at one variable that it did not touch."""
        if not self._is_due or self._position.id is None:
            return
        self._is_due = False
        try:
            stale = self.search.of_one(frozenset())
        except user_code_errors() as defect:
            self.tell_defect(defect)
            return
        self._capturer.distrust(one.name for one in stale)
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
            from nbckpt.session.workspace.stale_search import Stale

            why = "; ".join(difference(known, now)) or "its key is another"
            self.report([Stale(step, step, f"restored by a key that it has not: {why}")], "it runs")

    def report(self, stale: list[Stale], what_then: str) -> None:
        """Tell the user, the journal and the log of `verify` what was found.

        Raises
        ------
        StaleCaptureError
            If the setting says so.
        """
        for one in stale:
            self.found.append(one)
            self._writes.owe_event(EVENT, name=one.name, error=one.rule, step=one.step or None)
            if one.name not in self._told or self.mode != "off":
                self._writes.news.append(f"{one}; {what_then}")
            self._told.add(one.name)
        if stale and (log := verify_log()):
            _append(log, stale)
        if stale and self.mode == "raise":
            message = "; ".join(map(str, stale))
            raise StaleCaptureError(message)

    def tell_defect(self, defect: BaseException) -> None:
        """Tell of an error of our own: it breaks neither a look nor a restore."""
        where = "looking at a variable once more"
        self._writes.owe_event("hook_failed", where=where, error=type(defect).__name__)
        if self.mode == "off":
            return
        trace = "".join(traceback.format_exception(defect))
        self._writes.news.append(f"{where} failed, by a defect in nbckpt: {trace}")
        if log := verify_log():
            from nbckpt.session.workspace.stale_search import Stale

            _append(log, [Stale("", "", f"a defect in the audit: {trace}")])


def _append(log: Path, stale: list[Stale]) -> None:
    """One line for each, whole: other processes write there too."""
    lines = "".join(json.dumps({"pid": os.getpid(), **asdict(one)}) + "\n" for one in stale)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, lines.encode())
    finally:
        os.close(descriptor)
