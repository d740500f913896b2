"""Give back the room of what no branch, tag or kept checkpoint reaches.

All is written anew beside what is there, and then takes its place by one rename. Killed at any
instant, a prune leaves a store that is as it was, or pruned, with files that the next one deletes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.model import Record
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import allowed, whole
from nbckpt.storage import file_calls
from nbckpt.storage.chunks_to_move import Mover, Pack, is_open
from nbckpt.storage.counted_records import values_of
from nbckpt.storage.disk import (
    FULL,
    create,
    delete,
    exists,
    refused,
    sync_folder,
    unfinished_in,
    write_at,
)
from nbckpt.storage.folder import ROOMS, require_cipher
from nbckpt.storage.journal import SUFFIX, whole_journal
from nbckpt.storage.locks import one_at_a_time
from nbckpt.storage.packs import SUFFIX as PACK_SUFFIX
from nbckpt.storage.private_folder import keep_private, require_no_links
from nbckpt.storage.prune_plan import Edit, Plan
from nbckpt.storage.record_counts import RECORDS
from nbckpt.storage.sizes import size_of_file
from nbckpt.storage.store import Store
from nbckpt.storage.writer import batch_record, new_name
from nbckpt.text.units import bytes_text, count_text
from nbckpt.timeline import events
from nbckpt.timeline.prune_retention import Retention

WAIT_S = 10.0
TRIES = 5
DAY_S = 86_400
_IS_DAMAGED = "what is damaged was left as it is: `nbckpt check` lists it, and `--repair` mends it"
MINUTE_S = 60
"""An unfinished file that is older belongs to nobody."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """Result of a prune.

    Attributes
    ----------
    checkpoints
        Id and name of each that is gone.
    left
        Reason that something was left that was to go, and the next move, or a tag to forget that
        nothing has; empty if all is as asked.
    dry_run
        True if nothing was removed: so it would be.
    calls
        Number of model calls and kept calls that are gone.
    """

    checkpoints: tuple[tuple[str, str], ...]
    kept_checkpoints: int
    freed_bytes: int
    left: str = ""
    dry_run: bool = False
    calls: int = 0

    def __repr__(self) -> str:
        would, freed = ("would prune", "would free") if self.dry_run else ("pruned", "freed")
        gone = count_text(len(self.checkpoints), "checkpoint")
        gone += f" and {count_text(self.calls, 'call')}" if self.calls else ""
        left = f"; {self.left}" if self.left else ""
        room = bytes_text(self.freed_bytes)
        return f"<{would} {gone}, {freed} {room}; {self.kept_checkpoints:,} kept{left}>"


def prune(
    store: Store, retention: Retention, *, now: float | None = None, dry_run: bool = False
) -> Pruned:
    """Remove what is not to be kept, and the room that it took.

    Other sessions go on meanwhile; nobody waits for more than the renames.

    Raises
    ------
    UsageError
        If a branch to drop does not exist.
    StoreError
        If another prune is at work, or the disk refuses.
    """
    now = clock.now() if now is None else now
    if dry_run:
        plan = Plan(store.path, retention, now, signers=store.signers)
        freed = plan.freed_bytes()
        return Pruned(
            tuple(plan.removed),
            len(plan.kept),
            freed,
            plan.left,
            dry_run=True,
            calls=plan.calls.count,
        )
    began = time.perf_counter()
    try:
        done = _prune(store, retention, now)
    except StoreError as problem:
        events.tell({"event": "prune_failed", "error": str(problem)})
        raise
    members = {"checkpoints": len(done.checkpoints), "size_bytes": done.freed_bytes}
    events.tell({"event": "pruned", "took_s": time.perf_counter() - began, **members})
    return done


def rewrite(store: Store, edit: Edit) -> str:
    """Write anew what nobody writes to, with each record as `edit` says; why something was left.

    It needs the room of the store once more. Killed at any instant, the store is as it was or
    written anew.

    Raises
    ------
    StoreError
        If a prune is at work, or the disk refuses.
    """
    return _prune(store, Retention(), clock.now(), edit).left


@whole
def _prune(store: Store, retention: Retention, now: float, edit: Edit | None = None) -> Pruned:
    with refused(store.path), one_at_a_time(store.path):
        require_no_links(store.path, ROOMS)  # what lies behind one is not the store's to delete
        keep_private(store.path, ROOMS)
        store.signers.prepare()
        store.queue.settle()
        for _ in range(TRIES):
            with allowed():
                unwritten = store.queue.unwritten()
                plan = Plan(store.path, retention, now, unwritten, store.signers, edit)
            done = _Work(store, plan).run()
            if done is not None:
                with store.writing():  # which notices what has gone
                    return done
    return Pruned((), 0, 0, left="other sessions wrote all the time; prune again when they rest")


class _Work:
    """One try to do what was planned."""

    def __init__(self, store: Store, plan: Plan) -> None:
        self._store = store
        self._path = store.path
        self._plan = plan
        self._name = new_name(clock.now())
        self._mover = Mover(self._path / "packs", self._name)
        self._journal = self._path / "journal" / f"{self._name}{SUFFIX}"
        self._unnamed = hidden(self._journal)
        self._left = ""
        self._freed = 0
        self._began = time.perf_counter()

    def run(self) -> Pruned | None:
        """Prune the store; None if others wrote meanwhile what leans on what was to go."""
        plan = self._plan
        plan.journals.require_all()
        self._delete(self._leftovers())
        if plan.is_empty:
            return Pruned((), len(plan.kept), self._freed, self._told())
        require_cipher(self._path, self._store.cipher)
        try:
            with allowed():
                packs = self._move()
            if plan.is_edit and (self._left or plan.reach.damaged):
                self._left = _IS_DAMAGED if plan.reach.damaged else self._left
                return Pruned((), len(plan.kept), 0, self._left)
            self._write(packs)
            with self._store.holds.alone(WAIT_S) as is_alone:
                took_place = is_alone and self._take_place(packs)
        finally:
            if not exists(self._journal):
                self._mover.discard()
                delete(self._unnamed)
        if not is_alone:
            left = (
                "nothing was removed: other sessions wrote all the time, or have what a full disk"
                " refused; prune again"
            )
            return Pruned((), len(plan.kept) + len(plan.removed), self._freed, left)
        if not took_place:
            return None
        self._delete([*plan.journals.old(), *self._leftovers()])
        self._freed -= sum(map(size_of_file, [self._journal, *self._mover.paths]))
        return Pruned(
            tuple(plan.removed),
            len(plan.kept),
            max(self._freed, 0),
            self._told(),
            calls=plan.calls.count,
        )

    # -- beside what is there

    def _move(self) -> list[Pack]:
        """Copy what is needed of the packs that are to go; those that can."""
        packs = self._plan.packs
        try:
            going = [pack for pack in packs if not pack.needed or self._mover.move(pack)]
        except OSError as error:
            if error.errno not in FULL:
                raise
            self._mover.discard()
            self._left = "the disk had no room to write packs anew; try again"
            return [pack for pack in packs if not pack.needed]
        if len(going) < len(packs):
            self._left = _IS_DAMAGED
        return going

    def _write(self, packs: list[Pack]) -> None:
        """The new journal, whole and durable, without its name."""
        plan = self._plan
        first: Record = {
            "kind": "prune",
            "at": clock.now(),
            "replaces": sorted({*plan.journals.dead, *plan.journals.replaced}),
            "condemned": sorted({*(pack.name for pack in packs), *plan.journals.gone("condemned")}),
            "tables": sorted({*(path.name for path in plan.tables), *plan.journals.gone("tables")}),
            "pruned": plan.pruned,
        }
        batches = [*plan.journals.batches(), *map(batch_record, self._mover.finish())]
        told = "secrets_removed" if plan.is_edit else "pruned"
        event: dict[str, object] = {"kind": "event", "event": told, "at": clock.now()}
        event["checkpoints"] = len(plan.removed)
        event["size_bytes"] = plan.freed_bytes()
        event["took_s"] = round(time.perf_counter() - self._began, 6)
        if plan.calls.bereft:
            event["steps"] = plan.calls.bereft
        records = [first, *batches, *plan.records, event]
        records[0] = {**first, RECORDS: len(records)}  # a cut journal is told by it
        data = whole_journal(records, self._store.signers.of(self._name))
        fd = create(self._unnamed)
        try:
            write_at(fd, data, 0)
            file_calls.files.fsync(fd)
        finally:
            file_calls.files.close(fd)

    # -- alone

    def _take_place(self, packs: list[Pack]) -> bool:
        """Give the new journal its name, and take away those of what goes."""
        plan = self._plan
        more = [*plan.journals.more(), *self._store.queue.unwritten()]
        plan.journals.require_all()
        if not plan.goes_on(more):
            return False
        needed = plan.needed_by(more)
        values = {*plan.values, *(v for e in more for v in _values(e.record))}
        self._store.holds.stamp()
        file_calls.files.rename(self._unnamed, self._journal)
        sync_folder(self._journal.parent)  # before anything goes that it does without
        for pack in packs:
            path = self._path / "packs" / f"{pack.name}{PACK_SUFFIX}"
            is_as_it_was = size_of_file(path) == pack.size and not is_open(path)
            if is_as_it_was and needed.get(pack.name, {}).keys() <= self._mover.moved:
                file_calls.files.rename(path, hidden(path))
        for table in {*plan.tables} & {*plan.tables_without(values)}:
            with suppress(FileNotFoundError):
                file_calls.files.rename(table, hidden(table))
        return True

    # -- afterwards

    def _leftovers(self) -> Iterator[Path]:
        """Files that a prune took the names of, and others that belong to nobody."""
        yield from unfinished_in(self._path / "packs")  # only prunes have such there
        for room in ("journal", "tables"):
            for path in unfinished_in(self._path / room):
                taken = room == "tables" and path.name in self._taken()
                # A session locks its journal as soon as it has made it; a table takes its time.
                patience_s = DAY_S if room == "tables" or is_open(path) else MINUTE_S
                if taken or clock.now() - _changed_at(path) > patience_s:
                    yield path
        yield from (p for p in self._plan.journals.old() if p.stem in self._plan.journals.replaced)

    def _taken(self) -> set[str]:
        names = {*self._plan.journals.gone("tables"), *(path.name for path in self._plan.tables)}
        return {hidden(Path(name)).name for name in names}

    def _delete(self, paths: Iterable[Path]) -> None:
        for path in list(paths):
            self._freed += size_of_file(path)
            delete(path)

    def _told(self) -> str:
        if self._plan.reach.damaged:
            return "no pack was touched: what is needed is damaged; `nbckpt check` lists it"
        return self._left or self._plan.left


def hidden(path: Path) -> Path:
    """The name of a file that has not its name yet, or not any more."""
    return path.with_name(f".{path.name}.tmp")


def _values(record: Record) -> Iterator[str]:
    return values_of(record) if record["kind"] == "checkpoint" else iter(())


def _changed_at(path: Path) -> float:
    try:
        return file_calls.files.lstat(path).st_mtime
    except FileNotFoundError:  # it has its name now
        return clock.now()
