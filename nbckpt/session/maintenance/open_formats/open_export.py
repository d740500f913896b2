"""Export of one checkpoint as files in open formats, with an index of them."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.capture.decode import Values
from nbckpt.codecs.pyplot import opened_are_closed
from nbckpt.errors import NOT_YOURS, CaptureError, NbckptError, StoreError, line_of
from nbckpt.fingerprint.random_generators import NAMES as RANDOM
from nbckpt.model import Checkpoint, Manifest, Refusal, Variable
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.maintenance.export import checkpoint_to_export
from nbckpt.session.maintenance.export_report import ExportedFiles
from nbckpt.session.maintenance.open_formats.executed_cells import notebook_of
from nbckpt.session.maintenance.open_formats.file_names import file_stems
from nbckpt.session.maintenance.open_formats.json_values import json_bytes
from nbckpt.session.maintenance.open_formats.value_formats import formats_of, put
from nbckpt.storage.new_folders import new_folder
from nbckpt.version import __version__

if TYPE_CHECKING:
    from nbckpt.session.session import Session

INDEX = "index.json"
NOTEBOOK = "notebook.ipynb"
VARIABLES = "variables"
_CODE = f"is code, which the cells in {NOTEBOOK} have"
_NOT_BUILT = {
    "function": _CODE,
    "type": _CODE,
    "module": "is imported by whoever needs it",
}
_RECIPE = "is made again by its statement, which an export does not run"


class Entry(NamedTuple):
    """A variable in the index.

    Attributes
    ----------
    file
        Path of its file in the export; None if it has none.
    format
        Name of the file's format.
    note
        The part of the value that a reader of the file does not get back.
    reason
        Why it has no file.
    """

    file: str | None = None
    format: str | None = None
    note: str = ""
    reason: str = ""


def export_files(session: Session, ref: str, out: Path) -> ExportedFiles:
    """Export the checkpoint `ref` to a new folder `out` in open formats.

    Tables become Parquet, or Arrow IPC where Parquet has no such type; arrays and tensors
    ``.npy`` without pickles; plain data JSON, text and bytes; figures and pictures PNG; the cells
    that ran a notebook with their outputs. The files are plain, of an encrypted store, too.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names none.
    UsageError
        If it failed, or is of a loop that did not finish.
    UntrustedError
        If the user neither made nor trusts it: its values have to be built.
    StoreError
        If `out` is taken, or the disk refuses: nothing is at `out` then.
    """
    out = Path(out).absolute()
    checkpoint = checkpoint_to_export(session, ref, out)
    held = session.timeline.manifest(checkpoint.id)
    manifest = {n: v for n, v in held.items() if n not in RANDOM}
    with new_folder(out, inside=[VARIABLES]) as draft:
        with opened_are_closed():
            entries = dict(_Writer(session, manifest, draft).entries())
        notebook = notebook_of(session, checkpoint)
        put(draft / NOTEBOOK, _json(notebook.document))
        index = _index(checkpoint, manifest, entries)
        put(draft / INDEX, _json({**index, "outputs_left_out": notebook.left_outputs}))
    left = [
        Refusal(name, name, manifest[name].type_name, entry.reason)
        for name, entry in entries.items()
        if entry.file is None
    ]
    return ExportedFiles(
        path=out,
        checkpoint=checkpoint,
        files={name: entry.file for name, entry in entries.items() if entry.file is not None},
        left=(*left, *checkpoint.refused),
        cells=len(notebook.document["cells"]),
        left_outputs=notebook.left_outputs,
    )


class _Writer:
    """Writes variables of a checkpoint, those of one blob after each other."""

    def __init__(self, session: Session, manifest: Manifest, folder: Path) -> None:
        self._store = session.store
        self._manifest = manifest
        self._folder = folder
        self._stems = file_stems(sorted(manifest))

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Name and entry of each variable, by name."""
        found: dict[str, Entry] = {}
        blob, values = "", Values(self._store, self._manifest)
        for name in sorted(self._manifest, key=lambda n: (self._manifest[n].blob, n)):
            variable = self._manifest[name]
            if variable.blob != blob:  # the others are let go of
                blob, values = variable.blob, Values(self._store, self._manifest)
            found[name] = self._entry(variable, values)
        yield from sorted(found.items())

    def _entry(self, variable: Variable, values: Values) -> Entry:
        if reason := _why_not_built(variable):
            return Entry(reason=reason)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions, fonts and the like
            try:
                value = values.build(variable.name)
            except user_code_errors() as error:  # whatever its own code raises
                told = str(error) if isinstance(error, NbckptError) else line_of(error)
                return Entry(reason=f"did not come back: {told}")
            try:
                return self._written(variable.name, value)
            except StoreError:
                raise
            except user_code_errors() as error:  # whatever a library's value does when it is read
                return Entry(reason=f"cannot be written: {line_of(error)}")

    def _written(self, name: str, value: object) -> Entry:
        """The entry of a value, written in the first format that holds it."""
        if isinstance(value, type):
            return Entry(reason=_CODE)
        reason = "has a type for which there is no open format here"
        for form in formats_of(value):
            file = f"{VARIABLES}/{self._stems[name]}{form.suffix}"
            try:
                note = form.write(self._folder / file)
            except CaptureError as error:
                reason = f"cannot be written: {error}"
            else:
                return Entry(file, form.name, note)
        return Entry(reason=reason)


def _why_not_built(variable: Variable) -> str:
    if not variable.trusted:
        return NOT_YOURS
    return _RECIPE if variable.recipe else _NOT_BUILT.get(variable.type_name, "")


def _index(
    checkpoint: Checkpoint, manifest: Manifest, entries: Mapping[str, Entry]
) -> dict[str, Any]:
    made = dt.datetime.fromtimestamp(checkpoint.created_at, dt.UTC)
    variables: dict[str, dict[str, object]] = {
        name: {
            "type": manifest[name].type_name,
            "shape": manifest[name].shape,
            "preview": manifest[name].preview,
            **_said(entry),
        }
        for name, entry in entries.items()
    }
    for refusal in checkpoint.refused:
        reason = f"is not kept by this checkpoint: {refusal}"
        variables[refusal.variable] = {"type": refusal.type_name, **_said(Entry(reason=reason))}
    for name in checkpoint.omitted:
        variables[name] = _said(Entry(reason="was not asked to be kept"))
    return {
        "made_by": f"nbckpt {__version__}",
        "checkpoint": {
            "id": checkpoint.id,
            "name": checkpoint.name,
            "note": checkpoint.note,
            "tags": list(checkpoint.tags),
            "created_at": made.isoformat(),
        },
        "notebook": NOTEBOOK,
        "variables": variables,
    }


def _said(entry: Entry) -> dict[str, object]:
    """The members of an entry; without those that say nothing, but for the file."""
    return {k: v for k, v in entry._asdict().items() if v or k == "file"}


def _json(document: Mapping[str, Any]) -> bytes:
    return json_bytes(document, indent=1, allow_nan=True) + b"\n"
