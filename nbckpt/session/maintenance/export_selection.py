"""The part of a history that an export takes: one checkpoint, and what belongs to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbckpt.capture.trust_gate import untrusted_in
from nbckpt.digests import Digest
from nbckpt.model import Checkpoint, Record, Refusal, Variable, is_trusted
from nbckpt.session.branch_position import MAIN
from nbckpt.session.history.costs import ledger_of, replays_in
from nbckpt.timeline.recording_retention import scope_name
from nbckpt.timeline.recordings import VALUE

if TYPE_CHECKING:
    from nbckpt.session.session import Session


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

    def __init__(self, session: Session, checkpoint: Checkpoint) -> None:
        self._session = session
        self._checkpoint = checkpoint
        self.left_records = 0
        manifest = session.timeline.manifest(checkpoint.id)
        self.kept = {n: v for n, v in manifest.items() if v.trusted}
        self.left = untrusted_in(manifest)
        self._leave_torn_groups()
        self.left.sort()

    def blobs(self) -> list[Digest]:
        """Of the variables, and the outputs."""
        outputs = self._checkpoint.outputs
        found = [variable.blob for variable in self.kept.values()]
        found += [outputs] if outputs else []
        return list(dict.fromkeys(found))

    def records(self) -> list[Record]:
        """The model calls of its step, those that were replayed too, its kept calls and values."""
        store, timeline = self._session.store, self._session.timeline
        ledger, own = ledger_of(store, timeline), self._checkpoint.id
        calls = [*ledger.calls_of(own), *replays_in(store, ledger, own)]
        known = {record["id"]: record for record in calls}  # what was replayed may be its own
        steps = ledger.steps_of(own)
        names = {self._checkpoint.name, *map(scope_name, steps)}
        values = (record for record in store.records(VALUE) if record["step"] in names)
        found = [*known.values(), *steps, *values]
        trusted = [record for record in found if is_trusted(record)]
        self.left_records = len(found) - len(trusted)
        return trusted

    def checkpoint(self) -> Checkpoint:
        """It, as the first of its line: the cells before it are told as joined to it.

        Cells of another user are not: the copy is signed as one's own.
        """
        old = self._checkpoint
        line = self._session.timeline.ancestry(old.id)
        before = [one for one in reversed(line[1:]) if one.trusted]
        cells = [cell for one in before for cell in (*one.joined, one.cell) if cell.source]
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
            joined=(*cells, *old.joined),
            refused=(*old.refused, *map(_told_later, self.left)),
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


def _told_later(refusal: Refusal) -> Refusal:
    """As its reader needs it, who cannot have it by trusting what there is."""
    return refusal._replace(reason=f"was left out of the export, as it {refusal.reason}")
