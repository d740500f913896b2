"""Of tables, too, nobody else's word counts for what is one's own."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pandas as pd

from nbckpt.model import Variable
from nbckpt.session.session import Session
from nbckpt.storage.disk import digest_of_file
from nbckpt.storage.store import Store
from nbckpt.timeline.checkpoint_records import checkpoint_record
from tests.storage.users import timeline_of, user


def of_frame(path: Path, numbers: list[int], name: str = "df") -> Variable:
    """A variable that holds a frame, in a checkpoint that this user makes."""
    session = Session(Store.open(path), {name: pd.DataFrame({"n": numbers})})
    made = session.checkpoint(name)
    session.store.close()
    return made.changed[name]


def numbers_of(path: Path, name: str = "df", ref: str = "df") -> list[int]:
    """What a query finds in a frame."""
    session = Session(Store.open(path, create=False), {})
    found = session.sql(f"from variable('{name}', '{ref}')").fetchall()
    session.store.close()
    return [n for (n,) in found]


def test_a_table_that_another_user_names_is_none_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "s"
    own = of_frame(path, [1, 2, 3])
    forged = path / "tables" / "forged.parquet"
    pd.DataFrame({"n": [666]}).to_parquet(forged)
    with user(tmp_path / "other"):
        store = Store.open(path)
        record = {"kind": "table", "value": own.value, "name": "df", "at": time.time() + 9}
        named = {"file": forged.name, "file_digest": digest_of_file(forged), "exact": True}
        store.append([{**record, **named}]).result()
        store.close()

    assert numbers_of(path) == [1, 2, 3]


def test_a_query_signs_no_table_for_a_value_that_another_user_claims(tmp_path: Path) -> None:
    path = tmp_path / "s"
    own = of_frame(path, [1, 2, 3])
    with user(tmp_path / "other"):
        other = tmp_path / "others"
        theirs = of_frame(other, [666], "fake")
        for pack in (other / "packs").iterdir():
            shutil.copy(pack, path / "packs")
        store, there = Store.open(path), Store.open(other)
        (made,) = timeline_of(there).checkpoints.values()
        claimed = checkpoint_record(made)
        claimed["changed"] = [
            {**one, "value": own.value} if one["name"] == theirs.name else one
            for one in claimed["changed"]
        ]
        head = {"kind": "head", "branch": "theirs", "checkpoint": made.id, "at": time.time()}
        store.append([claimed, head]).result()
        store.close()
        there.close()

    assert numbers_of(path, "fake", "theirs") == [666]
    assert numbers_of(path) == [1, 2, 3]
