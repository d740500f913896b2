"""History of a namespace, in its order: the place of its last move, and the cells since.

A line of checkpoints alone does not tell it. Where the first cell of a finished notebook is
restored, the session stands at its checkpoint, and what the other cells made is still there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.jupyter.notebook.runs import Restored, Run, runs_of
from nbckpt.model import Checkpoint, Record, is_trusted
from nbckpt.runtime import clock
from nbckpt.storage.journal_lines import whole

if TYPE_CHECKING:
    from nbckpt.session.session import Session

_MOVES = frozenset({"resumed", "rewound", "forked", "switched", "updated", "fell_back"})
LATE_S = 1.0
"""An event may be so much later among the store's than what it tells of."""


class _Event(NamedTuple):
    """A move, or a cell that was restored: where it led, and the cell's own names for itself."""

    at: float
    checkpoint: str
    took_s: float
    cell_id: str | None = None
    execution_count: int | None = None
    source_crc: int | None = None

    @classmethod
    def of(cls, event: Record) -> _Event:
        return cls(
            event["at"],
            event["checkpoint"],
            event.get("took_s", 0.0),
            *(event.get(name) for name in cls._fields[3:]),
        )

    def run(self, checkpoint: Checkpoint) -> Run:
        """The cell that was restored, whichever made its checkpoint."""
        cell = checkpoint.cell._replace(cell_id=self.cell_id, execution_count=self.execution_count)
        return Run(cell, checkpoint, is_own=True, restored=Restored(self.took_s, self.source_crc))


class Happened:
    """The history of one session's namespace.

    Attributes
    ----------
    taken
        How many events of the store were looked at.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._generation = 0
        self._odd = ("", 0.0)
        self.begin()

    def begin(self) -> None:
        """Know nothing."""
        self.taken = 0
        self._moved = _Event(0.0, "", 0.0)
        self._restored: list[_Event] = []

    def take(self) -> None:
        """Know what has happened since."""
        store, own = self._session.store, self._session.id
        if store.generation != self._generation:
            self._generation = store.generation
            self.begin()
        until = len(store.events)  # another thread may take in more
        new = store.events.chosen(("restored", *_MOVES), start=self.taken, stop=until)
        for event in [*map(whole, new)]:  # read before anything of it counts
            if event.get("session") != own or "checkpoint" not in event:
                continue
            if event["event"] == "restored":
                self._restored.append(_Event.of(event))
            elif event["event"] in _MOVES:
                self._begin_at(_Event.of(event))
        self.taken = until
        self._follow()

    def _begin_at(self, moved: _Event) -> None:
        self._moved, self._restored = moved, []

    def _follow(self) -> None:
        """See that the session stands where no cell and no move led it: a rerun went there."""
        here = self._session.position.id
        if here is None or here in self._explained():
            self._odd = ("", 0.0)
            return
        now = time.monotonic()
        if self._odd[0] != here:
            self._odd = (here, now)
        elif now - self._odd[1] > LATE_S:
            self._begin_at(_Event(clock.now(), here, 0.0))

    def _explained(self) -> set[str]:
        """Ids of where the last move, the last restored cell and the last that was kept led."""
        session, timeline = self._session, self._session.timeline
        with timeline.lock:
            ids, known = timeline.newest_first(), timeline.checkpoints
            made = next((i for i in ids if known[i].session == session.id), "")
        return {self._moved.checkpoint, made, *(r.checkpoint for r in self._restored[-1:])}

    def runs(self) -> list[Run]:
        """All cells that made what is there, oldest first; the last ones are not kept yet."""
        session = self._session
        base, since = self._base(), self._since()
        return [
            *runs_of(base),
            *(run for _, run in since),
            *runs_of((), session.pending_cells.cells),
        ]

    def has_failed(self, checkpoint: Checkpoint) -> bool:
        """True if a cell that did not end well ran since the last move, in this process."""
        own = checkpoint.session == self._session.id
        return own and checkpoint.created_at > self._moved.at

    def ended_well(self) -> dict[str, float]:
        """Id of each cell → when it ran, or was restored, last; seconds since the epoch."""
        before = ((c.created_at, run) for c in self._base() for run in runs_of([c]))
        return {run.cell_id: at for at, run in (*before, *self._since()) if run.cell_id}

    def _base(self) -> list[Checkpoint]:
        """The line to which the last move led, oldest first."""
        timeline, target = self._session.timeline, self._moved.checkpoint
        with timeline.lock:
            return timeline.ancestry(target)[::-1] if target in timeline.checkpoints else []

    def _since(self) -> list[tuple[float, Run]]:
        """Cells that ran or were restored after the last move, and when; oldest first."""
        timeline, known = self._session.timeline, self._session.timeline.checkpoints
        base = self._base()
        with timeline.lock:
            here = self._session.position.id or ""
            line = timeline.ancestry(here) if here in known else []
            made = self._made({c.id for c in base}, line if base else [])
            restored = [
                (r.at, r.run(known[r.checkpoint])) for r in self._restored if r.checkpoint in known
            ]
        # Where a copy of another session's cell was restored, that cell did nothing here.
        brought = {r.checkpoint for r in self._restored} - {
            c.id for c in made if c.session == self._session.id
        }
        since = [
            (c.created_at, run)
            for c in made
            for run in runs_of([c])
            if not (run.is_own and c.id in brought)
        ]
        return sorted([*since, *restored], key=lambda each: each[0])

    def _made(self, base: set[str], line: list[Checkpoint]) -> list[Checkpoint]:
        """Checkpoints after the move: of this session, and on the line where it stands."""
        session = self._session
        found = {c.id: c for c in line if c.id not in base}
        for i in session.timeline.newest_first():
            checkpoint = session.timeline.checkpoints[i]
            if checkpoint.created_at <= self._moved.at:
                break
            if checkpoint.session == session.id and i not in base:
                found[i] = checkpoint
        return list(found.values())


def restored_in(session: Session) -> list[Run]:
    """Cells of this or other notebooks that were restored from what another cell had made.

    Oldest first, from all sessions of the store.
    """
    known = session.timeline.checkpoints
    found = []
    for event in session.store.events.chosen(("restored",)):
        checkpoint = known.get(str(event.get("checkpoint")))
        if checkpoint is None or not is_trusted(event):
            continue
        if event.get("cell_id") not in (None, checkpoint.cell.cell_id):
            found.append(_Event.of(event).run(checkpoint))
    return found
