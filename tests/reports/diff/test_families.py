"""What is told of two values, family by family."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import math
import pathlib
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nbckpt.reports.diff.details import Detail, Limits
from nbckpt.reports.diff.families import detail

LIMITS = Limits()


def told(before: object, after: object, limits: Limits = LIMITS) -> Detail:
    return detail(before, after, limits)


def paths(found: Detail) -> list[str]:
    return [row.path for row in found.rows]


# -- arrays


def test_of_arrays_the_share_the_largest_and_its_place_are_told() -> None:
    before = np.zeros((10, 10))
    after = before.copy()
    after[3, 4], after[9, 9] = -7, 2

    found = told(before, after)

    assert found.kind == "array"
    assert found.summary == (
        "2 of 100 elements differ (2 %), largest difference 7 at [3, 4], mean difference 4.5"
    )
    assert [tuple(row) for row in found.rows] == [
        ("[3, 4]", "0.0", "-7.0"),
        ("[9, 9]", "0.0", "2.0"),
    ]


@pytest.mark.parametrize("order", ["C", "F"])
def test_places_are_right_whatever_the_memory_order(order: Any) -> None:
    before = np.zeros((700, 900, 3), order=order)
    after = before.copy(order="K")
    after[650, 7, 2] = 1

    assert "at [650, 7, 2]" in told(before, after).summary


def test_not_a_number_equals_itself_and_nothing_else() -> None:
    before = np.array([1.0, np.nan, np.nan, np.inf])

    assert told(before, before.copy()).is_same
    found = told(before, np.array([1.0, np.nan, 2.0, np.inf]))
    assert found.summary.startswith("1 of 4 elements differ")
    assert paths(found) == ["[2]"]


@pytest.mark.parametrize(
    ("before", "after", "summary"),
    [
        (np.array([True, False]), np.array([True, True]), "1 of 2 elements differ (50 %)"),
        (np.array(["a", "b"]), np.array(["a", "c"]), "1 of 2 elements differ (50 %)"),
        (np.array([1, None], object), np.array([1, "x"], object), "1 of 2 elements differ (50 %)"),
        (
            np.array([-128], np.int8),
            np.array([127], np.int8),
            "1 of 1 element differ (100 %), largest difference 255 at [0], mean difference 255",
        ),
        (
            np.array([0], np.uint64),
            np.array([2], np.uint64),
            "1 of 1 element differ (100 %), largest difference 2 at [0], mean difference 2",
        ),
        (
            np.array(["2024-01-01", "NaT"], "M8[D]"),
            np.array(["2024-01-02", "NaT"], "M8[D]"),
            "1 of 2 elements differ (50 %)",
        ),
        (
            np.array([1.0]),
            np.array([1.0], np.float32),
            "dtype float64 → float32; none of 1 element differs",
        ),
        (np.zeros((2, 3)), np.zeros((3, 2)), "shape (2, 3) → (3, 2)"),
        (
            np.zeros(3),
            np.zeros(5),
            "shape (3,) → (5,); of the first 3 along axis 0, none of 3 elements differs",
        ),
        (
            np.array([(1, 2.0), (3, np.nan)], "i4,f8"),
            np.array([(1, 2.5), (3, np.nan)], "i4,f8"),
            "1 of 2 elements differ (50 %)",
        ),
        (np.array(["a"]), np.array([1]), "dtype <U1 → int64; 1 of 1 element differ (100 %)"),
        (
            np.array(1.0),
            np.array(2.0),
            "1 of 1 element differ (100 %), largest difference 1 at [()], mean difference 1",
        ),
        (
            np.ma.array([1, 2], mask=[0, 1]),
            np.ma.array([1, 3], mask=[0, 1]),
            "same value",
        ),
    ],
)
def test_arrays_of_all_types_are_compared(before: Any, after: Any, summary: str) -> None:
    assert told(before, after).summary == summary


def test_of_a_large_array_a_sample_is_compared_and_said_to_be_one() -> None:
    before = np.zeros(1_000_000)
    after = before + 1

    found = told(before, after, Limits(compared_bytes=100_000))

    assert "a sample of" in found.summary
    assert "(100 %)" in found.summary
    assert not told(before, before.copy(), Limits(compared_bytes=100_000)).is_same


def test_tensors_of_types_that_numpy_lacks_are_compared() -> None:
    torch = pytest.importorskip("torch")
    before = torch.zeros(4, dtype=torch.bfloat16)

    assert told(before, before.clone()).is_same
    assert told(before, before + 2).summary.startswith("4 of 4 elements differ")


# -- tables


def test_of_a_frame_rows_columns_types_and_cells_are_told() -> None:
    pd = pytest.importorskip("pandas")
    before = pd.DataFrame({"price": [1.0, 2.0, np.nan], "n": [1, 2, 3], "s": ["a", "b", "c"]})
    after = pd.DataFrame({"price": [1.0, 9.0, np.nan, 4.0], "n": [1.0, 2, 3, 4], "z": [1, 2, 3, 4]})

    found = told(before, after)

    assert found.summary == (
        "1 row added (3 → 4); 1 column added; 1 column removed; 1 column of another type;"
        " 1 cell in 1 column differs"
    )
    assert [str(row) for row in map(tuple, found.rows)] == ["(\".loc[1, 'price']\", '2.0', '9.0')"]
    texts = [f"{line.sign} {line.text}" for line in found.lines]
    assert texts == [
        "- column 's' str",
        "+ column 'z' int64",
        "@ column 'n': int64 → float64",
        "@ column 'price': 1 of 3 cells differ (33.3 %)",
    ]


def test_rows_are_matched_by_label() -> None:
    pd = pytest.importorskip("pandas")
    before = pd.DataFrame({"x": range(5)}, index=list("abcde"))
    after = before.drop(index="a")

    found = told(before, after)

    assert found.summary == "1 row removed (5 → 4)"
    assert not found.rows


def test_rows_in_another_order_and_columns_in_another_order_are_told() -> None:
    pd = pytest.importorskip("pandas")
    before = pd.DataFrame({"x": [1, 2], "y": [3, 4]})

    assert told(before, before.iloc[::-1]).summary == "rows in another order"
    assert told(before, before[["y", "x"]]).summary == "columns in another order"


@pytest.mark.parametrize(
    "values",
    [
        ["a", None, "c"],
        [1, None, "mixed"],
        [[1], {"k": 2}, (3,)],
        np.array(["2024-01-01", "NaT", "2025-01-01"], "M8[ns]"),
        [decimal.Decimal(1), decimal.Decimal(2), None],
    ],
)
def test_each_kind_of_column_equals_its_copy_and_not_another(values: Any) -> None:
    pd = pytest.importorskip("pandas")
    before = pd.DataFrame({"v": values, "k": [1, 2, 3]})
    after = before.copy(deep=True)

    assert told(before, after).is_same
    assert (
        "2 cells in 1 column differ"
        in told(before, before.iloc[[2, 1, 0]].reset_index(drop=True).assign(k=[1, 2, 3])).summary
    )


@pytest.mark.parametrize("dtype", ["Int64", "string", "category", "boolean", "datetime64[ns, UTC]"])
def test_pandas_own_types_are_compared(dtype: str) -> None:
    pd = pytest.importorskip("pandas")
    values = {
        "boolean": [True, None, False],
        "datetime64[ns, UTC]": ["2024-01-01", None, "2024-01-03"],
    }
    before = pd.Series(
        values.get(dtype, [1, None, 3] if dtype == "Int64" else ["a", None, "c"]), dtype=dtype
    )
    after = before.copy()
    after.iloc[2] = before.iloc[0]

    assert told(before, before.copy()).is_same
    found = told(before, after)
    assert found.summary == "1 value differs"
    assert paths(found) == [".loc[2]"]


def test_an_index_and_columns_of_one_name_are_compared() -> None:
    pd = pytest.importorskip("pandas")
    twice = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    other = twice.copy()
    other.iloc[1, 1] = 9

    assert told(twice, other).summary == "1 cell in 1 column differs"
    assert told(pd.Index([1, 2]), pd.Index([1, 3])).summary == "1 value differs"
    assert told(pd.Series([1], name="a"), pd.Series([1], name="b")).summary == "name 'a' → 'b'"


def test_frames_of_polars_and_arrow_are_compared() -> None:
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    data = {"a": [1, 2, None], "b": [1.0, math.nan, 3.0], "c": [[1], [2], [3]]}
    changed = {"a": [1, 5, None], "b": [1.0, math.nan, None], "c": [[1], [2], [4]]}

    for make, first in ((pl.DataFrame, "['a'][1]"), (pa.table, "['a'][1]")):
        assert told(make(data), make(data)).is_same
        found = told(make(data), make(changed))
        assert found.summary == "3 cells in 3 columns differ"
        assert paths(found)[0] == first


# -- texts and code


def test_of_texts_the_lines_that_differ_are_told() -> None:
    before = "\n".join(f"line {i}" for i in range(20))

    found = told(before, before.replace("line 7\n", "line seven\n"))

    assert found.summary == "1 line added, 1 line removed"
    assert [(line.sign, line.text) for line in found.lines] == [
        ("@", "line 6"),
        (" ", "line 5"),
        (" ", "line 6"),
        ("-", "line 7"),
        ("+", "line seven"),
        (" ", "line 8"),
    ]


def test_two_changes_far_apart_in_a_long_text_are_two_changes() -> None:
    lines = [f"line {i}" for i in range(30_000)]
    before = "\n".join(lines)
    lines[10], lines[29_000] = "ten", "many"

    assert told(before, "\n".join(lines)).summary == "2 lines added, 2 lines removed"


def test_of_a_single_line_the_words_that_differ_are_told() -> None:
    found = told("the quick brown fox jumps", "the quick red fox leaps")

    assert found.summary.startswith("2 words of 5 changed")
    assert [tuple(row) for row in found.rows] == [
        ("word 3", "brown", "red"),
        ("word 5", "jumps", "leaps"),
    ]


def test_long_texts_are_shown_where_they_differ() -> None:
    before, after = "a" * 1000 + "bc", "a" * 1000 + "bd"

    row = told(before, after).rows[0]

    assert row.before.endswith("bc'")
    assert row.after.endswith("bd'")


# -- trees


@dataclasses.dataclass
class Config:
    lr: float = 0.1
    items: list[object] = dataclasses.field(default_factory=list)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


Point = namedtuple("Point", "x y")


class Slotted:
    __slots__ = ("__private", "_hidden", "x")

    def __init__(self, x: object) -> None:
        self.x, self._hidden, self.__private = x, x, x


def test_what_differs_inside_is_told_by_path() -> None:
    before = {"lr": 0.1, "items": [Config(), Point(1, 2)], 3: {"a"}, "same": [1], "gone": None}
    after = {
        "lr": 0.2,
        "items": [Config(0.5), Point(1, 4)],
        3: {"b"},
        "same": [1],
        "new": Colour.RED,
    }

    found = told(before, after)

    assert [tuple(row) for row in found.rows] == [
        ("['lr']", "0.1", "0.2"),
        ("['items'][0].lr", "0.1", "0.5"),
        ("['items'][1].y", "2", "4"),
        ("[3]{'a'}", "'a'", ""),
        ("[3]{'b'}", "", "'b'"),
        ("['gone']", "None", ""),
        ("['new']", "", "Colour.RED"),
    ]
    assert found.summary == "2 added, 2 removed, 3 changed"


def test_an_insertion_at_the_front_is_one_addition() -> None:
    numbers = list(range(3000))
    messages = [{"role": "user", "content": str(i)} for i in range(300)]

    assert told(numbers, [-1, *numbers]).summary == "1 added"
    assert (
        told(messages, [{"role": "system", "content": "be brief"}, *messages]).summary == "1 added"
    )
    assert paths(told(messages, messages[5:]))[0] == "[0]"


def test_rows_are_limited_and_the_rest_is_counted() -> None:
    found = told({i: i for i in range(500)}, {i: i + 1 for i in range(500)})

    assert len(found.rows) == LIMITS.rows
    assert found.more == 500 - LIMITS.rows


def test_structures_that_hold_themselves_end() -> None:
    before: list[Any] = [1]
    after: list[Any] = [2]
    before.append(before)
    after.append(after)

    assert paths(told(before, after)) == ["[0]"]
    assert told(before, [*before[:1], before]).summary


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        (Slotted(1), Slotted(2), "._hidden"),
        (deque([1, 2]), deque([1, 3]), "[1]"),
        (OrderedDict(a=1), OrderedDict(a=2), "['a']"),
        (defaultdict(int, a=1), defaultdict(int, a=2), "['a']"),
        (Counter("aab"), Counter("ab"), "['a']"),
        (SimpleNamespace(x=np.zeros(2)), SimpleNamespace(x=np.ones(2)), ".x"),
        (ValueError("a"), ValueError("b"), ".args[0]"),
        ((1, (2, 3)), (1, (2, 4)), "[1][1]"),
        ({(1, "a"): 2}, {(1, "a"): 3}, "[(1, 'a')]"),
        ({"p": pathlib.Path("a")}, {"p": pathlib.Path("b")}, "['p']"),
        ({"r": range(3)}, {"r": range(4)}, "['r']"),
        ({"n": math.nan}, {"n": 1.0}, "['n']"),
        (
            np.random.default_rng(1),
            np.random.default_rng(2),
            ".bit_generator.state['state']['state']",
        ),
    ],
)
def test_values_of_many_types_are_looked_into(before: Any, after: Any, path: str) -> None:
    assert path in paths(told(before, after))


@pytest.mark.parametrize(
    "value",
    [math.nan, [math.nan, {"x": math.nan}], {"a": 1}, {1, 2}, Colour.RED, fractions.Fraction(1, 3)],
)
def test_equal_values_are_the_same(value: object) -> None:
    import copy

    assert told(value, copy.deepcopy(value)).is_same


def test_true_is_not_one_and_one_is_not_a_float() -> None:
    assert paths(told([1, 1], [True, 1.0])) == ["[0]", "[1]"]


class Hostile:
    """Whatever it is asked, it raises."""

    def __init__(self, x: object) -> None:
        self.x = x

    def _refuse(self, *_: object) -> Any:
        raise RuntimeError("no")

    __eq__ = __ne__ = __repr__ = __str__ = __bool__ = __len__ = __iter__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class Slow(str):
    def __eq__(self, other: object) -> Any:
        return np.array([True, False])

    __hash__ = str.__hash__


def test_no_code_of_the_users_is_asked() -> None:
    for wrap in (
        lambda v: v,
        lambda v: [v],
        lambda v: {"k": v},
        lambda v: np.array([v, 1], object),
    ):
        assert told(wrap(Hostile(1)), wrap(Hostile(1))).is_same
        found = told(wrap(Hostile(1)), wrap(Hostile(2)))
        assert not found.is_same
        assert found.kind in ("tree", "array")
    assert not told(Slow("a"), Slow("b")).is_same


# -- numbers and the rest


@pytest.mark.parametrize(
    ("before", "after", "summary"),
    [
        (0.91, 0.93, "0.91 → 0.93 (+0.02, +2.2 %)"),
        (1000, 900, "1000 → 900 (-100, -10 %)"),
        (0, 5, "0 → 5 (+5)"),
        (1, 1.5, "1 → 1.5 (+0.5, +50 %)"),
        (math.inf, 1.0, "inf → 1.0"),
        (True, False, "True → False"),
        (None, 3, "None → 3 (NoneType → int)"),
        (np.float32(1), np.float32(2), "1.0 → 2.0 (+1, +100 %)"),
        (decimal.Decimal(1), decimal.Decimal(2), "Decimal('1') → Decimal('2') (+1, +100 %)"),
        (
            dt.timedelta(1),
            dt.timedelta(0),
            "datetime.timedelta(days=1) → datetime.timedelta(0) (-1 day, 0:00:00)",
        ),
        ([1], {"a": 1}, "list → dict"),
        (10**400, 10**400 + 1, None),
    ],
)
def test_numbers_and_changes_of_type_are_told_in_a_line(
    before: Any, after: Any, summary: Any
) -> None:
    found = told(before, after)

    assert not found.is_same
    assert summary is None or found.summary == summary


class Evasive:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Nobody:
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise ValueError


@pytest.mark.parametrize("kind", [Evasive, Nobody])
def test_values_that_refuse_to_be_looked_at_raise_nothing(kind: Any) -> None:
    assert told(kind(), kind()).kind in ("tree", "unreadable")
    assert told([kind(), 1], [kind(), 2]).rows


def test_a_walk_ends_after_its_time() -> None:
    from unittest.mock import MagicMock

    found = told(MagicMock(), MagicMock(), Limits(walk_s=0.2))

    assert "the rest was not compared" in found.summary


def test_what_would_steer_a_terminal_is_written_out() -> None:
    found = told("a\nb\x1b[31m\n", "a\nc\x1b[31m\n")

    assert [line.text for line in found.lines][-2:] == ["b\\x1b[31m", "c\\x1b[31m"]


def test_times_of_pandas_are_told_with_their_difference() -> None:
    pd = pytest.importorskip("pandas")

    found = told(pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-03"))

    assert found.summary == "2024-01-01 00:00:00 → 2024-01-03 00:00:00 (+2 days 00:00:00)"
    assert told([pd.NA, pd.NaT], [pd.NA, pd.NaT]).is_same
