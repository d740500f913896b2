"""The part of a history that an export takes: one checkpoint, and what belongs to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbckpt.digests import Digest
from nbckpt.errors import FormatError
from nbckpt.fingerprint.random_state import NAMES as RANDOM
from nbckpt.model import Checkpoint, Record, Refusal, Variable, is_trusted
from nbckpt.session.branch_position import MAIN
from nbckpt.session.costs import book_of, replays_in
from nbckpt.session.maintenance.trust_reasons import CODE, why_not_plain

if TYPE_CHECKING:
    from nbckpt.session.session import Session

MODULE = "is imported, which runs its code: whoever needs it imports it"
FOREIGN = "is not trusted: somebody else wrote it"


class ExportSelection:
    """The part of a checkpoint that an export writes.

    Attributes
    ----------
    kept
        Variables of the part, by name.
    left
        Variables left out, each with its reason.
    left_records
        Number of calls of its step that are left out.
    """

    def __init__(self, session: Session, checkpoint: Checkpoint, *, portable: bool) -> None:
        self._session = session
        self._checkpoint = checkpoint
        self._portable = portable
        self._reasons: dict[Digest, str | None] = {}
        self.left_records = 0
        self.kept: dict[str, Variable] = {}
        self.left: list[Refusal] = []
        for name, variable in session.timeline.manifest(checkpoint.id).items():
            if (reason := self._reason(variable)) is None:
                self.kept[name] = variable
            elif name not in RANDOM:
                reason = MODULE if variable.type_name == "module" else reason
                self.left.append(Refusal(name, name, variable.type_name, reason))
        self._leave_torn_groups()
        self.left.sort()

    def blobs(self) -> list[Digest]:
        """Of the variables, and the outputs."""
        outputs = self._checkpoint.outputs
        found = [variable.blob for variable in self.kept.values()]
        found += [outputs] if outputs else []
        return list(dict.fromkeys(found))

    def records(self) -> list[Record]:
        """The model calls of its step, those that were replayed too, and its kept calls."""
        store, timeline = self._session.store, self._session.timeline
        book, own = book_of(store, timeline), self._checkpoint.id
        calls = [*book.calls_of(own), *replays_in(store, book, own)]
        known = {record["id"]: record for record in calls}  # what was replayed may be its own
        found = [*known.values(), *(r for r in book.steps_of(own) if self._can_go(r))]
        trusted = [record for record in found if is_trusted(record)]
        self.left_records += len(found) - len(trusted)
        return trusted

    def checkpoint(self) -> Checkpoint:
        """It, as the first of its line: the cells before it are told as joined to it."""
        old = self._checkpoint
        line = self._session.timeline.ancestry(old.id)
        before = [c for one in reversed(line[1:]) for c in (*one.joined, one.cell) if c.source]
        carried = {n: v for n, v in self.kept.items() if n not in old.changed}
        changed = {n: v for n, v in old.changed.items() if n in self.kept}
        gone = {refusal.variable for refusal in self.left}
        return replace(
            old,
            # So that whoever opens it is there, whatever their notebook's name is.
            branch=MAIN,
            notebook="",
            parent=None,
            changed=changed,
            carried=carried,
            inherited={},
            removed=(),
            joined=(*before, *old.joined),
            refused=(*old.refused, *(_told_later(r) for r in self.left if r.reason != MODULE)),
            omitted=(*old.omitted, *(r.variable for r in self.left if r.reason == MODULE)),
            # A run that found it by its key would lack what was left out.
            key=None if gone else old.key,
            bound=tuple(name for name in old.bound if name not in gone),
            in_place=tuple(name for name in old.in_place if name not in gone),
        )

    def _leave_torn_groups(self) -> None:
        """Variables of one blob go together, and with the definitions that they refer to."""
        while torn := [v for v in self.kept.values() if self._missing(v)]:
            for variable in torn:
                reason = f"belongs together with {self._missing(variable)!r}, which is left out"
                refusal = Refusal(variable.name, variable.name, variable.type_name, reason)
                self.left.append(refusal)
                del self.kept[variable.name]

    def _missing(self, variable: Variable) -> str | None:
        return next((n for n in variable.needs if n not in self.kept), None)

    def _can_go(self, record: Record) -> bool:
        digest = record.get("blob")
        if not self._portable or not isinstance(digest, str):
            return True
        try:
            can = self._reason_of(digest) is None
        except FormatError:  # no variables, so nobody restores it without trust
            can = False
        self.left_records += not can
        return can

    def _reason(self, variable: Variable) -> str | None:
        """Why a variable does not go out; None if it does."""
        if not variable.trusted:
            return FOREIGN
        if not self._portable:
            return None
        return CODE if variable.recipe else self._reason_of(variable.blob)

    def _reason_of(self, digest: Digest) -> str | None:
        """Why a value cannot be restored without trust; None if it can."""
        if digest not in self._reasons:
            why = why_not_plain(self._session.store, digest)
            self._reasons[digest] = why and f"needs trust: {why}"
        return self._reasons[digest]


def _told_later(refusal: Refusal) -> Refusal:
    """As its reader needs it, who cannot have it by trusting what there is."""
    return refusal._replace(reason=f"was left out of the export, as it {refusal.reason}")
