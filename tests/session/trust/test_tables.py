"""Of tables, too, nobody else's word counts for what is one's own."""

from __future__ import annotations

import pickle
import shutil
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nbckpt.errors import UntrustedError
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


def files_in(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file() and "locks" not in file.parts)


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

    with pytest.raises(UntrustedError, match=r"'fake' was made.*no Parquet file"):
        numbers_of(path, "fake", "theirs")
    assert numbers_of(path) == [1, 2, 3]


@pytest.mark.slow
def test_the_parquet_that_its_author_made_is_queried_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with user(tmp_path / "other"):
        of_frame(path, [1, 2, 3])
        of_frame(path, [4], "unmade")
        assert numbers_of(path, ref="main.1") == [1, 2, 3]
    before = files_in(path)

    assert numbers_of(path, ref="main.1") == [1, 2, 3]
    with pytest.raises(UntrustedError, match=r"'unmade' was made.*nbckpt trust"):
        numbers_of(path, "unmade", "unmade")

    assert files_in(path) == before
    (table,) = (path / "tables").iterdir()
    table.write_bytes(table.read_bytes()[:-1])
    with pytest.raises(UntrustedError, match="no Parquet file"):
        numbers_of(path, ref="main.1")


class Runs:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> object:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("folder", ["plain", "a[b]"])
def test_pickles_in_another_users_parquet_are_bytes(tmp_path: Path, folder: str) -> None:
    path, mark = tmp_path / folder / "s", tmp_path / "ran"
    pickled = pickle.dumps(Runs(mark))
    extension = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickled,
    }
    fields = [
        pa.field("typed", pa.int64(), metadata=extension),
        pa.field("n", pa.binary(), metadata={b"pickle": pickled}),
    ]
    table = pa.table([[1], [pickled]], schema=pa.schema(fields, metadata={b"pandas": pickled}))
    with user(tmp_path / "other"):
        theirs = of_frame(path, [1])
        file = path / "tables" / f"{theirs.value}.parquet"
        file.parent.mkdir(exist_ok=True)
        pq.write_table(table, file)
        store = Store.open(path)
        record = {"kind": "table", "value": theirs.value, "name": "df", "at": time.time()}
        made = {"file": file.name, "file_digest": digest_of_file(file), "exact": True}
        store.append([{**record, **made}]).result()
        store.close()

    session = Session(Store.open(path, create=False), {})
    found = session.sql("select typed, n from variable('df', 'df')").fetchall()
    session.store.close()

    assert found == [(1, pickled)]
    assert not mark.exists()
