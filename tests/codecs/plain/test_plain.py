"""What is plain comes back without trust, equal, of its type, with what it shares still shared."""

from __future__ import annotations

import array
import datetime as dt
import decimal
import fractions
import pathlib
import uuid
import warnings
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.codecs import plain
from nbckpt.codecs.loading import Loading, decode
from nbckpt.errors import FormatError, UntrustedError
from tests.codecs.plain.blobs import NAME, parts_of

NOW = dt.datetime(2026, 11, 21, 9, 30, tzinfo=dt.UTC)
ZONE = zoneinfo.ZoneInfo("Europe/Berlin")
DATES = ["2020-01-01", "2021-02-03"]


def back(value: object, **options: Any) -> Any:
    """A value that was written, read without trust."""
    return plain.load(parts_of(value, **options))[NAME]


STANDARD: list[object] = [
    None, True, 0, -5, 10**400, 1.5, float("inf"), 1 + 2j, "a\ud800", b"b", bytearray(b"c"),
    "long" * 200_000, b"long" * 200_000, ..., NotImplemented, range(1, 9, 2), slice(1, None),
    [1, [2]], (1, (2,)), {"a": {"b": 1}}, {1, 2}, frozenset({1, (2, 3)}),
    OrderedDict(a=1), Counter("aab"), defaultdict(list, {1: [2]}), deque([1, 2], 3),
    dt.date(2020, 2, 29), dt.time(1, 2, 3), dt.timedelta(1, 2, 3), NOW, NOW.replace(tzinfo=None),
    NOW.astimezone(ZONE), NOW.replace(fold=1), dt.timezone(dt.timedelta(hours=1), "X"),
    decimal.Decimal("1.50"), fractions.Fraction(1, 3), uuid.UUID(int=5), uuid.uuid1(),
    pathlib.Path("/a/b"), pathlib.PureWindowsPath("c:/d"), array.array("d", [1, 2]),
    {"types": [int, str, np.float32, pd.DataFrame]}, list(range(5_000)), dict.fromkeys(range(5_000)),
]  # fmt: skip


@pytest.mark.parametrize("value", STANDARD, ids=lambda value: type(value).__name__)
def test_values_of_the_library_come_back(value: object) -> None:
    found = back(value)

    assert type(found) is type(value)
    assert found == value


ARRAYS: list[Any] = [
    np.arange(10), np.arange(100_000.0).reshape(100, 1_000), np.asfortranarray(np.ones((3, 4))),
    np.ones((3, 4))[:, ::-1], np.arange(10)[::2], np.zeros((0, 3)), np.array(5), np.ones(2, "c16"),
    np.ones(2, "f2"), np.ones(2, np.longdouble), np.arange(3, dtype=">i4"), np.array([True, False]),
    np.array(["a", "bb"]), np.array([b"a"]), np.array(DATES, "M8[ns]"), np.array([1], "m8[25s]"),
    np.zeros(2, [("a", "i4"), ("b", "f8", (2,)), ("c", "U3")]),
    np.zeros(2, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    np.array([1, "a", None, [2]], object), np.array([[1, 2], [3, {}]], object),
    np.asfortranarray(np.array([[1, 2], [3, "x"]], object)),
    np.array(["a", "b" * 50], np.dtypes.StringDType()),
]  # fmt: skip


@pytest.mark.parametrize("value", ARRAYS, ids=lambda value: f"{value.dtype} {value.shape}")
def test_arrays_come_back(value: Any) -> None:
    found = back(value)

    assert type(found) is np.ndarray
    assert found.dtype == value.dtype
    assert found.dtype.isalignedstruct == value.dtype.isalignedstruct
    assert found.flags.f_contiguous == value.flags.f_contiguous
    np.testing.assert_array_equal(found, value)


SCALARS = [
    np.float64(1), np.int8(-1), np.bool_(True), np.str_("a"), np.datetime64("2020"), np.float16(1),
    np.dtype("f4"), np.dtype([("a", ">i2")]), pd.Timestamp("2020", tz=ZONE), pd.Timestamp("2020"),
    pd.Timedelta(1), pd.Period("2020"), pd.Interval(0, 1), torch.Size([2, 3]), torch.bfloat16,
    torch.device("cpu"), pa.scalar(1), pa.schema([("a", pa.int64())], metadata={"k": "v"}),
]  # fmt: skip


@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_scalars_come_back(value: object) -> None:
    found = back(value)

    assert type(found) is type(value)
    assert found == value


def test_missing_values_come_back_as_themselves() -> None:
    missing, no_time = back([pd.NA, pd.NaT])

    assert missing is pd.NA
    assert no_time is pd.NaT


def test_arrays_of_other_kinds_come_back() -> None:
    masked = np.ma.array([1.0, 2.0], mask=[0, 1], fill_value=9.0)
    records = np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix([[1, 2]])

    found, record, square = back(masked), back(records), back(matrix)

    assert type(found) is np.ma.MaskedArray
    assert found.fill_value == 9.0
    assert found.tolist() == masked.tolist()
    assert type(record) is np.recarray
    assert record.a.tolist() == [1]
    assert type(square) is np.matrix
    assert (square == matrix).all()


def test_a_read_only_array_is_read_only_again() -> None:
    numbers, objects = np.arange(3), np.array([1, "a"], object)
    numbers.flags.writeable = objects.flags.writeable = False

    found, held = back(numbers), back([objects, objects])

    assert not found.flags.writeable
    assert held[0] is held[1]
    assert not held[0].flags.writeable
    assert held[0].tolist() == [1, "a"]


def test_views_share_memory_again() -> None:
    base = np.arange(10)

    whole, part, backwards = back([base, base[2:], base[::-1]], linked=frozenset({id(base)}))
    whole[5] = 99

    assert part[3] == 99
    assert backwards[4] == 99


def test_containers_share_again_and_may_hold_themselves() -> None:
    shared = [1]
    value: list[Any] = [shared, {"a": shared}, (shared,)]
    value.append(value)

    found = back(value)

    assert found[0] is found[1]["a"] is found[2][0]
    assert found[3] is found


FRAMES = [
    pd.DataFrame(), pd.DataFrame({"a": [1, 2], "b": ["x", None]}), pd.DataFrame({"a": [1]}, ["r"]),
    pd.DataFrame({"a": pd.to_datetime(DATES), "b": pd.to_datetime(DATES, utc=True)}),
    pd.DataFrame({"a": pd.Categorical(["x", "y", "x"]), "b": pd.array([1, None, 3], "Int64")}),
    pd.DataFrame({"a": pd.array([True, None]), "b": pd.array([1.5, None])}),
    pd.DataFrame({"a": pd.Series(["x", 1, [2]], dtype=object)}),
    pd.DataFrame({"a": pd.period_range("2020", periods=2), "b": pd.to_timedelta(["1s", "2s"])}),
    pd.DataFrame({"a": pd.array(["a", None], pd.StringDtype("python"))}),
    pd.DataFrame({"a": pd.array([1, 2], "int64[pyarrow]")}),
    pd.DataFrame(np.ones((3, 4)), columns=pd.MultiIndex.from_product([["a", "b"], [1, 2]])),
    pd.DataFrame(np.arange(20_000.0).reshape(100, 200)),
]  # fmt: skip


def test_a_masked_column_comes_back_whose_type_was_used_before() -> None:
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})
    assert frame["a"].dtype.numpy_dtype == np.dtype("int64")  # which the type remembers

    found = back(frame)

    pd.testing.assert_frame_equal(found, frame)


@pytest.mark.parametrize("value", FRAMES, ids=lambda frame: str(list(frame.dtypes)[:2]))
def test_frames_of_pandas_come_back(value: pd.DataFrame) -> None:
    found = back(value)

    pd.testing.assert_frame_equal(found, value)
    found.insert(0, ("new", "new") if value.columns.nlevels == 2 else "new", 1)
    assert len(found.columns) == len(value.columns) + 1  # it is whole inside, too


INDEXES = [
    pd.Index([1, 2], name="n"), pd.Index(["a"]), pd.RangeIndex(1, 9, 2), pd.CategoricalIndex(["a"]),
    pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["p", None]), pd.interval_range(0, 3),
    pd.date_range("2020", periods=3, freq="h", tz="UTC"), pd.to_datetime(DATES),
    pd.to_timedelta(["1s", "2s"]), pd.period_range("2020", periods=2),
]  # fmt: skip


@pytest.mark.parametrize("value", INDEXES, ids=lambda index: f"{type(index).__name__}{len(index)}")
def test_indexes_and_series_come_back(value: pd.Index) -> None:
    pd.testing.assert_index_equal(back(value), value)
    if not isinstance(value, pd.MultiIndex | pd.IntervalIndex):
        series = pd.Series(value, name="s")
        pd.testing.assert_series_equal(back(series), series)


def test_frames_of_polars_come_back() -> None:
    frame = pl.DataFrame(
        {
            "a": [1, None],
            "b": ["x", "y" * 99],
            "c": [[1], []],
            "d": [{"q": 1}, {"q": 2}],
            "e": pl.Series(["a", "b"], dtype=pl.Categorical),
            "f": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])),
            "g": [dt.date(2020, 1, 1), None],
            "h": [NOW, NOW],
            "i": [decimal.Decimal("1.5"), None],
            "j": [None, None],
        }
    )

    found, series = back(frame), back(frame["b"])

    assert found.equals(frame)
    assert found.schema == frame.schema
    assert series.equals(frame["b"])


COLUMNS = [
    pa.array([1, None]), pa.array(["a", "b"]), pa.array([[1], None]), pa.array([{"a": 1}]),
    pa.array(["a"]).dictionary_encode(), pa.array([1], pa.timestamp("ns", tz="UTC")),
    pa.array([None, decimal.Decimal("1.5")], pa.decimal128(10, 2)), pa.array([b"ab"], pa.binary(2)),
    pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), pa.nulls(3), pa.array([True, None]),
    pa.array([[1, 2]], pa.list_(pa.int32(), 2)), pa.array([1, 2, 3])[1:], pa.array([1.5]),
]  # fmt: skip


@pytest.mark.parametrize("value", COLUMNS, ids=lambda column: str(column.type))
def test_arrow_comes_back(value: pa.Array) -> None:
    table = pa.table({"c": value})

    assert back(value).equals(value)
    assert back(pa.chunked_array([value, value])).equals(pa.chunked_array([value, value]))
    assert back(table).equals(table)
    assert back(pa.record_batch({"c": value})).equals(pa.record_batch({"c": value}))


def test_tensors_come_back_on_one_memory() -> None:
    base = torch.arange(6.0)
    weight = torch.nn.Parameter(torch.zeros(2))
    weight.grad = torch.ones(2)

    found, part = back([base, base[2:]])
    found[3] = 99

    assert part[1] == 99
    assert back(base.reshape(2, 3).T).tolist() == base.reshape(2, 3).T.tolist()
    again = back(weight)
    assert type(again) is torch.nn.Parameter
    assert again.grad.tolist() == [1, 1]


class Mine:
    """What only its own code can make again."""


def _function() -> None: ...


REFUSED: list[tuple[object, str]] = [
    (Mine(), "Mine"), (_function, "_function"), (print, "builtins.print"),
    ([1, {"deep": Mine()}], "Mine"), (np.array([Mine()], object), "Mine"), (ValueError("x"), "an exception"),
    (pd.DataFrame({"a": [Mine()]}), "Mine"), (np.random.default_rng(), "random"), (np.sin, "sin"),
    (pl.LazyFrame({"a": [1]}), "LazyFrame"), (torch.nn.Linear(1, 1), "Linear"), (getattr, "getattr"),
    (lambda: 1, "a function or class of the notebook"), (memoryview, "memoryview"),
    (np.array(["a", None], np.dtypes.StringDType(na_object=None)), "StringDType"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_what_is_more_than_plain_is_refused_and_named(value: object, told: str) -> None:
    parts = parts_of(value)

    with pytest.raises(UntrustedError, match=told):
        plain.load(parts)
    assert told in str(plain.can_be_restored(parts))


def test_it_is_asked_for_before_anything_is_unpickled() -> None:
    parts = parts_of([1, 2])

    assert plain.can_be_restored(parts) is None
    assert decode(parts, Loading({}, str), trusted=False) == {NAME: [1, 2]}
    with pytest.raises(UntrustedError):
        decode(parts_of(Mine()), Loading({}, str), trusted=False)


@pytest.mark.parametrize("parts", [[b""], [b"NBST"], [b"NBST\xff\xff\xff\xff"], [b"nope\0\0\0\0"]])
def test_what_is_no_blob_is_damage(parts: list[bytes]) -> None:
    with pytest.raises(FormatError):
        plain.load([memoryview(part) for part in parts])


ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
KEYS = ATOMS | st.binary() | st.dates() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    ATOMS | st.binary() | st.decimals(allow_nan=False) | st.fractions() | st.uuids() | st.times(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(KEYS, inner)
        | st.lists(inner).map(tuple)
        | st.sets(KEYS)
        | st.frozensets(KEYS)
    ),
    max_leaves=30,
)


@given(VALUES)
def test_any_plain_value_comes_back_as_by_the_loader_that_trusts(value: object) -> None:
    parts = parts_of(value)

    found = plain.load(parts)

    assert found == decode(parts, Loading({}, str), trusted=True) == {NAME: value}
    assert repr(found) == repr(decode(parts, Loading({}, str), trusted=True))
