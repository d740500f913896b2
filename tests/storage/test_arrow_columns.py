"""Columns for SQL hold what `pyarrow.array` would make of the same values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.storage.arrow_columns import arrow_column
from tests.running import environment

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bigint": st.integers(-(1 << 62), 1 << 62),
    "double": st.floats(allow_nan=False) | st.integers(-9, 9),
    "boolean": st.booleans(),
    "varchar": TEXTS,
    "varchar[]": st.lists(TEXTS, max_size=4),
}
TYPES = {
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "varchar": pa.large_string(),
    "varchar[]": pa.large_list(pa.large_string()),
}


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_a_column_is_what_arrow_itself_makes(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], max_size=40))

    made = arrow_column(values, kind)

    made.validate(full=True)
    assert made.equals(pa.array(values, TYPES[kind]))


def test_times_are_in_microseconds_and_lone_surrogates_are_replaced() -> None:
    times = arrow_column([1.5, None], "timestamp")
    texts = arrow_column(["a\ud800", None, 7], "varchar")

    assert times.cast(pa.int64()).to_pylist() == [1_500_000, None]
    assert texts.to_pylist() == ["a?", None, "7"]


@pytest.mark.slow
def test_a_query_loads_no_pandas(tmp_path: Path) -> None:
    code = (
        f"import sys, nbckpt\nnbckpt.open({str(tmp_path / 's')!r}, {{'x': 1}}).checkpoint('a')\n"
        "rows = nbckpt.sql('select name, n_changed, tags from checkpoints').fetchall()\n"
        "assert rows == [('a', 1, [])], rows\nassert 'pandas' not in sys.modules"
    )

    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True)

    assert done.returncode == 0, done.stderr
