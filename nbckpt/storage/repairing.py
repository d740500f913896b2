"""Mend a store: what can be rebuilt is written anew, what is lost is named, nothing is deleted.

All is written beside what is there and takes its place by one rename, as in a prune, with the same
locks. What was damaged moves into ``.damaged/``, where its user looks at it, or deletes it. Killed
at any instant, a repair leaves a store that is as it was, or mended; the next one goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nbckpt.model import Record
from nbckpt.runtime import clock
from nbckpt.storage import file_calls
from nbckpt.storage.bridging import UNKNOWN
from nbckpt.storage.chunks_to_move import Mover, is_open
from nbckpt.storage.counted_records import CHECKPOINT
from nbckpt.storage.disk import create, delete, exists, make_folder, refused, sync_folder, write_at
from nbckpt.storage.folder import ASIDE, require_cipher
from nbckpt.storage.journal import BATCH, PRUNE, SUFFIX, whole_journal
from nbckpt.storage.locks import one_at_a_time
from nbckpt.storage.packs import SUFFIX as PACK_SUFFIX
from nbckpt.storage.pruning import TRIES, WAIT_S, hidden
from nbckpt.storage.record_counts import RECORDS
from nbckpt.storage.rewriting import NAMING
from nbckpt.storage.sizes import size_of_file
from nbckpt.storage.store import Store
from nbckpt.storage.surveying import Survey
from nbckpt.storage.writer import batch_record, new_name
from nbckpt.text.units import count_text
from nbckpt.timeline.checkpoint_records import MICROSECONDS
from nbckpt.timeline.events import tell


@dataclass(frozen=True, slots=True)
class Repaired:
    """Result of a repair.

    Attributes
    ----------
    mended
        Sentences on rebuilt parts; empty if nothing was to be done.
    lost
        Losses that nobody can rebuild.
    left
        Parts that could not be touched, and the next move.
    aside
        The folder that damaged files were moved to; None if there were none.
    """

    mended: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    aside: Path | None = None


def repair(store: Store, *, now: float | None = None) -> Repaired:
    """Rebuild what can be rebuilt.

    Raises
    ------
    StoreError
        If a prune or another repair is at work, or the disk refuses.
    """
    now = clock.now() if now is None else now
    with refused(store.path), one_at_a_time(store.path):
        store.queue.settle()
        store.signers.prepare()
        for _ in range(TRIES):
            survey = Survey(store.path, now)
            if survey.is_sound:
                return Repaired(left=tuple(survey.left))
            done = _Work(store, survey, now).run()
            if done is not None:
                with store.writing():  # which notices what was replaced
                    return done
    return Repaired(left=("other sessions wrote all the time; repair again when they rest",))


class _Work:
    """One try to mend what was found."""

    def __init__(self, store: Store, survey: Survey, now: float) -> None:
        self._store = store
        self._path = store.path
        self._survey = survey
        self._now = now
        self._began = clock.now()
        self._name = new_name(clock.now())
        self._mover = Mover(self._path / "packs", self._name)
        self._journal = self._path / "journal" / f"{self._name}{SUFFIX}"
        self._unnamed = hidden(self._journal)
        self._aside = self._path / ASIDE / self._name
        self._mended: list[str] = []
        self._lost: list[str] = []
        self._event: dict[str, object] = {}

    def run(self) -> Repaired | None:
        """Repair the store; None if others wrote meanwhile what was taken for lost."""
        require_cipher(self._path, self._store.cipher)
        try:
            for shape in self._survey.packs:
                self._mover.move(shape.pack)
            self._tell()
            self._write()
            with self._store.holds.alone(WAIT_S) as is_alone:
                took_place = is_alone and self._take_place()
        finally:
            if not exists(self._journal):
                self._mover.discard()
                delete(self._unnamed)
        if not is_alone:
            left = "nothing was changed: other sessions write all the time; repair when they rest"
            return Repaired(left=(*self._survey.left, left))
        if not took_place:
            return None
        tell(self._event)
        aside = self._aside if exists(self._aside) else None
        return Repaired(tuple(self._mended), tuple(self._lost), tuple(self._survey.left), aside)

    # -- beside what is there

    def _write(self) -> None:
        """The new journal, whole and durable, without its name."""
        first, *rest = map(dict, self._records())
        records = [{**first, RECORDS: 1 + len(rest)}, *rest]
        data = whole_journal(records, self._store.signers.of(self._name))
        fd = create(self._unnamed)
        try:
            write_at(fd, data, 0)
            file_calls.files.fsync(fd)
        finally:
            file_calls.files.close(fd)

    def _records(self) -> Iterator[Record]:
        survey, journals = self._survey, self._survey.journals
        going = {shape.name for shape in survey.packs}
        yield {
            "kind": PRUNE,
            "at": self._now,
            "replaces": sorted({*survey.lame, *journals.replaced}),
            "condemned": sorted({*going, *survey.gone, *journals.gone("condemned")}),
            "tables": sorted({*survey.tables, *journals.gone("tables")}),
            "pruned": sorted(journals.gone("pruned")),
        }
        yield from survey.batches()
        yield from map(batch_record, [*survey.found_again, *self._mover.finish()])
        known = {r["id"] for r in survey.records if r["kind"] == CHECKPOINT}
        counted = set(map(id, survey.records))
        for _, journal, _, record in survey.entries:
            kind = record["kind"]
            if kind == CHECKPOINT and id(record) in counted and record["id"] in survey.bridges:
                yield self._bridged(record)
            elif journal not in survey.lame or kind in (BATCH, PRUNE):
                continue
            elif kind not in NAMING or record.get("checkpoint") in known:
                yield record
        yield self._event

    def _bridged(self, record: Record) -> Record:
        new, lost = self._survey.bridges[record["id"]]
        if not lost:
            return new
        reason = "was lost with the damaged record of a checkpoint before it"
        names = ("what came before",) if UNKNOWN in lost else lost
        told = [{"variable": n, "path": n, "type_name": "value", "reason": reason} for n in names]
        return {**new, "refused": [*new.get("refused", ()), *told]}

    def _tell(self) -> None:
        survey = self._survey
        self._lost += (d for d in survey.journals.damages if _journal_of(d) in survey.lame)
        self._lost += (
            f"pack {pack}: is gone, with all that is in it alone" for pack in survey.gone
        )
        for name in sorted(survey.lame):
            kept = sum(entry.journal == name for entry in survey.entries)
            self._mended.append(f"journal {name}: {count_text(kept, 'record')} written anew")
        for shape in survey.packs:
            told = f"pack {shape.name}: {'; '.join(shape.wrongs)}"
            sound = count_text(len(shape.sound), "sound chunk")
            self._mended.append(f"{told}: {sound} written anew")
        found = sorted({batch.pack for batch in survey.found_again})
        self._mended += (f"pack {pack}: its batches are known again" for pack in found)
        self._mended += (f"table {t}: is made anew when it is asked for" for t in survey.tables)
        by_id = {r["id"]: r for r in survey.records if r["kind"] == CHECKPOINT}
        for i, (_, lost) in survey.bridges.items():
            name = f"checkpoint {by_id[i].get('name') or i!r} ({i})"
            self._mended.append(f"{name}: stands without the lost ones before it")
            if lost:
                what = "what came before and it did not change" if UNKNOWN in lost else None
                self._lost.append(f"{name}: {what or ', '.join(map(repr, lost))}")

        self._event = {
            "kind": "event",
            "event": "repaired",
            "at": clock.now(),
            "took_s": round(clock.now() - self._began, MICROSECONDS),
            "size_bytes": sum(map(size_of_file, self._mover.paths)),
            "outcome": "partial" if self._lost else "done",
            "mended": self._mended,
            "lost": self._lost,
        }

    # -- alone

    def _take_place(self) -> bool:
        """Give the new journal its name, and move aside what is damaged."""
        survey = self._survey
        more = survey.journals.read({})
        if survey.bridges and any(entry.record["kind"] == CHECKPOINT for entry in more):
            return False
        make_folder(self._aside)
        self._store.holds.stamp()
        file_calls.files.rename(self._unnamed, self._journal)
        sync_folder(self._journal.parent)  # before anything moves that it does without
        for shape in survey.packs:
            path = self._path / "packs" / f"{shape.name}{PACK_SUFFIX}"
            if size_of_file(path) == shape.size and not is_open(path):
                self._set_aside(path)
        for name in survey.lame:
            self._set_aside(self._path / "journal" / f"{name}{SUFFIX}")
        for table in survey.tables:
            self._set_aside(self._path / "tables" / table)
        return True

    def _set_aside(self, path: Path) -> None:
        if exists(path):
            make_folder(self._aside / path.parent.name)
            file_calls.files.rename(path, self._aside / path.parent.name / path.name)


def _journal_of(damage: str) -> str:
    """The name of the journal that a sentence about damage begins with."""
    return damage.removeprefix("journal ").split(SUFFIX)[0]
