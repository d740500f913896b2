"""All that a reader can find in a store, in a form that tells equal from different."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from nbckpt.capture.decode import Values
from nbckpt.config.settings import Settings
from nbckpt.config.settings_sources import with_stored
from nbckpt.errors import NbckptError
from nbckpt.fingerprint import random_generators
from nbckpt.model import Record
from nbckpt.storage.check import check
from nbckpt.storage.check_report import Report
from nbckpt.storage.counted_records import CHECKPOINT, blobs_named
from nbckpt.storage.query import relation
from nbckpt.storage.rewriting import folded
from nbckpt.storage.store import Store
from nbckpt.storage.views import COLUMNS, arrow_view
from nbckpt.timeline.checkpoint_records import checkpoint_from
from nbckpt.timeline.recordings import RECORDING, recording_from
from nbckpt.timeline.timeline import Timeline

TABLE = "select sum(x), sum(y), count(s) from variable('frame')"


class Error(NamedTuple):
    """What was said instead of an answer."""

    kind: str
    text: str


class Found(NamedTuple):
    """What was found, by what it is.

    Attributes
    ----------
    things
        What can be asked for → a digest of the answer, or what was said instead.
    records
        Of all journals, as text.
    told
        What the store says is damaged.
    report
        Of a check; None if there could be none.
    newest
        Name of the newest journal.
    """

    things: dict[tuple[str, ...], str | Error]
    records: frozenset[str]
    told: tuple[str, ...]
    report: Report | None
    newest: str


def find_all(path: Path, *, deep: bool = True) -> Found:
    """What a new reader finds; any error but the documented ones is raised.

    Parameters
    ----------
    deep
        Have values built from their bytes, views made and tables asked by SQL.
    """
    things: dict[tuple[str, ...], str | Error] = {}
    try:
        store = Store.open(path, create=False)
    except NbckptError as error:
        things["store",] = Error(type(error).__name__, str(error))
        return Found(things, frozenset(), (str(error),), None, "")
    try:
        records = store.refresh()
        settings = with_stored(Settings(), store.config.text())
        things["settings",] = repr(settings)
        timeline = folded(records)
        for digest in {digest for record in records for digest, _ in blobs_named(record)}:
            _ask(things, ("blob", digest), lambda digest=digest: _blob(store, digest))  # type: ignore[misc]
        for record in records:
            if record["kind"] == RECORDING:
                recording_from(record)
            elif record["kind"] == CHECKPOINT:
                checkpoint_from(record)
        if deep:
            _look(things, store, timeline)
        told = (*store.damages, *settings.problems)
        texts = frozenset(map(_text, records))
        newest = max((p.stem for p in (path / "journal").glob("*.jsonl")), default="")
        return Found(things, texts, told, check(store.path), newest)
    finally:
        store.close()


def _ask(
    things: dict[tuple[str, ...], str | Error], what: tuple[str, ...], ask: Callable[[], str]
) -> None:
    try:
        things[what] = ask()
    except NbckptError as error:
        things[what] = Error(type(error).__name__, str(error))


def _blob(store: Store, digest: str) -> str:
    hasher = hashlib.sha1(usedforsecurity=False)
    for part in store.get_blob(digest):
        hasher.update(b"%d %d:" % (part.readonly, len(part)))
        hasher.update(part)
    return hasher.hexdigest()


def _look(things: dict[tuple[str, ...], str | Error], store: Store, timeline: Timeline) -> None:
    built: dict[tuple[str, ...], str | Error] = {}
    for checkpoint in timeline.checkpoints.values():
        manifest = timeline.manifest(checkpoint.id)
        values = Values(store, manifest)
        for name, variable in manifest.items():
            if name in random_generators.NAMES:
                continue
            once = (
                variable.blob,
                name,
                *(manifest[n].blob for n in variable.needs if n in manifest),
            )
            if once not in built:
                _ask(built, once, lambda v=values, n=name: digest_of(v.build(n)))  # type: ignore[misc]
            things["value", checkpoint.id, name] = built[once]
    for view in COLUMNS:
        arrow_view(view, store, timeline)
    _ask(things, ("table", "frame"), lambda: _answer(store, timeline))


def _answer(store: Store, timeline: Timeline) -> str:
    return repr(relation(store, timeline, TABLE).fetchall())


def digest_of(value: object) -> str:
    """What tells a value from others; of a function, its code."""
    if isinstance(value, np.ndarray):
        return hashlib.sha1(value.tobytes(), usedforsecurity=False).hexdigest()
    if isinstance(value, pd.DataFrame):
        return digest_of(pd.util.hash_pandas_object(value).to_numpy())
    code = getattr(value, "__code__", None) or getattr(
        getattr(value, "__wrapped__", None), "__code__", None
    )
    return repr(value) if code is None else repr((code.co_code, code.co_names))


def _text(record: Record) -> str:
    return json.dumps(dict(record), sort_keys=True)
