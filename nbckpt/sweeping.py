"""One look at what is kept: encode it again, compare, and keep what differs.

What can have been changed without a cell that names it, `nbckpt.verification` decides.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nbckpt import randomness
from nbckpt.building import Values
from nbckpt.digests import Digest
from nbckpt.model import AUTOMATIC, Cell, Checkpoint
from nbckpt.storage.blobs import digest_of_parts
from nbckpt.values import ValueDigester

if TYPE_CHECKING:
    from nbckpt.session import Session

NAME = "changed-while-idle"
"""Of the checkpoints that a sweep makes."""

Names = tuple[str, ...]


class Memory(NamedTuple):
    """What sweeps leave to the next ones.

    Attributes
    ----------
    took_s
        Seconds of the last look.
    same
        Variable and its blob → other bytes that mean the same value.
    restless
        How often a group was found to change while it was looked at.
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
        self._kept = session.capturer.manifest()

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
                self._session.capturer.touched(changed)
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
        with self._session.holding():
            return self._keep()

    def _keep(self) -> Checkpoint | None:
        session = self._session
        captured = session.capturer.capture(only=self.found)
        draft = session.draft(NAME, captured, cell=Cell(""), duration_s=0.0)
        changed = {*draft.changed, *draft.removed} - randomness.NAMES
        self.found &= changed
        if not changed:
            return None
        # Only these were looked at: what cells did that are joined is not all here.
        bound = tuple(sorted(changed))
        draft = replace(draft, tags=(AUTOMATIC,), bound=bound, joined=())
        session.commit(draft, patience_s=0.0)
        return draft

    def _changed(self, group: Names) -> set[str]:
        space = self._session.namespace
        present = [name for name in group if name in space]
        blobs = self._blobs(present)
        changed = {n for n, blob in blobs.items() if not self._is_kept_as(n, blob)}
        if changed and not self._can_be_told(group, present, blobs):
            same = {(n, self._kept[n].blob): blobs[n] for n in changed if n in self._kept}
            self._memory.same.update(same)
            changed = set()
        return changed | (set(group) - set(present))

    def _blobs(self, names: list[str]) -> dict[str, Digest]:
        """Digests of the bytes that would be kept of these names now, of those that can be."""
        from nbckpt.codecs.pickler import homes_of
        from nbckpt.grouping import Encoder

        session = self._session
        homes = homes_of(session.namespace, session.capturer.user_names())
        encoder = Encoder(session.namespace, session.capturer.bindings, homes)
        return {
            name: digest_of_parts(outcome.encoded.parts)
            for outcome in encoder.encode_groups(names)
            if outcome.encoded is not None  # else a thread is at it just now
            for name in outcome.names
        }

    def _can_be_told(self, group: Names, names: list[str], blobs: dict[str, Digest]) -> bool:
        """Whether other bytes mean another value here.

        Each pickle of a figure differs from the last. A set that came from another process has
        its items in another order.
        """
        before = self._session.digests_of(names)
        if self._blobs(names) != blobs:
            if self._session.digests_of(names) == before:
                return False
            self._memory.restless[group] += 1  # it is being changed just now, or always another
            return True
        return before != self._digests_as_kept(names)

    def _digests_as_kept(self, names: list[str]) -> dict[str, Digest]:
        values = Values(self._session.store, self._kept)
        try:
            for name in names:
                values.build(name)
            digester = ValueDigester(values.namespace)
            return {name: digester.digest(values.namespace[name]) for name in sorted(names)}
        except Exception:  # whatever a value's own code raises: what is live is kept
            return {}

    def _is_kept_as(self, name: str, blob: Digest) -> bool:
        kept = self._kept.get(name)
        return kept is not None and blob in (
            kept.blob,
            self._memory.same.get((name, kept.blob)),
        )
