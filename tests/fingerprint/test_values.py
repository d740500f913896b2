from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import csv
import datetime
import decimal
import functools
import hashlib
import itertools
import pathlib
import pickle
import queue
import random
import re
import sqlite3
import subprocess
import sys
import textwrap
import threading
import types
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.fingerprint.values import ValueDigester


class Some:
    def __init__(self, n: object) -> None:
        self.n = n


ONE, TWO = Some(1), Some(2)


def digest(value: object, namespace: dict[str, Any] | None = None) -> str:
    digester = ValueDigester({} if namespace is None else namespace)
    found = digester.digest(value)
    assert not digester.exhausted
    return found


def ran(source: str, filename: str = "<cell>") -> dict[str, Any]:
    """The namespace after `source` ran in it, as a notebook's cell would."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(textwrap.dedent(source), filename, "exec", dont_inherit=True), namespace)
    return namespace


def through_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value, protocol=5))


def shared_row() -> list[list[int]]:
    row = [1]
    return [row, row]


def cycle() -> list[object]:
    items: list[object] = [1]
    items.append(items)
    return items


def padded() -> np.ndarray[Any, Any]:
    array = np.empty(4, np.dtype([("a", "u1"), ("b", "f8")], align=True))
    array["a"], array["b"] = range(4), range(4)
    return array


ROUND_TRIPS: dict[str, Callable[[], Any]] = {
    "nested plain data": lambda: [
        1,
        (2.5, b"x" * 500),
        {"a": [None, True, "é" * 500], (1, 2): ...},
    ],
    "many small dicts": lambda: [{"id": i, "tags": ["a", i]} for i in range(100)],
    "many dicts with dates": lambda: [
        {"at": datetime.datetime(2020, 1, i, tzinfo=datetime.UTC)} for i in range(1, 30)
    ],
    "a shared row": shared_row,
    "a cycle": cycle,
    "sets": lambda: [{"a", "b", 1, None, 2.5}, frozenset([frozenset("ab"), frozenset("cd")])],
    "a set of dates": lambda: {datetime.date(2020, 1, d) for d in range(1, 20)},
    "lone surrogates": lambda: ["\ud800", {"\udfff"}],
    "numbers": lambda: [2**100, -0.0, float("nan"), complex(1, -2), True, decimal.Decimal("1.50")],
    "dates": lambda: [
        datetime.datetime.now(datetime.UTC),
        datetime.timedelta(1),
        datetime.date.min,
    ],
    "standard values": lambda: [
        uuid.UUID(int=3),
        pathlib.PurePath("a/b"),
        re.compile("a+", re.IGNORECASE),
    ],
    "collections": lambda: [
        collections.OrderedDict(b=1, a=[2]),
        collections.defaultdict(list, {"a": [1]}),
        collections.Counter("hello"),
        collections.deque([1, [2]], maxlen=5),
    ],
    "a namespace": lambda: types.SimpleNamespace(a=[1], b={"c"}),
    "buffers": lambda: [bytearray(b"abc"), range(3), slice(1, None)],
    "an exception": lambda: ValueError("x", 3),
    "library code": lambda: [
        len,
        np.mean,
        int,
        collections.Counter,
        "a".upper,
        list[int],
        int | None,
    ],
    "a partial": lambda: functools.partial(int, base=2),
    "an iterator": lambda: itertools.count(5),
    "generators of numbers": lambda: [np.random.default_rng(3), random.Random(3)],
    "an array": lambda: np.arange(12.0).reshape(3, 4),
    "an array in columns": lambda: np.asfortranarray(np.arange(12).reshape(3, 4)),
    "a strided array": lambda: np.arange(12)[::-2],
    "an empty array": lambda: np.zeros((0, 3)),
    "an array without axes": lambda: np.array(3.0),
    "an array of objects": lambda: np.array([1, "a", [2], None], dtype=object),
    "an array of texts": lambda: np.array(["a", "longer"]),
    "an array of long texts": lambda: np.array(["a", "b" * 100], dtype=np.dtypes.StringDType()),
    "an array of times": lambda: np.array(["2020-01-01", "NaT"], dtype="M8[us]"),
    "a structured array": padded,
    "a masked array": lambda: np.ma.array([1, 2, 3], mask=[0, 1, 0]),
    "a big-endian array": lambda: np.arange(3, dtype=">i4"),
    "scalars": lambda: [np.float32(3), np.int8(1), np.datetime64("2020"), np.dtype("f8")],
    "a frame": lambda: pd.DataFrame(
        {
            "int": [1, 2],
            "float": [0.5, float("nan")],
            "text": ["x", None],
            "object": [[1], {"a"}],
            "category": pd.Categorical(["u", "v"], ordered=True),
            "nullable": pd.array([1, None], dtype="Int64"),
            "flag": pd.array([True, None], dtype="boolean"),
            "time": pd.date_range("2020", periods=2, tz="UTC"),
            "period": pd.period_range("2020", periods=2, freq="M"),
            "sparse": pd.arrays.SparseArray([0, 1]),
            "interval": pd.interval_range(0, 2),
            "arrow": pd.array([[1], None], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
        }
    ),
    "a wide frame": lambda: pd.DataFrame(np.arange(300.0).reshape(3, 100)),
    "a frame with levels": lambda: pd.DataFrame(
        {"a": [1, 2]}, index=pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["k", None])
    ),
    "a series": lambda: pd.Series([1, 2], name="n", index=pd.date_range("2020", periods=2)),
    "pandas scalars": lambda: [pd.Timestamp("2020", tz="UTC"), pd.Timedelta(1), pd.NaT, pd.NA],
    "a polars frame": lambda: pl.DataFrame(
        {"a": [1, None], "b": ["x", None], "c": [[1], None], "d": [{"e": 1}, None]}
    ),
    "a polars category": lambda: pl.Series("a", ["x", "y", "x"], dtype=pl.Categorical),
    "a polars series of objects": lambda: pl.Series("a", [{1}, {2}], dtype=pl.Object),
    "an Arrow table": lambda: pa.table(
        {
            "int": [1, None],
            "text": ["x", None],
            "list": [[1], None],
            "vector": pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
            "struct": [{"a": 1}, None],
            "category": pa.array(["x", "y"]).dictionary_encode(),
            "decimal": pa.array([decimal.Decimal("1.5"), None]),
            "flag": [True, None],
            "none": [None, None],
        }
    ),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_what_comes_back_from_a_pickle_has_the_digest_of_what_went_in(name: str) -> None:
    value = ROUND_TRIPS[name]()

    before = digest(value)

    assert digest(value) == before
    if name != "a polars series of objects":  # which polars cannot pickle
        assert digest(through_pickle(value)) == before


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_no_two_of_these_values_have_one_digest(name: str) -> None:
    others = [make() for other, make in ROUND_TRIPS.items() if other != name]

    assert digest(ROUND_TRIPS[name]()) not in {digest(other) for other in others}


row: list[int] = [1]
frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1], (1,)),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("a", b"a"),
        (b"a", bytearray(b"a")),
        ([1, 2], [2, 1]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": {}}, {"a": []}),
        ([[], []], [[[]]]),
        ([["a"], "b"], [["a", "b"]]),
        ({1, 2}, frozenset({1, 2})),
        ({1}, {1.0}),
        ([row, row], [row, list(row)]),
        ([[row], row], [[row], list(row)]),
        ([{"a": row}] * 20 + [row], [{"a": row}] * 20 + [list(row)]),
        ({"x": row, "y": row}, {"x": row, "y": list(row)}),
        (collections.OrderedDict(a=1), {"a": 1}),
        (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
        (np.arange(3), np.arange(3.0)),
        (np.arange(4), np.arange(4).reshape(2, 2)),
        (np.arange(3), [0, 1, 2]),
        (np.arange(3), np.arange(3).astype(">i8")),
        (np.float32(1), np.float64(1)),
        (frame, frame.rename(columns={"a": "c"})),
        (frame, frame.set_index("b")),
        (frame, frame.assign(a=[1, 2])),
        (frame, frame.assign(b=pd.Categorical(["x", "y"]))),
        (frame, frame.iloc[::-1]),
        (frame["a"], frame["a"].rename("z")),
        (pl.Series([1, 2]), pl.Series([1, None])),
        (pa.array([[1], [2, 3]]), pa.array([[1, 2], [3]])),
        (pa.array(["a", "bc"]), pa.array(["ab", "c"])),
        (functools.partial(int, base=2), functools.partial(int, base=3)),
        (ValueError("a"), TypeError("a")),
        (np.mean, np.median),
        ("a".upper, "b".upper),
    ],
)
def test_values_that_differ_have_other_digests(one: object, other: object) -> None:
    assert digest(one) != digest(other)


def test_attributes_of_a_frame_count() -> None:
    changed = frame.copy()

    changed.attrs["unit"] = "m"

    assert digest(changed) != digest(frame)


ASKED = {
    "a frame": lambda: pd.DataFrame({"a": pd.date_range("2020", periods=3, tz="UTC")}),
    "a frame by dates": lambda: pd.DataFrame({"a": [1]}, index=pd.date_range("2020", periods=1)),
    "a series of texts": lambda: pd.Series(["a", "b"]),
    "dates": lambda: pd.date_range("2020", periods=3),
    "dates in an array": lambda: pd.date_range("2020", periods=3).array,
    "steps of time": lambda: pd.timedelta_range("1h", periods=3),
    "periods": lambda: pd.period_range("2020", periods=3, freq="Q"),
    "periods in an array": lambda: pd.period_range("2020", periods=3, freq="Q").array,
    "intervals of times": lambda: pd.interval_range(pd.Timestamp("2020"), periods=3, freq="D"),
    "categories": lambda: pd.CategoricalIndex(list("aba")),
    "texts": lambda: pd.array(["a", None], "string[python]"),
    "groups": lambda: pd.DataFrame({"a": [1, 1, 2], "b": [1, 2, 3]}).groupby("a"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_pandas_notes_of_a_look_at_a_value_does_not_count(name: str) -> None:
    value: Any = ASKED[name]()
    before = digest(value)

    repr(value)
    for part in (value, getattr(value, "index", None), getattr(value, "array", None)):
        for member in ("_can_hold_na", "hasnans", "is_unique", "ndim", "plot", "str", "unit"):
            with contextlib.suppress(AttributeError, NotImplementedError):
                getattr(part, member)

    assert digest(value) == before


class OrderedSet(set[str]):
    def __init__(self, items: Sequence[str]) -> None:
        super().__init__(items)
        self.order = list(items)

    def __iter__(self) -> Iterator[str]:
        return iter(self.order)

    def __reduce__(self) -> tuple[Any, ...]:
        return OrderedSet, (self.order,)


def test_the_order_of_a_set_with_an_order_of_its_own_counts() -> None:
    assert digest(OrderedSet(["a", "b"])) == digest(OrderedSet(["a", "b"]))
    assert digest(OrderedSet(["a", "b"])) != digest(OrderedSet(["b", "a"]))


class SetsItself:
    def __init__(self) -> None:
        self.a, self.b = 1, [2]

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.b, self.a = state["b"], state["a"]


def test_the_order_in_which_a_library_s_class_sets_its_state_does_not_count() -> None:
    value = through_pickle(SetsItself())

    assert list(vars(value)) != list(vars(SetsItself()))
    assert digest(value) == digest(SetsItself())


def test_the_same_immutable_object_twice_is_no_sharing() -> None:
    text, big, pair = "".join(["a", "b"]), int("1" * 30), tuple(range(2))

    assert digest([text, text]) == digest([text, "".join(["a", "b"])])
    assert digest([big, big]) == digest([big, int("1" * 30)])
    assert digest([pair, pair]) == digest([pair, tuple(range(2))])
    assert digest([datetime.date(2020, 1, 1)] * 2) == digest(
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 1)]
    )


def test_a_view_of_an_array_beside_it_is_no_copy() -> None:
    array = np.arange(10)

    assert digest([array, array[2:4]]) != digest([array, array[2:4].copy()])
    assert digest([array, array[2:4]]) != digest([array, array[:2] + 2])


def test_a_view_alone_is_as_good_as_its_copy() -> None:
    array = np.arange(10)

    assert digest(array[2:4]) == digest(array[2:4].copy())


def test_of_the_layout_of_an_array_only_the_order_counts() -> None:
    array = np.arange(6_000_000.0).reshape(2000, 3000)

    assert digest(np.repeat(array, 2, axis=0)[::2]) == digest(array)
    assert digest(np.asfortranarray(array)) != digest(array)


def test_what_lies_between_the_fields_of_a_structured_array_does_not_count() -> None:
    one, other = padded(), padded()

    other.view(np.uint8).reshape(4, -1)[:, 1:8] = 7

    assert digest(other) == digest(one)


def test_the_blocks_of_a_frame_do_not_count() -> None:
    whole = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "b"])
    pieces = pd.DataFrame({"a": whole["a"].to_numpy().copy(), "b": whole["b"].to_numpy().copy()})

    assert digest(pieces) == digest(whole)


def test_the_chunks_of_an_arrow_column_do_not_count() -> None:
    whole = pa.array(["a", None, "bc", "d"])
    pieces = pa.chunked_array([whole[:1], whole[1:3], whole[3:]])

    assert digest(pa.table({"x": pieces})) == digest(pa.table({"x": whole}))


def test_what_lies_under_a_null_does_not_count() -> None:
    values = pa.py_buffer(np.array([1, 2, 3]))
    other = pa.py_buffer(np.array([1, 9, 3]))
    valid = pa.py_buffer(bytes([0b101]))

    one = pa.Array.from_buffers(pa.int64(), 3, [valid, values])
    two = pa.Array.from_buffers(pa.int64(), 3, [valid, other])

    assert digest(two) == digest(one)


@pytest.mark.slow
def test_a_structure_of_any_depth_has_a_digest() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert digest(deep) != digest([deep])


@pytest.mark.slow
def test_sets_inside_sets_of_any_depth_end() -> None:
    deep: frozenset[Any] = frozenset()
    for _ in range(5_000):
        deep = frozenset([deep])
    digester = ValueDigester({})

    found = digester.digest(deep)

    assert not digester.exhausted
    assert found == digester.digest(deep)
    assert found != digester.digest(frozenset([deep]))


class Node:
    """One that leads to others, which may lead back."""

    all: set[Node] = set()  # noqa: RUF012

    def __init__(self, name: object = None) -> None:
        self.name, self.near = name, set[Node]()


def linked(pairs: list[tuple[int, int]], *, named: bool = True) -> list[Node]:
    nodes = [Node(n if named else None) for n in range(1 + max(map(max, pairs)))]
    for one, other in pairs:
        nodes[one].near.add(nodes[other])
        nodes[other].near.add(nodes[one])
    return nodes


RING = [(n, (n + 1) % 2_000) for n in range(2_000)]


@pytest.mark.slow
@pytest.mark.timeout(30)
def test_sets_that_lead_back_to_those_that_hold_them_are_walked_once() -> None:
    ring = linked(RING)
    Node.all = set(ring)
    try:
        found = digest(ring)
    finally:
        Node.all = set()

    assert found == digest(linked(RING))
    assert found != digest(linked([*RING, (0, 1_000)]))
    ring[700].name = -1
    assert found != digest(ring)


@pytest.mark.slow
@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", [list, dict, set])
def test_elements_of_a_set_that_share_much_are_walked_once(kind: Any) -> None:
    nodes = [Node(n) for n in range(8_000)]
    shared = dict(enumerate(nodes)) if kind is dict else kind(nodes)
    for node in nodes:
        node.near = shared

    found = digest(set(nodes))

    nodes[7_000].name = -1
    assert digest(set(nodes)) != found


LINKED = f"""
import random, sys
from nbckpt.fingerprint.values import ValueDigester
class Node:
    def __init__(self, name):
        self.name, self.near = name, set()
def linked(pairs, named):
    nodes = [Node(n if named else None) for n in range(1 + max(map(max, pairs)))]
    for one, other in pairs:
        nodes[one].near.add(nodes[other])
        nodes[other].near.add(nodes[one])
    return nodes
draw = random.Random(1)
pairs = [(draw.randrange(200), draw.randrange(200)) for _ in range(600)]
digester = ValueDigester(sys.modules["__main__"].__dict__)
for value in (linked(pairs, True), set(linked(pairs, True)), linked({RING[:50]!r}, False)):
    print(digester.digest(value))
"""


@pytest.mark.slow
def test_linked_objects_have_the_same_digest_in_every_process() -> None:
    found = [digests_in_a_process(seed, LINKED) for seed in ("1", "2")]

    assert found[0] == found[1]
    assert len(set(found[0])) == 3


def test_a_value_of_more_objects_than_the_budget_says_so() -> None:
    items = [types.SimpleNamespace(i=i) for i in range(100)]
    digester = ValueDigester({}, budget=50)

    found = digester.digest(items)

    assert digester.exhausted
    assert found == digester.digest(items)
    assert digester.digest([1]) == digest([1])
    assert not digester.exhausted


def test_atoms_and_elements_cost_no_budget() -> None:
    digester = ValueDigester({}, budget=20)

    digester.digest([list(range(10_000)), np.arange(10_000), [{"a": i} for i in range(1000)]])

    assert not digester.exhausted


# Tensors


def test_a_tensor_counts_by_its_values_and_not_its_layout() -> None:
    torch = pytest.importorskip("torch")
    one = torch.arange(6.0).reshape(2, 3)

    assert digest(one.T.contiguous().T) == digest(one)
    assert digest(one.double()) != digest(one)
    assert digest(one.clone().requires_grad_()) != digest(one)
    assert digest(one.bfloat16()) != digest(one)
    assert digest([one, one[0]]) != digest([one, one[0].clone()])


# What cannot be taken apart


@pytest.mark.parametrize(
    "make",
    [
        threading.Lock,
        lambda: (i for i in range(3)),
        lambda: open(__file__, "rb"),  # noqa: PTH123, SIM115
        lambda: threading.Thread(target=len),
        lambda: ThreadPoolExecutor(3),
        lambda: {"a": [1]}.keys(),
        lambda: hashlib.sha256(b"a"),
        lambda: done(concurrent.futures.Future(), 3),
        lambda: ContextVar("name"),
        threading.local,
    ],
)
def test_what_pickle_cannot_take_apart_counts_by_what_can_be_told_of_it(
    make: Callable[[], Any],
) -> None:
    one, other = make(), make()

    digests = {digest({"x": one}), digest({"x": other})}
    for value in (one, other):
        getattr(value, "close", lambda: None)()

    assert len(digests) == 1
    assert digest(threading.Lock()) != digest(threading.RLock())


def test_a_queue_counts_by_what_is_in_it() -> None:
    one, same, other = queue.Queue[int](), queue.Queue[int](), queue.Queue[int]()

    one.put(1), same.put(1), other.put(2)

    assert digest(one) == digest(same)
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: (i for i in range(3)), lambda: (i for i in range(30))),
        (lambda: (i for i in range(3)), lambda: (i + 1 for i in range(3))),
        (lambda: {1: 2}.keys(), lambda: {1: 2, 3: 4}.keys()),
        (lambda: {1: 2}.items(), lambda: {1: 3}.items()),
        (lambda: hashlib.sha256(b"a"), lambda: hashlib.sha256(b"b")),
        (lambda: hashlib.shake_128(b"a"), lambda: hashlib.shake_128(b"b")),
        (
            lambda: done(concurrent.futures.Future(), 1),
            lambda: done(concurrent.futures.Future(), 2),
        ),
        (lambda: ThreadPoolExecutor(1), lambda: ThreadPoolExecutor(2)),
        (lambda: weakref.ref(ONE), lambda: weakref.ref(TWO)),
    ],
)
def test_what_is_told_of_two_values_differs_if_they_do(
    one: Callable[[], Any], other: Callable[[], Any]
) -> None:
    assert digest([one()]) != digest([other()])


def test_a_file_counts_by_its_place_and_content(tmp_path: pathlib.Path) -> None:
    path, other_path = tmp_path / "a", tmp_path / "b"
    path.write_text("one two")
    other_path.write_text("one two")

    with path.open() as one, path.open() as same, path.open() as read, other_path.open() as other:
        read.read(3)
        before = digest(one)
        digests = {before, digest(read), digest(other)}
        equal = digest(same) == before
        path.write_text("one too")
        changed = digest(one)

    assert equal
    assert len(digests) == 3
    assert changed != before


def test_a_connection_counts_by_what_is_in_its_file(tmp_path: pathlib.Path) -> None:
    def connected(rows: int) -> Any:
        connection = sqlite3.connect(tmp_path / f"{rows}.db")
        connection.execute("create table if not exists t (x)")
        connection.executemany("insert into t values (?)", [(i,) for i in range(rows)])
        connection.commit()
        return connection

    one, other = connected(1), connected(2)
    same, in_memory = sqlite3.connect(tmp_path / "1.db"), sqlite3.connect(":memory:")
    before = digest(one)

    found = [digest(v) for v in (same, one.cursor(), other, in_memory, in_memory)]
    again = digest(one.cursor())
    one.execute("insert into t values (7)")
    in_transaction = {digest(one), digest(one)}
    one.commit()
    after = digest(one)
    for connection in (one, other, same, in_memory):
        connection.close()

    assert found[0] == before
    assert found[1] == again
    assert found[3] == found[4]
    assert len({before, after, *found[2:], *in_transaction}) == 6


def done(future: Any, result: object) -> Any:
    future.set_result(result)
    return future


@pytest.mark.parametrize(
    "make",
    [
        sys._getframe,
        lambda: csv.reader(["a"]),
        lambda: duckdb.sql("select 1"),
        duckdb.connect,
        concurrent.futures.Future,
        queue.SimpleQueue,
        lambda: Some(duckdb.connect()),
    ],
)
def test_what_a_value_does_next_that_nobody_can_tell_equals_nothing(
    make: Callable[[], Any],
) -> None:
    value = make()

    assert digest([value]) != digest([value])


def test_a_used_client_is_the_client_that_it_was() -> None:
    httpx = pytest.importorskip("httpx")
    transport = httpx.MockTransport(lambda request: httpx.Response(200))
    one, used = httpx.Client(base_url="http://a"), httpx.Client(base_url="http://a")
    used.headers, one.headers = {}, {}
    used._transport = transport

    used.get("/x")

    assert digest(used) == digest(one)


def test_to_look_at_a_drawing_does_not_change_its_digest() -> None:
    figure_module = pytest.importorskip("matplotlib.figure")
    figure, other = figure_module.Figure(), figure_module.Figure()
    figure.subplots().plot([1, 2])
    other.subplots().plot([1, 3])
    before = digest(figure)

    again = digest(figure)

    assert again == before
    assert digest(other) != before


def test_what_stands_beside_a_lock_counts() -> None:
    lock = threading.Lock()

    assert digest({"lock": lock, "n": 1}) != digest({"lock": lock, "n": 2})


def test_a_client_of_a_library_counts_by_its_type_and_public_settings() -> None:
    urllib3 = pytest.importorskip("urllib3")
    one, used = urllib3.PoolManager(), urllib3.PoolManager()

    used.connection_from_host("localhost", 80)

    assert digest(used) == digest(one)
    assert digest(urllib3.PoolManager(headers={"a": "b"})) != digest(one)


def test_a_client_s_secrets_do_not_count() -> None:
    urllib3 = pytest.importorskip("urllib3")
    one, other, wide = (urllib3.PoolManager() for _ in range(3))

    one.api_key, other.api_key, wide.width = "a", "b", 2

    assert digest(one) == digest(other)
    assert digest(wide) != digest(one)


def test_a_client_inside_a_user_s_object_hides_nothing_of_it() -> None:
    space = ran("""
        import queue
        class Agent:
            def __init__(self, n):
                self.queue, self.n = queue.Queue(), n
        one, same, other = Agent(1), Agent(1), Agent(2)
    """)

    assert digest(space["same"], space) == digest(space["one"], space)
    assert digest(space["other"], space) != digest(space["one"], space)


def test_what_comes_after_a_client_counts() -> None:
    shared = [1]

    one = digest([shared, queue.Queue(), shared, [2]])

    assert one == digest([shared, queue.Queue(), shared, [2]])
    assert one != digest([shared, queue.Queue(), [1], [2]])
    assert one != digest([shared, queue.Queue(), shared, [3]])


def test_an_object_that_fails_when_it_is_looked_at_has_a_digest() -> None:
    space = ran("""
        class Bad:
            def __reduce_ex__(self, protocol):
                raise RuntimeError("no")
        class Worse:
            @property
            def __dict__(self):
                raise RuntimeError("no")
            __reduce_ex__ = None
        bad, worse = Bad(), Worse()
    """)

    assert digest(space["bad"], space) != ValueDigester(space).digest(space["worse"])


# The user's functions and classes


def test_a_function_s_file_name_and_lines_do_not_count() -> None:
    one = ran("def f(x, n=2):\n    return x in {'a', 'b'}", "<ipython-input-1-abc>")
    other = ran("\n\n\ndef f(x, n=2):\n    return x in {'a', 'b'}", "ipykernel_1/23.py")

    assert digest(one["f"], one) == digest(other["f"], other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(): return 1", "def f(): return 2"),
        ("def f(n=1): return n", "def f(n=2): return n"),
        ("def f(*, n=1): return n", "def f(*, n=2): return n"),
        ("def f(n: int): return n", "def f(n: str): return n"),
        ("def f(): pass", "def f(): pass\nf.kind = 1"),
        ("def f(): 'one'", "def f(): 'two'"),
        ("def f(): pass", "f = lambda: None"),
    ],
)
def test_a_function_is_what_it_does_and_what_hangs_on_it(one: str, other: str) -> None:
    was, now = ran(one), ran(other)

    assert digest(was["f"], was) != digest(now["f"], now)


def test_the_state_in_a_closure_counts() -> None:
    space = ran("""
        def counter():
            n = 0
            def step():
                nonlocal n
                n += 1
                return n
            return step
        f, g = counter(), counter()
    """)
    before = digest(space["f"], space)
    assert digest(space["g"], space) == before

    space["f"]()

    assert digest(space["f"], space) != before


def test_the_values_of_a_function_s_globals_do_not_count() -> None:
    space = ran("k = 1\ndef f(): return k")
    before = digest(space["f"], space)

    space["k"] = 2

    assert digest(space["f"], space) == before


def test_what_a_cached_function_remembers_does_not_count() -> None:
    space = ran("import functools\n@functools.cache\ndef f(n): return n")
    before = digest(space["f"], space)

    space["f"](1)

    assert digest(space["f"], space) == before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("class A:\n    n = 1", "class A:\n    n = 2"),
        ("class A:\n    n = 1", "class A:\n    n: int = 1"),
        ("class A:\n    def f(self): return 1", "class A:\n    def f(self): return 2"),
        (
            "class A:\n    @property\n    def f(self): return 1",
            "class A:\n    @property\n    def f(self): return 2",
        ),
        (
            "class A:\n    @staticmethod\n    def f(): return 1",
            "class A:\n    @classmethod\n    def f(cls): return 1",
        ),
        ("class B: pass\nclass A(B): pass", "class B: n = 1\nclass A(B): pass"),
        ("class A: pass", "class A(dict): pass"),
        ("import abc\nclass A: pass", "import abc\nclass A(abc.ABC): pass"),
    ],
)
def test_a_class_is_its_members_and_bases(one: str, other: str) -> None:
    was, now = ran(one), ran(other)

    assert digest(was["A"], was) != digest(now["A"], now)


CLASSES = """
import abc, dataclasses, enum, functools, typing

class Base(abc.ABC):
    def __init__(self): super().__init__(); self.n = 1
    @functools.cached_property
    def c(self): return [self.n]
    kind = {"a", "b", "c"}
    @abc.abstractmethod
    def m(self): ...
    @property
    def p(self): return self.n
    @staticmethod
    def s(): return {"x", "y"}

class Child(Base):
    __slots__ = ("z",)
    def m(self): return self.z

@dataclasses.dataclass
class Point:
    x: int
    tags: set = dataclasses.field(default_factory=set)
    marker: object = object

class Color(enum.Enum):
    RED = 1
    BLUE = "b"

class Pair(typing.NamedTuple):
    a: int
    b: str = "b"

child = Child(); child.z = [child]; child.c
point = Point(1, {"u", "v", "w"})
value = [child, point, Color.RED, Color, Pair(1), Child.s, child.m, functools.partial(Child.s)]
def read(word): return word in {"a", "b", "c"}
"""


def test_using_a_class_does_not_change_its_digest() -> None:
    space = ran(CLASSES)
    before = digest(space["Child"], space), digest(space["Point"], space)

    pickled = space["child"].__reduce_ex__(2), space["point"].__reduce_ex__(2)
    _ = [getattr(space[name], "__annotations__", None) for name in ("Child", "Point", "Base")]

    assert pickled
    assert (digest(space["Child"], space), digest(space["Point"], space)) == before


def digests_in_a_process(seed: str, program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


IN_A_PROCESS = f"""
import sys
from nbckpt.fingerprint.values import ValueDigester
source = {CLASSES!r}
namespace = sys.modules["__main__"].__dict__
exec(compile(source, "<ipython-input-{{}}>".format(id(source)), "exec"), namespace)
digester = ValueDigester(namespace)
words = {{chr(97 + i) * 3 for i in range(20)}}
for x in (Child, Point, Color, value, read, words, {{"k": words}}, {{frozenset(words), Color.RED}}):
    print(digester.digest(x))
assert not digester.exhausted
"""


def test_digests_are_the_same_in_every_process() -> None:
    found = [digests_in_a_process(seed, IN_A_PROCESS) for seed in ("1", "2")]

    assert found[0] == found[1]
    assert len(set(found[0])) == 8


BY_VALUE = """
import base64, pickle, sys
import cloudpickle
from nbckpt.fingerprint.values import ValueDigester
namespace = sys.modules["__main__"].__dict__
exec(compile({source!r}, "<ipython-input-5>", "exec"), namespace)
digester = ValueDigester(namespace)
print(digester.digest([Base, Child, Point, read]), digester.digest([child, point]))
print(base64.b64encode(cloudpickle.dumps([[Base, Child, Point, read], [child, point]])).decode())
"""

FROM_VALUE = """
import base64, pickle, sys
from nbckpt.fingerprint.values import ValueDigester
digester = ValueDigester(sys.modules["__main__"].__dict__)
for x in pickle.loads(base64.b64decode({data!r})):
    print(digester.digest(x))
"""


def test_functions_and_classes_restored_elsewhere_keep_their_digests() -> None:
    # Below Python 3.12 a cached property holds a lock, which cloudpickle refuses; it sorts members.
    source = CLASSES.replace("@functools.cached_property", "@property").replace("; child.c", "")
    source = source.replace('__slots__ = ("z",)', "pass")  # slots do not survive it
    *digests, data = digests_in_a_process("1", BY_VALUE.format(source=source))

    restored = digests_in_a_process("2", FROM_VALUE.format(data=data))

    assert restored == digests


def test_the_user_s_code_inside_a_value_is_reached() -> None:
    space = ran("""
        class A:
            def m(self): return g()
        def g(): pass
        value = {"x": [A()], "y": (g, len)}
    """)

    found = ValueDigester(space).examine(space["value"])

    assert {space["A"], space["g"], space["A"].m} == set(found.reached)


def test_a_function_of_a_library_is_known_by_its_name() -> None:
    found = ValueDigester({}).examine([np.mean, random.Random, textwrap.dedent])

    assert not found.reached
    assert not found.modules


def test_drawing_a_number_does_not_make_randint_another_function() -> None:
    before = digest([random.randint, np.random.rand])

    random.random(), np.random.rand()

    assert digest([random.randint, np.random.rand]) == before


@pytest.mark.slow
def test_a_user_s_module_is_noted_with_those_that_it_imports(project: Any) -> None:
    (project / "nbckpt_helper.py").write_text("import json\nimport nbckpt_deeper\ndef f(): pass\n")
    (project / "nbckpt_deeper.py").write_text("n = 1\n")
    import nbckpt_helper  # type: ignore[import-not-found]

    found = ValueDigester({}).examine([nbckpt_helper.f])

    assert sorted(found.modules) == ["nbckpt_deeper", "nbckpt_helper"]


# Plain data, by the thousand

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.sets(st.text() | st.integers())
    ),
    max_leaves=40,
)


@pytest.mark.slow
@given(plain)
def test_plain_data_keeps_its_digest_through_a_pickle(value: object) -> None:
    assert digest(through_pickle(value)) == digest(value)


@pytest.mark.slow
@given(plain, plain)
def test_plain_data_have_one_digest_only_if_they_are_one_value(one: object, other: object) -> None:
    is_same = repr(one) == repr(other) or described(one) == described(other)

    assert (digest(one) == digest(other)) == is_same


def described(value: Any) -> object:
    """A text that tells plain values apart by type and order, and forgets the order of sets."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [described(v) for v in value]
    if isinstance(value, dict):
        return "dict", [(described(k), described(v)) for k, v in value.items()]
    if isinstance(value, set):
        return "set", sorted(map(repr, value))
    return type(value).__name__, repr(value)


@given(st.lists(st.lists(st.integers(), min_size=1), min_size=1), st.data())
def test_a_changed_leaf_changes_the_digest(rows: list[list[int]], data: st.DataObject) -> None:
    before = digest(rows)
    changed = data.draw(st.sampled_from(rows))
    place = data.draw(st.integers(0, len(changed) - 1))

    changed[place] += 1

    assert digest(rows) != before


@pytest.mark.slow
def test_many_objects_of_which_one_is_there_twice_are_no_tree() -> None:
    rows: list[object] = [{"i": i} for i in range(150_000)]
    alone = digest(rows)
    rows.append({"i": 5})
    equal = digest(rows)
    rows[-1] = rows[5]

    assert len({alone, equal, digest(rows)}) == 3


class Tags(set[str]):
    """A set of a class of its own, which pickle takes apart."""

    def __hash__(self) -> int:  # type: ignore[override]
        return len(self)


class Fixed(frozenset[str]):
    pass


@pytest.mark.parametrize("kind", [Tags, Fixed])
def test_the_order_in_a_set_of_a_class_of_its_own_does_not_count(kind: Any) -> None:
    words = [f"word {n}" for n in range(40)]
    one, other = kind(words), kind(reversed(words))
    one.source = other.source = "here"

    assert digest(one) == digest(other)
    assert digest([one, {one: 1}]) == digest([other, {other: 1}])
    assert digest(one) != digest(kind(words[1:]))
    assert digest(one) != digest(set(words))
    other.source = "there"
    assert digest(one) != digest(other)
