"""What Python calls equal and shows otherwise is told by a comparison, and comes back as it was."""

from __future__ import annotations

import datetime
import math
import zoneinfo
from collections import OrderedDict, defaultdict, deque
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbckpt.reports.diff import compare
from nbckpt.session.session import Session
from nbckpt.storage.store import Store

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
AB = ["a", "b"]


def attributed(frame: pd.DataFrame) -> pd.DataFrame:
    frame.attrs["unit"] = "m"
    return frame


PAIRS: dict[str, tuple[Any, Any, str]] = {
    "the order of an ordered dict": (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1), "order of keys"),
    "the order of one inside": ([OrderedDict(a=1, b=2)], [OrderedDict(b=2, a=1)], "order of keys"),
    "the sign of a zero": (0.0, -0.0, "0.0 → -0.0"),
    "the sign of a zero in a list": ([1, {"k": 0.0}], [1, {"k": -0.0}], "0.0 → -0.0"),
    "the sign of a zero in an array": (np.zeros((2, 2)), np.array([[0, -0.0], [0, 0]]), "-0.0"),
    "the sign of a zero in a frame": (
        pd.DataFrame({"x": [0.0]}),
        pd.DataFrame({"x": [-0.0]}),
        "-0.0",
    ),
    "the sign of a NaN": (math.nan, -math.nan, "nan → -nan"),
    "the digits of a decimal": (Decimal("1.0"), Decimal("1.00"), "1.0 → 1.00"),
    "None and NaN": (
        pd.Series([None, 1], dtype=object),
        pd.Series([math.nan, 1], dtype=object),
        "None → nan",
    ),
    "the order of categories": (
        pd.Series(pd.Categorical(AB, AB)),
        pd.Series(pd.Categorical(AB, AB[::-1])),
        "categories",
    ),
    "whether categories are ordered": (
        pd.DataFrame({"c": pd.Categorical(AB)}),
        pd.DataFrame({"c": pd.Categorical(AB, ordered=True)}),
        "",
    ),
    "the zone of an instant": (NOON, NOON.astimezone(BERLIN), "Europe/Berlin"),
    "the zone of a timestamp": (
        pd.Timestamp(NOON),
        pd.Timestamp(NOON).tz_convert(BERLIN),
        "Europe/Berlin",
    ),
    "the order of a dict": ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "order of keys"),
    "the type of a key": ({1: 0}, {True: 0}, "keys"),
    "the sign of a key": ({0.0: 0}, {-0.0: 0}, "keys"),
    "the sign of an element": ({0.0}, {-0.0}, "elements"),
    "the type of an element": ({"k": (1, 2)}, {"k": (1, True)}, "1 changed"),
    "the type of a number": ([1], [1.0], "1 changed"),
    "bytes and a bytearray": (b"ab", bytearray(b"ab"), "bytearray"),
    "a text of a class": ([np.str_("a")], ["a"], "1 changed"),
    "the end of a range": (range(0, 3, 2), range(0, 4, 2), "range(0, 4, 2)"),
    "the type of a slice": (slice(1, 2), slice(1.0, 2), "slice(1.0, 2, None)"),
    "what a dict makes of what is missing": (
        defaultdict(list, a=[]),
        defaultdict(set, a=[]),
        "default_factory",
    ),
    "how many a deque holds": (deque([1], 2), deque([1], 3), "maxlen"),
    "the attributes of a frame": (
        pd.DataFrame({"x": [1]}),
        attributed(pd.DataFrame({"x": [1]})),
        "attrs",
    ),
    "the type of an index": (
        pd.DataFrame({"x": [1]}, index=[0]),
        pd.DataFrame({"x": [1]}, index=[0.0]),
        "index",
    ),
    "the type of a column's name": (
        pd.DataFrame({1: [1]}),
        pd.DataFrame({1.0: [1]}),
        "columns",
    ),
    "which of two hours": (
        datetime.datetime(2026, 1, 1),  # noqa: DTZ001
        datetime.datetime(2026, 1, 1, fold=1),  # noqa: DTZ001
        "the second time",
    ),
}


def told(before: Any, after: Any, path: Path) -> tuple[str, str]:
    namespace = {"x": before}
    session = Session(Store.open(path), namespace)
    session.checkpoint("one")
    namespace["x"] = after
    session.checkpoint("two", sync=True)
    found = [v for v in compare(session, "one", "two").variables if v.name == "x"]
    if not found:
        return "same", ""
    (variable,) = found
    return variable.status, variable.detail.summary if variable.detail else ""


@pytest.mark.parametrize("what", PAIRS)
def test_what_shows_otherwise_is_told(what: str, tmp_path: Path) -> None:
    before, after, text = PAIRS[what]

    status, summary = told(before, after, tmp_path / "s")

    assert status == "changed"
    assert text in summary


@pytest.mark.parametrize("what", PAIRS)
def test_each_comes_back_as_it_was(what: str, tmp_path: Path) -> None:
    before, after, _ = PAIRS[what]
    namespace = {"x": before}
    session = Session(Store.open(tmp_path / "s"), namespace)
    session.checkpoint("one")
    namespace["x"] = after
    session.checkpoint("two", sync=True)

    session.rewind("one")

    assert told(before, namespace["x"], tmp_path / "t")[0] == "same" or repr(
        namespace["x"]
    ) == repr(before)


def test_what_shows_the_same_is_the_same(tmp_path: Path) -> None:
    before: dict[str, Any] = {"s": {"b", "a"}, "z": [0.0, math.nan], "t": NOON, "o": AB}

    status, _ = told(before, {**before, "s": {"a", "b"}, "o": ["".join("a"), "b"]}, tmp_path / "s")

    assert status == "same"
