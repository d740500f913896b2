"""Handing over between people: export a checkpoint, trust another user's store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from nbckpt.steps import current_session
from nbckpt.verbs.arguments import (
    OF_NOTEBOOK,
    OF_STORE,
    PANEL_ONLY,
    REF,
    STORE_DEFAULT,
    TERMINAL_ONLY,
    TYPED,
    Door,
    argument,
    flag,
)
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.registry import READS, WRITES, at, declare

if TYPE_CHECKING:
    from nbckpt.session.checkpoint_view import Look
    from nbckpt.session.maintenance.export_report import Exported, ExportedFiles
    from nbckpt.session.maintenance.untrusted_report import UntrustedReport


def trust(path: str | Path | None = None) -> UntrustedReport:
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
    from nbckpt.session.maintenance import trust_verb as trusting
    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store

    if path is None:
        session = current_session.session()
        told = trusting.trust(session.store, session.timeline, session=session)
        session.refresh()
        return told
    store = Store.open(trusting.store_at(Path(path)), create=False)
    try:
        return trusting.trust(store, Session(store, None).timeline)
    finally:
        store.close()


@declare(
    "trust",
    "take what another user made in a store for your own",
    argument(
        "path",
        metavar="PATH",
        type=Path,
        nargs="?",
        help=f"the store: {STORE_DEFAULT}",
        doors=TERMINAL_ONLY,
    ),
    flag("--show", help="only say what would be trusted", doors=TYPED),
    flag("-y", "--yes", help="do not ask", doors=TERMINAL_ONLY),
    argument("seen", help="the mark of what `strangers` told", doors=PANEL_ONLY),
    *OF_STORE,
    function=trust,
    panel=WRITES,
    more="""\
A store holds values, which may be code, and code. Of what another user made nothing is built or
run before you trust it: you see names, types, shapes, previews and recorded outputs, and can query
its Parquet files. So look first.

  nbckpt trust --show .nbckpt
  nbckpt trust .nbckpt""",
)
def _trust(call: Call) -> Answer:
    """Trust what stands in the store of the notebook; a terminal and a page ask before."""
    from nbckpt.session.maintenance import trust_verb as trusting

    session = call.session
    session.refresh()
    if call.arguments.show:
        return Answer(trusting.strange(session.store, session.timeline).text)
    told = trusting.trust(session.store, session.timeline, session=session)
    session.refresh()
    return Answer(lambda: trusting.trusted_text(told))


@at(Door.PANEL, "trust")
def _trust_in_panel(call: Call) -> Answer:
    """Take over what `strangers` told of: `seen` is the mark of that."""
    from nbckpt.session.maintenance import trust_verb as trusting

    session = call.session
    told = trusting.amount(session.store, session.timeline)
    trusting.take_over(session.store, call.arguments.seen, session=session)
    session.refresh()
    session.emit("trusted")
    return Answer(lambda: trusting.trusted_text(told))


@declare("strangers", "what would be trusted", doors=PANEL_ONLY, panel=READS)
def _strangers(call: Call) -> Answer:
    """Checkpoints that would be trusted, described for the user who is asked."""
    from nbckpt.session.maintenance import trust_verb as trusting

    session = call.session
    session.refresh()  # what is trusted then is what is told now
    told = trusting.strange(session.store, session.timeline)
    text = told.text()
    return Answer(record=lambda: {**told.as_record(), "text": text, "meaning": trusting.MEANING})


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
    ref: str | Look, out: str | Path, *, portable: bool = False, encryption: str | None = None
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
    from nbckpt.session.checkpoint_view import ref_of
    from nbckpt.session.maintenance.export_verb import export as exported

    session = current_session.session()
    session.wait()
    path = Path(out)
    return exported(session, ref_of(ref), path, portable=portable, encryption=encryption)


@declare(
    "export",
    "hand on one checkpoint: a store of it, or files in open formats",
    REF,
    argument("out", metavar="OUT", type=Path, help="a new or empty folder"),
    flag("--portable", help="files in open formats instead of a store"),
    argument(
        "--encryption",
        metavar="KEY",
        help="off, or where its key is: file:PATH, env:NAME; by default as the setting says",
    ),
    *OF_NOTEBOOK,
    function=export,
    more="""\
OUT becomes a store of its own, with one checkpoint: its variables, outputs, model calls, and
tables as Parquet. Its receiver looks at it, trusts it, and restores it. With --portable OUT holds
files that other programs read without nbckpt, and that need no trust: tables as Parquet, arrays as
.npy, data as JSON, figures as PNG, and the cells that ran as notebook.ipynb.

  nbckpt export train handed
  nbckpt log --store handed
  nbckpt export --portable train files""",
)
def _export(call: Call) -> Answer:
    from nbckpt.session.maintenance.export_verb import export as exported

    asked = call.arguments
    call.session.wait()
    done = exported(
        call.session, asked.ref, asked.out, portable=asked.portable, encryption=asked.encryption
    )
    return Answer(lambda: done.text(str(asked.out)), done.as_record)
