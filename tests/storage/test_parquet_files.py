"""A table is kept as Parquet, and whether it comes back exactly is found, not guessed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nbckpt.errors import CaptureError, FormatError, NotFoundError
from nbckpt.storage.check import check
from nbckpt.storage.disk import digest_of_file
from nbckpt.storage.parquet_files import read_table, write_table
from nbckpt.storage.store import Store

DIGEST = "ab" * 32


def with_attrs(attrs: dict[str, object]) -> pd.DataFrame:
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = attrs
    return frame


class Subclass(pd.DataFrame):
    """A frame of the user's own type."""


EXACT = {
    "floats with NaN": pd.DataFrame({"a": [1.0, np.nan, -0.0]}),
    "strings": pd.DataFrame({"s": ["x", None]}, index=["a", "b"]),
    "range index with a step": pd.DataFrame({"a": [1, 2]}, index=pd.RangeIndex(4, 8, 2)),
    "named index": pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 7], name="k")),
    "several levels": pd.DataFrame(
        {"v": [1, 2]}, index=pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["i", "j"])
    ),
    "ordered categories": pd.DataFrame({"c": pd.Categorical(["b", "a", None], ordered=True)}),
    "time zone": pd.DataFrame({"t": pd.date_range("2020", periods=3, tz="Europe/Berlin")}),
    "nullable": pd.DataFrame({"i": pd.array([1, None], dtype="Int64")}),
    "half floats": pd.DataFrame({"h": np.array([1, 2], dtype="float16")}),
    "attributes": with_attrs({"source": "x", "n": [1, 2]}),
    "polars": pl.DataFrame({"a": [1.0, float("nan")], "l": [[1], [2, 3]], "s": ["x", None]}),
    "polars 128 bits": pl.DataFrame({"o": pl.Series([1], dtype=pl.Int128)}),
    "polars enum": pl.DataFrame({"e": pl.Series(["a"], dtype=pl.Enum(["a", "b"]))}),
    "arrow": pa.table({"a": [1.0, float("nan")], "d": pa.array(["x", "y"]).dictionary_encode()}),
    "arrow with metadata": pa.table({"a": [1]}).replace_schema_metadata({"mine": "kept"}),
    "arrow from pandas": pa.Table.from_pandas(pd.DataFrame({"a": [1]})),
}

CHANGED = {
    "frequency": (
        pd.DataFrame({"x": [1, 2, 3]}, index=pd.date_range("2020", periods=3)),
        "its index: freq is lost",
    ),
    "integer labels": (
        pd.DataFrame(np.eye(2)),
        "its column labels: RangeIndex comes back as Index",
    ),
    "integer categories": (
        pd.DataFrame({"c": pd.Categorical([1, 2])}),
        "column 'c': category comes back as int64",
    ),
    "lists": (pd.DataFrame({"o": [[1], [2]]}), "column 'o': holds Python objects"),
    "strings as objects": (
        pd.DataFrame({"o": pd.Series(["a"], dtype=object)}),
        "column 'o': object comes back as str",
    ),
    "seconds": (
        pd.DataFrame({"t": pd.to_datetime(["2020"]).astype("datetime64[s]")}),
        r"column 't': datetime64\[s\] comes back as datetime64\[ms\]",
    ),
    "attributes": (with_attrs({"t": (1,)}), "its attrs are not JSON"),
    "flags": (
        pd.DataFrame({"a": [1]}).set_flags(allows_duplicate_labels=False),
        "its flags are lost",
    ),
    "subclass": (Subclass({"a": [1]}), "is a Subclass, comes back as DataFrame"),
}

REFUSED = {
    "duplicate labels": (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Duplicate column names"),
    "mixed": (pd.DataFrame({"o": [1, "a"]}), "Could not convert 'a'"),
    "complex": (pd.DataFrame({"c": [1j]}), "Unsupported numpy type"),
    "sparse": (pd.DataFrame({"s": pd.arrays.SparseArray([0, 1])}), "Sparse pandas data"),
    "lone surrogate": (
        pd.DataFrame({"s": pd.Series(["\ud800"], dtype=object)}),
        "surrogates not allowed",
    ),
    "polars objects": (
        pl.DataFrame({"o": pl.Series([object()], dtype=pl.Object)}),
        "column 'o' holds Python objects",
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_table_comes_back_equal(tmp_path: Path, name: str) -> None:
    value = EXACT[name]

    info = write_table(tmp_path, DIGEST, value)
    back = read_table(tmp_path, DIGEST)

    assert (info.exact, info.reason) == (True, "")
    assert (info.rows, info.columns) == value.shape
    assert info.file_digest == digest_of_file(tmp_path / info.file)
    assert type(back) is type(value)
    if isinstance(value, pd.DataFrame):
        pd.testing.assert_frame_equal(value, back)
        assert back.attrs == value.attrs
    elif isinstance(value, pl.DataFrame):
        assert value.schema == back.schema
        assert value.equals(back)
    else:
        assert value.schema.equals(back.schema, check_metadata=True)
        assert str(value.to_pydict()) == str(back.to_pydict())


@pytest.mark.parametrize("name", CHANGED)
def test_a_table_that_parquet_changes_says_how(tmp_path: Path, name: str) -> None:
    value, reason = CHANGED[name]

    info = write_table(tmp_path, DIGEST, value)

    assert not info.exact
    assert re.search(reason, info.reason)
    assert (tmp_path / info.file).exists()


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_parquet_refuses_says_why_and_leaves_nothing(
    tmp_path: Path, name: str
) -> None:
    value, reason = REFUSED[name]

    with pytest.raises(CaptureError, match=reason):
        write_table(tmp_path, DIGEST, value)

    assert list(tmp_path.iterdir()) == []


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="a list is no table"):
        write_table(tmp_path, DIGEST, [1])


def test_other_tools_read_it(tmp_path: Path) -> None:
    import duckdb

    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="k"))
    info = write_table(tmp_path, DIGEST, frame)

    by_pandas = pd.read_parquet(tmp_path / info.file)
    by_arrow = pq.read_table(tmp_path / info.file)
    by_polars = pl.read_parquet(tmp_path / info.file)
    by_duckdb = duckdb.sql(f"select a, k from '{tmp_path / info.file}'").fetchall()

    pd.testing.assert_frame_equal(by_pandas, frame)
    assert by_arrow.column_names == by_polars.columns == ["a", "k"]
    assert by_duckdb == [(1, "x"), (2, "y")]


def test_a_table_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no table abababababab"):
        read_table(tmp_path, DIGEST)


def test_a_damaged_table_is_told(tmp_path: Path) -> None:
    info = write_table(tmp_path, DIGEST, EXACT["strings"])
    (tmp_path / info.file).write_bytes(b"PAR1 but no more")

    with pytest.raises(FormatError, match="damaged"):
        read_table(tmp_path, DIGEST)


def test_the_store_tells_what_became_of_a_table(store: Store) -> None:
    kept = store.tables.put(DIGEST, "df", EXACT["strings"])
    refused = store.tables.put("cd" * 32, "odd", REFUSED["mixed"][0])
    known_before = store.tables.has(DIGEST)
    store.append([{"kind": "table", "at": 1.0, "value": DIGEST, **kept}]).result()
    store.refresh()

    assert kept["file"] == f"{DIGEST}.parquet"
    assert refused["file"] is None
    assert refused["reason"].startswith("'odd': Parquet cannot hold it: ")
    assert not known_before
    assert store.tables.has(DIGEST)
    assert check(store.path).problems == ()


def test_a_table_that_is_damaged_or_gone_is_told_by_check(store: Store) -> None:
    for digest in (DIGEST, "cd" * 32):
        info = store.tables.put(digest, "df", EXACT["strings"])
        store.append([{"kind": "table", "at": 1.0, "value": digest, **info}]).result()
    store.tables.put("ef" * 32, "df", EXACT["strings"])
    (store.tables.folder / f"{DIGEST}.parquet").write_bytes(b"something else")
    (store.tables.folder / f"{'cd' * 32}.parquet").unlink()

    problems = check(store.path).problems

    assert [(problem.kind, problem.where[:8]) for problem in problems] == [
        ("damaged", "table ab"),
        ("missing", "table cd"),
        ("unreachable", "table ef"),
    ]
