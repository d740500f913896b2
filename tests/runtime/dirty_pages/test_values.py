"""Digests of large values: the same for equal values however they lie, and after every write."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nbckpt.fingerprint.values import ValueDigester
from tests.runtime.dirty_pages.ranges import needs_tracker

N_ROWS = 200_000


def digest(value: object) -> str:
    return ValueDigester({}).digest(value)


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).random(shape)


def packed() -> np.ndarray[Any, Any]:
    array = np.zeros(N_ROWS, [("a", "i4"), ("b", "f8")])
    array["b"] = numbers(N_ROWS)
    return array


def padded() -> np.ndarray[Any, Any]:
    array = np.zeros(N_ROWS, np.dtype([("a", "i4"), ("b", "f8")], align=True))
    array["b"] = numbers(N_ROWS)
    return array


LARGE: dict[str, Callable[[], Any]] = {
    "an array": lambda: numbers(N_ROWS),
    "an array in columns": lambda: np.asfortranarray(numbers(400, 700)),
    "a strided array": lambda: numbers(2 * N_ROWS)[::-2],
    "an array of three axes in another order": lambda: numbers(40, 80, 90).transpose(1, 2, 0),
    "a structured array": packed,
    "a padded array": padded,
    "an array of times": lambda: numbers(N_ROWS).view("i8").view("M8[ns]"),
    "an array of big numbers": lambda: numbers(N_ROWS).astype(">f8"),
    "a long double": lambda: numbers(N_ROWS).astype("longdouble"),
    "a strided long double": lambda: numbers(2 * N_ROWS).astype("longdouble")[::2],
    "a complex long double": lambda: numbers(N_ROWS).astype("clongdouble").reshape(2, -1).T,
    "a big-endian long double": lambda: numbers(N_ROWS).astype(">g"),
    "an array of texts": lambda: np.array([f"{n:x}" for n in range(N_ROWS)]),
    "bytes that can change": lambda: bytearray(numbers(N_ROWS).tobytes()),
    "a masked array": lambda: np.ma.array(numbers(N_ROWS), mask=numbers(N_ROWS) > 0.5),
}


def changed(value: Any) -> None:
    """Another value in one place near the end."""
    if isinstance(value, bytearray):
        value[-7] ^= 1
        return
    at = tuple(n - 3 for n in value.shape)
    if value.dtype.names:
        value["a"][at] += 1
    else:
        value[at] = value[(0,) * value.ndim]


@pytest.mark.parametrize("name", LARGE)
def test_a_change_in_a_large_value_is_seen_and_one_that_is_undone_leaves_nothing(name: str) -> None:
    value, other = LARGE[name](), LARGE[name]()
    before = digest(value)
    assert digest(value) == before == digest(other)

    changed(value)
    after = digest(value)
    changed(other)

    assert after != before
    assert digest(value) == after == digest(other)


@pytest.mark.parametrize(
    "make",
    [
        lambda: numbers(400, 700),
        lambda: numbers(400, 700).astype("i4"),
        lambda: numbers(5_000, 100).astype("complex128"),
        lambda: numbers(300, 500, 2).transpose(0, 2, 1),
    ],
)
def test_of_a_large_array_the_order_counts_and_the_strides_do_not(make: Callable[[], Any]) -> None:
    array = np.ascontiguousarray(make())
    wide = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    wide[::2] = array

    assert digest(wide[::2]) == digest(array)
    assert digest(np.asfortranarray(array)) != digest(array)


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [3, 70])
def test_the_blocks_of_a_large_frame_do_not_count(n_columns: int) -> None:
    array = numbers(N_ROWS, n_columns)
    names = [f"c{i}" for i in range(n_columns)]

    in_rows = pd.DataFrame(array, columns=names, copy=False)
    in_columns = pd.DataFrame({name: array[:, i].copy() for i, name in enumerate(names)})
    in_a_block = in_columns.copy()

    assert digest(in_rows) == digest(in_columns) == digest(in_a_block)


def test_a_slice_of_a_large_frame_is_as_good_as_its_copy() -> None:
    frame = pd.DataFrame(numbers(N_ROWS, 6), columns=list("abcdef"))

    for part in (frame.iloc[::-1], frame.iloc[5:, 1:4], frame[["a", "f", "c"]], frame.iloc[::2]):
        assert digest(part) == digest(part.copy())


def test_a_change_in_a_frame_that_lies_in_rows_is_seen() -> None:
    array = numbers(N_ROWS, 4)
    frame = pd.DataFrame(array, columns=list("abcd"), copy=False)
    digest(frame)

    for row, column in ((0, 0), (N_ROWS // 2, 1), (N_ROWS - 1, 3)):
        array[row, column] += 1
        assert digest(frame) == digest(frame.copy())


def test_a_frame_that_is_written_to_through_pandas_is_seen() -> None:
    frame = pd.DataFrame({"a": numbers(N_ROWS), "b": numbers(N_ROWS), "c": "x"})
    before = digest(frame)

    frame.loc[5, "a"] = 3.0
    after = digest(frame)
    frame.loc[5, "a"] = numbers(N_ROWS)[5]

    assert after != before
    assert digest(frame) == before


def test_what_lies_under_the_missing_values_of_a_large_column_does_not_count() -> None:
    missing = numbers(N_ROWS) > 0.5
    one, other = np.arange(N_ROWS), np.where(missing, 9, np.arange(N_ROWS))

    columns = [pd.Series(pd.arrays.IntegerArray(data, missing)) for data in (one, other)]
    arrays = [pa.array(data, mask=missing) for data in (one, other)]

    assert digest(columns[0]) == digest(columns[1])
    assert digest(pa.table({"x": arrays[0]})) == digest(pa.table({"x": arrays[1]}))


def texts() -> list[str | None]:
    return [None if n % 7 == 0 else f"a text of some length {n}" for n in range(N_ROWS)]


def test_the_chunks_of_a_large_column_do_not_count() -> None:
    for data in (numbers(N_ROWS), texts()):
        whole = pa.array(data)
        pieces = pa.chunked_array([whole[:100], whole[100:60_000], whole[60_000:]])
        table = pa.table({"x": pieces})
        assert digest(table) == digest(table) == digest(pa.table({"x": whole}))

        series = pl.Series("x", data)
        parts = pl.concat([series[:100], series[100:60_000], series[60_000:]], rechunk=False)
        assert parts.n_chunks() == 3
        assert digest(parts) == digest(parts) == digest(series) == digest(series.clone())


def test_large_columns_that_differ_in_one_place_have_other_digests() -> None:
    for data in (numbers(N_ROWS), texts()):
        other = list(data)
        other[-2] = other[1]

        assert digest(pl.Series(data)) != digest(pl.Series(other))
        assert digest(pa.array(data)) != digest(pa.array(other))
        assert digest(pd.Series(data)) != digest(pd.Series(other))


def test_a_column_that_another_library_writes_to_is_seen() -> None:
    data = numbers(N_ROWS)
    column = pa.array(data)  # lies on the memory of the array
    table = pa.table({"x": column})
    assert column.buffers()[1].address == data.__array_interface__["data"][0]
    before = digest(table)

    data[5] += 1

    assert digest(table) != before
    assert digest(table) == digest(pa.table({"x": pa.array(data.copy())}))


def test_a_tensor_that_is_changed_in_place_is_seen() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(float(N_ROWS * 2)).reshape(2, -1)
    digest(tensor)

    for one in (tensor, tensor[1], tensor.T):
        tensor[1, 7] += 1
        assert digest(one) == digest(one.clone())


ALL_OF_THEM = f"""
from tests.runtime.dirty_pages.test_values import LARGE, digest, numbers
import pandas as pd, polars as pl, pyarrow as pa
for name, make in LARGE.items():
    value = make()
    print(digest(value), digest(value))
for n in (4, 70):
    frame = pd.DataFrame(numbers({N_ROWS}, n))
    print(digest(frame), digest(frame), digest(pl.from_numpy(numbers({N_ROWS}, n))))
"""


@pytest.mark.slow
def test_large_values_have_the_same_digests_with_and_without_the_kernel_s_help() -> None:
    found = []
    for switch in ("", "off"):
        done = subprocess.run(
            [sys.executable, "-c", ALL_OF_THEM],
            cwd=Path(__file__).parents[3],
            env=os.environ
            | {"NBCKPT_PAGES": switch, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(done.stdout.splitlines())

    assert found[0] == found[1]
    assert len(found[0]) == len(LARGE) + 2
    assert all(len(set(line.split()[:2])) == 1 for line in found[0])


@needs_tracker
@pytest.mark.parametrize(
    "make",
    [
        lambda: numbers(1 << 23),
        lambda: pd.DataFrame(numbers(1 << 20, 8), copy=False),
        lambda: pd.DataFrame({name: numbers(1 << 20) for name in "abcdefgh"}),
        lambda: pa.table({"x": numbers(1 << 23)}),
        lambda: pl.DataFrame({"x": texts() * 10}),
        lambda: np.asfortranarray(numbers(1 << 12, 1 << 11)),
    ],
)
def test_a_large_value_that_nobody_wrote_to_is_not_read_again(make: Callable[[], Any]) -> None:
    value = make()
    first = seconds_of(lambda: digest(value))
    digest(value)

    again = min(seconds_of(lambda: digest(value)) for _ in range(5))

    assert again < first / 5


def seconds_of(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin
