"""One look at what is kept: encode it again, compare, and keep what differs.

What can have been changed without a cell that names it, `nbckpt.session.verification` decides.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.capture.recapture import Recapture, Verdict
from nbckpt.digests import Digest
from nbckpt.fingerprint import random_generators
from nbckpt.model import AUTOMATIC, Cell, Checkpoint

if TYPE_CHECKING:
    from nbckpt.session.session import Session

NAME = "changed-while-idle"
"""Of the checkpoints that a sweep makes."""

Names = tuple[str, ...]


class Memory(NamedTuple):
    """Findings that sweeps leave to the next ones.

    Attributes
    ----------
    took_s
        Seconds of the last look.
    same
        Variable and its blob → other bytes that mean the same value.
    restless
        Number of times that a group was found to change while it was looked at.
    """

    took_s: dict[Names, float]
    same: dict[tuple[str, Digest], Digest]
    restless: Counter[Names]


class Sweep:
    """One look at everything, in slices.

    Attributes
    ----------
    found
        Names that are not as they were kept.
    """

    def __init__(self, session: Session, groups: list[Names], memory: Memory) -> None:
        self.found: set[str] = set()
        self._session = session
        self._todo = deque(groups)
        self._memory = memory
        self._recapture = Recapture(session.workspace.capturer)
        self._kept = session.workspace.capturer.manifest()

    def go_on(self, budget_s: float) -> bool:
        """Look at variables for some time, at one at least; whether there are more.

        What is found counts as touched from then on, so that the next checkpoint has it.
        """
        until = time.perf_counter() + budget_s
        while self._todo:
            began = time.perf_counter()
            group = self._todo.popleft()
            changed = self._changed(group)
            ended = time.perf_counter()
            if not changed:  # else what was kept was built too, to compare it
                self._memory.took_s[group] = ended - began
            else:
                self.found |= changed
                self._session.workspace.capturer.distrust(changed)
            if ended > until:
                break
        return bool(self._todo)

    def keep(self) -> Checkpoint | None:
        """Checkpoint what was found, and nothing else; None if all is as it was kept.

        Raises
        ------
        StoreError
            If the disk refuses; the next checkpoint tries again.
        """
        if not self.found:
            return None
        with self._session.checkpoints.holding():
            return self._keep()

    def _keep(self) -> Checkpoint | None:
        session = self._session
        captured = session.workspace.capturer.capture(only=self.found)
        draft = session.checkpoints.draft(NAME, captured, cell=Cell(""), duration_s=0.0)
        changed = {*draft.changed, *draft.removed} - random_generators.NAMES
        self.found &= changed
        if not changed:
            return None
        # Only these were looked at: what cells did that are joined is not all here.
        bound = tuple(sorted(changed))
        draft = replace(draft, tags=(AUTOMATIC,), bound=bound, joined=())
        session.checkpoints.commit(draft, patience_s=0.0)
        return draft

    def _changed(self, group: Names) -> set[str]:
        space = self._session.namespace
        present = [name for name in group if name in space]
        blobs = self._recapture.blobs(present)  # what is not there, a thread is at just now
        changed = {n for n, blob in blobs.items() if not self._is_kept_as(n, blob)}
        if changed and not self._can_be_told(group, present, blobs):
            same = {(n, self._kept[n].blob): blobs[n] for n in changed if n in self._kept}
            self._memory.same.update(same)
            changed = set()
        return changed | (set(group) - set(present))

    def _can_be_told(self, group: Names, names: list[str], blobs: dict[str, Digest]) -> bool:
        """True if other bytes mean another value here; if in doubt, they do."""
        verdict = self._recapture.judged(names, blobs, self._kept).verdict
        self._memory.restless[group] += verdict is Verdict.RESTLESS
        return verdict not in (Verdict.SAME, Verdict.UNTOLD)

    def _is_kept_as(self, name: str, blob: Digest) -> bool:
        kept = self._kept.get(name)
        return kept is not None and blob in (
            kept.blob,
            self._memory.same.get((name, kept.blob)),
        )
