"""The verb of export, for all doors: a store of one checkpoint, or files in open formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.errors import UsageError

if TYPE_CHECKING:
    from nbckpt.session.maintenance.export_report import Exported, ExportedFiles
    from nbckpt.session.session import Session


def export(
    session: Session, ref: str, out: Path, *, portable: bool = False, encryption: str | None = None
) -> Exported | ExportedFiles:
    """Export the checkpoint `ref` to the new folder `out`.

    Parameters
    ----------
    portable
        Files in open formats, instead of a store.
    encryption
        Where the key for the new store is; see `export_store`.

    Raises
    ------
    UsageError
        If open formats are to be encrypted.
    NbckptError
        As `export_store` and `export_files`.
    """
    if not portable:
        from nbckpt.session.maintenance.export import export_store

        return export_store(session, ref, out, encryption=encryption)
    if encryption is not None:
        message = "files in open formats are not encrypted: leave out the key, or --portable"
        raise UsageError(message)
    from nbckpt.session.maintenance.open_formats.open_export import export_files

    return export_files(session, ref, out)
