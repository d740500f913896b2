"""A record that nobody understands costs itself: all else of its store is read, checked, repaired."""

from __future__ import annotations

import copy
import json
import random
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbckpt.session.session import Session
from nbckpt.storage.check import check
from nbckpt.storage.folder import id_of_store
from nbckpt.storage.signers import Signers
from nbckpt.storage.store import Store
from nbckpt.storage.views import COLUMNS, arrow_view
from tests.storage.damage.everything import make_everything

VALUES: tuple[Any, ...] = (
    None, 0, -1, "", "x", [], {}, [1], {"a": 1}, True, 1.5, [None], [{}], [[]], "../x", 2**70,
)  # fmt: skip
Path_ = tuple[str | int, ...]


def paths_in(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The ways to what a record holds, three levels deep."""
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))[:2]
    for key, inside in items:
        yield (*path, key)
        if len(path) < 3:
            yield from paths_in(inside, (*path, key))


def changed(rng: random.Random, record: dict[str, Any]) -> dict[str, Any]:
    """The record with something else in one place, or without what was there."""
    made = copy.deepcopy(record)
    *way, last = rng.choice(list(paths_in(record)))
    holder: Any = made
    for key in way:
        holder = holder[key]
    if rng.random() < 0.3:
        del holder[last]
    else:
        holder[last] = rng.choice(VALUES)
    return made


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store that holds records of all kinds."""
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "home"))
    make_everything(tmp_path / "whole")
    return tmp_path / "whole"


def use(path: Path) -> int:
    """Read all that there is; how many checkpoints are in the history."""
    store = Store.open(path, create=False)
    try:
        session = Session(store, {}, notebook="another.ipynb")
        list(session.history())
        for one in list(session.timeline.checkpoints):
            session.timeline.manifest(one)
        for view in COLUMNS:
            arrow_view(view, store, session.timeline)
        check(store.path)
        return len(session.timeline.checkpoints)
    finally:
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_any_member_of_any_record_may_be_anything(seed: int, whole: Path, tmp_path: Path) -> None:
    rng, usual = random.Random(seed), use(whole)
    signers = Signers(store_id=id_of_store(whole))
    signers.look()
    lines = [
        (journal, n, json.loads(line.partition(b',"n":')[0] + b"}"))
        for journal in sorted((whole / "journal").iterdir())
        for n, line in enumerate(journal.read_bytes().splitlines())
    ]
    for _ in range(25):
        journal, n, record = rng.choice(lines)
        made = changed(rng, record)
        path = tmp_path / "damaged"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(whole, path)
        own = journal.read_bytes().splitlines(keepends=True)
        own[n] = signers.of(journal.stem).line(json.dumps(made, separators=(",", ":"))[:-1], n)
        (path / "journal" / journal.name).write_bytes(b"".join(own))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = use(path)

        assert found >= usual - 1, made
