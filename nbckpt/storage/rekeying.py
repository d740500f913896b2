"""Give a store another key, encrypt one that is plain, or the other way round.

Another key for the same data key costs one small file. Anything else writes the store anew beside
itself, and then both swap their names at one instant: killed before, it is the store as it was;
afterwards, the new one.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from nbckpt.config.settings_sources import encryption_from
from nbckpt.errors import StoreError, UsageError
from nbckpt.storage import file_calls
from nbckpt.storage.check import check
from nbckpt.storage.chunks_to_move import is_open
from nbckpt.storage.ciphers import Cipher, id_of, new_key, remember
from nbckpt.storage.configuration import CONFIG
from nbckpt.storage.disk import (
    delete_folder,
    files_in,
    list_folder,
    read_whole,
    refused,
    sync_folder,
)
from nbckpt.storage.envelope import envelope_of, wrap
from nbckpt.storage.folder import (
    ENCRYPTION,
    FORMAT,
    ID,
    OWN,
    VERSION,
    Mark,
    id_of_store,
    open_folder,
    read_mark,
    write_mark,
)
from nbckpt.storage.journal import SUFFIX, is_live
from nbckpt.storage.key_sources import kind_of, read_key
from nbckpt.storage.locks import one_at_a_time
from nbckpt.storage.new_files import create_beside
from nbckpt.storage.packs import SUFFIX as PACK
from nbckpt.storage.spending import FILE as SPENDING
from nbckpt.storage.store import Store
from nbckpt.storage.transcribing import Transcript
from nbckpt.timeline.records import event_record

WAIT_S = 2.0
OFF = "off"
_LEFT = ".rekey.tmp"


@dataclass(frozen=True, slots=True)
class Rekeyed:
    """Result of changing a store's encryption.

    Attributes
    ----------
    what
        ``wrapped``: the data key stays, under another key. ``encrypted``, ``decrypted`` or
        ``anew``: all was written again, from plain, to plain, or with another data key.
    key
        Id of the key that opens it now; empty where none is needed.
    source
        Where that key is.
    """

    what: str
    key: str
    source: str

    def __str__(self) -> str:
        opens = f"key {self.key} ({self.source}) opens it"
        match self.what:
            case "decrypted":
                return "the store is not encrypted any more: everybody who has the folder reads it"
            case "wrapped":
                return f"{opens} now, and the key before does not any more"
            case "anew":
                return f"all of the store is encrypted anew; {opens}"
        return f"the store is encrypted now; {opens}. Copies that you made before are not"


def rekey(
    path: Path, *, key: str | None = None, new: str | None = None, everything: bool = False
) -> Rekeyed:
    """Have another key open the store at `path`, or none.

    Parameters
    ----------
    key
        Where its key is; by default the setting `encryption` says so.
    new
        Where the key is that is to open it, or ``off``; by default that setting.
    everything
        Whether to write the whole store again, with a new data key: who had the old one reads
        nothing of what is written from now on.

    Raises
    ------
    UsageError
        If there is nothing to do.
    SealedError
        If a key is not there, or does not open the store.
    StoreError
        If somebody uses the store, it is damaged, or the disk refuses.
    """
    path, begun = path.resolve(), time.perf_counter()
    store = Store.open(path, create=False, key=key)
    try:
        with refused(path), one_at_a_time(path):
            _delete_leftovers(path)
            source = _source(store, key, new, everything=everything)
            if source and store.cipher and not everything:
                done = _wrap(path, store.cipher, source)
            else:
                done = _rewrite(store, source)
    finally:
        store.close()
    _record(path, done, time.perf_counter() - begun)
    return done


def _record(path: Path, done: Rekeyed, took_s: float) -> None:
    """Have the store tell of it; that is not worth an error, now that it is done."""
    with suppress(StoreError):
        store = Store.open(path, create=False, key=done.source or OFF)
        members = {"took_s": took_s, "what": done.what}
        store.append([event_record("rekeyed", "", members)], durable=False)
        store.close()


def _source(store: Store, key: str | None, new: str | None, *, everything: bool) -> str:
    """Where the new key is; empty: there is to be none."""
    setting = encryption_from()
    source = new or setting or (key if everything and key else "")
    if source == OFF or not source:
        if store.cipher is None or not new:
            message = "name the new key: --new file:PATH, env:NAME or keyring:NAME, or --new off"
            raise UsageError(message)
        return ""
    return source


def _wrap(path: Path, cipher: Cipher, source: str) -> Rekeyed:
    key, mark = read_key(source), read_mark(path) or {}
    if envelope_of(mark[ENCRYPTION]).key == id_of(key):
        message = (
            f"key {id_of(key)} from {source} opens the store already: name another with --new, or"
            " write all of it again with --all"
        )
        raise UsageError(message)
    write_mark(path, {**mark, ENCRYPTION: wrap(cipher, key, kind_of(source)).members()})
    return Rekeyed("wrapped", id_of(key), source)


# -- the whole store


def _rewrite(store: Store, source: str) -> Rekeyed:
    path, key = store.path, read_key(source) if source else None
    cipher = Cipher(new_key()) if key else None
    own_id = id_of_store(path)
    extra: Mark = {ID: own_id} if own_id else {}
    if key and cipher:
        extra[ENCRYPTION] = wrap(cipher, key, kind_of(source)).members()
    with store.holds.alone(WAIT_S) as is_alone:
        if not is_alone:
            message = f"somebody writes to {path}; end the kernels that use it, then rekey"
            raise StoreError(message)
        _require_unused(path)
        _require_sound(store)
        with _beside(path) as draft:
            open_folder(draft, create=True, extra=lambda: extra)
            for name in {CONFIG, SPENDING}.intersection(list_folder(path)):
                with create_beside(draft / name) as copy:
                    copy.write(read_whole(path / name))
            held = remember(draft, cipher)
            Transcript(path, draft, store.signers, held).write()
            if not (report := check(draft)).ok:
                problem = next(p for p in report.problems if p.kind != "unreachable")
                message = f"what was written anew is not whole, and was given up: {problem}"
                raise StoreError(message)
            _swap(path, draft)
    was = store.cipher is not None
    what = "decrypted" if not key else "anew" if was else "encrypted"
    return Rekeyed(what, id_of(key) if key else "", source)


def _require_unused(path: Path) -> None:
    """Raise if a session has written, and lives, or something is there that is not copied."""
    live = [p for p in files_in(path / "journal", SUFFIX) if is_live(p)]
    live += [p for p in files_in(path / "packs", PACK) if is_open(p)]
    if live:
        message = (
            f"a session uses {path} ({live[0].name}): end its kernel (in JupyterLab, shut it down),"
            " then rekey"
        )
        raise StoreError(message)
    strange = [name for name in list_folder(path) if name not in OWN and not name.endswith(".tmp")]
    if list_folder(path / ".damaged"):
        message = (
            f"{path / '.damaged'} holds what a repair took out: look at it, delete it, then rekey"
        )
        raise StoreError(message)
    if strange:
        message = f"{path} holds {strange[0]!r}, which is none of nbckpt's: take it out, then rekey"
        raise StoreError(message)


def _require_sound(store: Store) -> None:
    mark = read_mark(store.path)
    if mark is None or mark[VERSION] > FORMAT:
        message = f"{store.path} is no store that can be written"
        raise StoreError(message)
    report = check(store.path)
    if not report.ok:
        message = (
            f"{store.path} is damaged, and nothing of it was changed; `nbckpt check` lists what,"
            " and `nbckpt check --repair` makes it whole"
        )
        raise StoreError(message)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A name for a folder beside the store, which is deleted afterwards, whatever it holds."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_LEFT}")
    try:
        yield draft
    finally:
        remember(draft, None)
        with suppress(OSError):
            delete_folder(draft)


def _swap(path: Path, draft: Path) -> None:
    try:
        file_calls.files.exchange(draft, path)
    except OSError as error:
        message = (
            f"the file system of {path} cannot swap two folders ({error.strerror}), and nothing was"
            " changed: copy the store to a disk that can, and rekey it there"
        )
        raise StoreError(message) from error
    sync_folder(path.parent)


def _delete_leftovers(path: Path) -> None:
    """Delete what a rekey left that was killed: a half-written store, or the one before."""
    for name in list_folder(path.parent):
        if name.startswith(f".{path.name}.") and name.endswith(_LEFT):
            with suppress(OSError):
                delete_folder(path.parent / name)
