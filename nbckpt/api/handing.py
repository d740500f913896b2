"""Handing over between people: a checkpoint as a store, and trust in another user's store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from nbckpt.session.checkpoint_view import Look, ref_of
from nbckpt.steps import current_session

if TYPE_CHECKING:
    from nbckpt.session.maintenance.export_report import Exported, ExportedFiles
    from nbckpt.session.maintenance.untrusted_report import Strange


def trust(path: str | Path | None = None) -> Strange:
    """Trust what other users wrote in a store as your own, and return what that is.

    Nothing of it is built before. Its values may be code, and are built from now on when they are
    restored; its cells and recipes are run when you ask for it. What is written there later is not
    trusted by this. Look first: ``nbckpt trust --show PATH``.

    Parameters
    ----------
    path
        Of the store, or the folder that it lies in; by default that of the session that is open.

    Raises
    ------
    StoreError
        If there is no store, or your own folder cannot be written.
    """
    from nbckpt.session.maintenance import trust as trusting
    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store

    if path is None:
        session = current_session.session()
        told = trusting.trust(session.store, session.timeline, session=session)
        session.refresh()
        return told
    store = Store.open(trusting.store_at(Path(path)), create=False)
    try:
        return trusting.trust(store, Session(store, {}).timeline)
    finally:
        store.close()


@overload
def export(
    ref: str | Look,
    out: str | Path,
    *,
    portable: Literal[False] = False,
    encryption: str | None = None,
) -> Exported: ...


@overload
def export(ref: str | Look, out: str | Path, *, portable: Literal[True]) -> ExportedFiles: ...


def export(
    ref: str | Look,
    out: str | Path,
    *,
    portable: bool = False,
    encryption: str | None = None,
) -> Exported | ExportedFiles:
    """Export the checkpoint `ref` to `out`, to hand it on: a store, or files in open formats.

    The store holds the checkpoint and what belongs to it; others restore it once they trust it.

    Parameters
    ----------
    out
        A new or empty folder.
    portable
        Files that other programs read without nbckpt, instead of a store: tables as Parquet or
        Arrow IPC, arrays and tensors as ``.npy`` without pickles, plain data as JSON, text and
        bytes, figures as PNG, the cells that ran as ``notebook.ipynb``, and ``index.json``, which
        says which file holds which variable, or why none does. They are not encrypted.
    encryption
        ``"off"``, or where the key for the new store is: ``"file:PATH"``, ``"env:NAME"``; by
        default as the setting `encryption` says.

    Raises
    ------
    CheckpointNotFoundError
        If there is no such checkpoint.
    UsageError
        If it did not end well, or open formats are to be encrypted.
    UntrustedError
        If you neither made nor trust it.
    StoreError
        If `out` is taken, or the disk refuses: nothing is there then.
    """
    from nbckpt.session.maintenance.exports import export as exported

    session = current_session.session()
    session.wait()
    path = Path(out)
    return exported(session, ref_of(ref), path, portable=portable, encryption=encryption)
