"""Export in open formats: what other programs read is what there was, and nothing is overwritten."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import os
import subprocess
import sys
import unicodedata
from collections import OrderedDict, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image
from scipy import sparse

import nbckpt
from nbckpt.capture.groups.encode import encode_together
from nbckpt.cli import main
from nbckpt.codecs.pickler import Scope
from nbckpt.errors import (
    CaptureError,
    CheckpointNotFoundError,
    StoreError,
    UsageError,
)
from nbckpt.model import Variable
from nbckpt.session.maintenance.open_formats import json_values
from nbckpt.session.maintenance.open_formats.file_names import MOST_CHARACTERS, file_stems
from nbckpt.session.maintenance.open_formats.json_values import encoded
from nbckpt.session.maintenance.open_formats.open_export import export_files
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage import file_calls
from nbckpt.timeline.checkpoint_records import checkpoint_record
from tests.running import environment

TEXT = "line\r\nübung \N{SNAKE}"
TABLES: dict[str, Any] = {
    "frame": pd.DataFrame({"n": [1, 2], "s": ["x", None], "at": pd.to_datetime([0, 1], unit="s")}),
    "odd_labels": pd.DataFrame([[1.5, 2]], columns=[3, "b"], index=["row"]),
    "polar": pl.DataFrame({"l": [[1], []], "c": pl.Series(["a", "b"], dtype=pl.Categorical)}),
    "table": pa.table({"n": [1, None], "m": pa.array([{"a": 1}, None])}),
}
ARROW: dict[str, Any] = {
    "interval": pa.table({"i": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}),
    "twice": pa.table([[1], [2]], names=["a", "a"]),
}
ARRAYS: dict[str, Any] = {
    "floats": np.arange(6.0).reshape(2, 3).T,
    "texts": np.array(["a", "bc"]),
    "times": np.array(["2020-01-01"], "M8[D]"),
    "records": np.array([(1, 2.5)], [("a", "i4"), ("b", "f8")]),
    "scalar": np.int16(-3),
    "empty": np.empty((0, 2), "f4"),
    "big": np.arange(300_000),
}
PLAIN: dict[str, Any] = {
    "nothing": None,
    "number": 5,
    "large": 10**40,
    "ratio": 0.1,
    "flags": [True, False],
    "nested": {"a": [1, {"b": None}], "ü": "x\x00"},
    "none": [],
}
BYTES: dict[str, Any] = {"raw": b"\x00\xff", "array": bytearray(b"ab")}


def export(session: Session, values: dict[str, Any], out: Path) -> dict[str, Any]:
    """Keep and export some values; the entries of the index."""
    session.namespace.update(values)
    session.checkpoint("made")
    session.wait()
    export_files(session, "made", out)
    index = json.loads((out / "index.json").read_text("utf-8"))
    entries: dict[str, Any] = index["variables"]
    for entry in entries.values():
        assert (entry["file"] is None) == ("reason" in entry)
    there = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    named = {entry["file"] for entry in entries.values()} - {None}
    assert there == named | {"index.json", "notebook.ipynb"}
    return entries


def file_of(out: Path, entries: dict[str, Any], name: str) -> Path:
    return out / str(entries[name]["file"])


# -- values ---------------------------------------------------------------------------------------


def test_tables_are_parquet(session: Session, tmp_path: Path) -> None:
    entries = export(session, TABLES, tmp_path / "out")

    read = {name: pq.read_table(file_of(tmp_path / "out", entries, name)) for name in TABLES}
    pd.testing.assert_frame_equal(read["frame"].to_pandas(), TABLES["frame"])
    assert read["odd_labels"].to_pandas().index.tolist() == ["row"]
    assert read["odd_labels"].to_pylist()[0]["3"] == 1.5
    assert pl.read_parquet(file_of(tmp_path / "out", entries, "polar")).equals(TABLES["polar"])
    assert read["table"].equals(TABLES["table"])
    assert {entries[name]["format"] for name in TABLES} == {"Parquet"}


def test_what_parquet_cannot_hold_is_arrow(session: Session, tmp_path: Path) -> None:
    empty = pl.DataFrame({"a": pl.Series([{}], dtype=pl.Struct([]))})
    entries = export(session, {**ARROW, "empty": empty}, tmp_path / "out")

    for name, table in ARROW.items():
        with pa.ipc.open_file(file_of(tmp_path / "out", entries, name)) as file:
            assert file.read_all().equals(table)
    assert pl.read_ipc(file_of(tmp_path / "out", entries, "empty")).equals(empty)
    assert {entry["format"] for entry in entries.values()} == {"Arrow IPC"}


def test_columns_are_tables_and_say_so(session: Session, tmp_path: Path) -> None:
    series = pd.Series([1.5, 2.5], index=["a", "b"], name="x")
    columns = {"series": series, "polar": pl.Series([1, 2]), "arrow": pa.array(["a", None])}
    entries = export(session, columns, tmp_path / "out")

    read = {name: pq.read_table(file_of(tmp_path / "out", entries, name)) for name in columns}
    pd.testing.assert_series_equal(read["series"].to_pandas()["x"], series)
    assert read["polar"].to_pydict() == {"value": [1, 2]}
    assert read["arrow"].to_pydict() == {"value": ["a", None]}
    assert all("the one column of this table" in entries[name]["note"] for name in columns)


def test_what_parquet_changes_is_noted(session: Session, tmp_path: Path) -> None:
    days = pd.DataFrame({"n": [1, 2]}, index=pd.date_range("2020", periods=2, freq="D"))

    entries = export(session, {"days": days}, tmp_path / "out")

    assert entries["days"]["note"] == "Parquet changes it: its index: freq is lost"


def test_arrays_are_npy_without_pickles(session: Session, tmp_path: Path) -> None:
    entries = export(session, ARRAYS, tmp_path / "out")

    for name, array in ARRAYS.items():
        back = np.load(file_of(tmp_path / "out", entries, name), allow_pickle=False)
        assert back.dtype == array.dtype
        assert back.shape == array.shape
        assert np.array_equal(back, array)
        assert "note" not in entries[name]


def test_tensors_are_npy(session: Session, tmp_path: Path) -> None:
    tensors = {
        "plain": torch.arange(3.0, requires_grad=True),
        "conjugate": torch.tensor([1j, 2]).conj(),
        "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "byte": torch.tensor([1.5], dtype=torch.float8_e4m3fn),
        "weights": torch.nn.Parameter(torch.ones(2)),
    }
    entries = export(session, tensors, tmp_path / "out")

    read = {name: np.load(file_of(tmp_path / "out", entries, name)) for name in tensors}
    assert read["plain"].tolist() == [0, 1, 2]
    assert read["conjugate"].tolist() == [-1j, 2]
    assert (read["half"].tolist(), read["half"].dtype) == ([1.5, -2.0], np.float32)
    assert read["byte"].tolist() == [1.5]
    assert read["weights"].tolist() == [1, 1]
    assert entries["half"]["note"] == "NumPy has no bfloat16: its values are torch.float32 there"


def test_plain_data_text_and_bytes_are_as_they_were(session: Session, tmp_path: Path) -> None:
    entries = export(session, {**PLAIN, **BYTES, "text": TEXT}, tmp_path / "out")

    for name, value in PLAIN.items():
        assert json.loads(file_of(tmp_path / "out", entries, name).read_bytes()) == value
    for name, value in BYTES.items():
        assert file_of(tmp_path / "out", entries, name).read_bytes() == value
    text = file_of(tmp_path / "out", entries, "text")
    assert (text.suffix, text.read_bytes()) == (".txt", TEXT.encode())


def test_text_that_utf_8_cannot_say_is_json(session: Session, tmp_path: Path) -> None:
    entries = export(session, {"half": "a\ud800"}, tmp_path / "out")

    assert entries["half"]["format"] == "JSON"
    assert json.loads(file_of(tmp_path / "out", entries, "half").read_bytes()) == "a\ud800"


def test_what_json_changes_is_noted(session: Session, tmp_path: Path) -> None:
    values = {
        "pair": (1, [2, (3,)]),
        "losses": [np.float64(0.5), np.int64(2), np.bool_(True)],
        "groups": defaultdict(list, a=[1]),
        "ordered": OrderedDict(b=1, a=2),
    }
    entries = export(session, values, tmp_path / "out")

    read = {n: json.loads(file_of(tmp_path / "out", entries, n).read_bytes()) for n in values}
    assert read == {
        "pair": [1, [2, [3]]], "losses": [0.5, 2, True], "groups": {"a": [1]},
        "ordered": {"b": 1, "a": 2},
    }  # fmt: skip
    assert list(read["ordered"]) == ["b", "a"]
    assert entries["pair"]["note"] == "JSON changes it: tuple to list"
    assert "collections.defaultdict" in entries["groups"]["note"]


def test_what_json_lacks_is_text_or_lists_and_noted(session: Session, tmp_path: Path) -> None:
    values = {
        "metrics": {"loss": math.nan, "best": -math.inf, "at": pd.Timestamp("2020-01-01")},
        "labels": {0: "cat", 1: "dog"},
        "flags": {True: 1, None: 2},
        "several": {3, 1, 2},
        "price": decimal.Decimal("1.10"),
        "day": dt.date(2020, 1, 2),
        "objects": np.array([1, "a", None], object),
        "texts": np.array(["a", "b\0"], np.dtypes.StringDType()),
        "mixed": {"rate": 0.1, "path": [np.arange(2), np.datetime64("2020-01-01")]},
        "nothing": pd.NaT,
    }
    entries = export(session, values, tmp_path / "out")

    read = {n: json.loads(file_of(tmp_path / "out", entries, n).read_bytes()) for n in values}
    assert read == {
        "metrics": {"loss": "NaN", "best": "-Infinity", "at": "2020-01-01T00:00:00"},
        "labels": {"0": "cat", "1": "dog"}, "flags": {"true": 1, "null": 2},
        "several": [1, 2, 3], "price": "1.10", "day": "2020-01-02", "objects": [1, "a", None],
        "texts": ["a", "b\0"], "mixed": {"rate": 0.1, "path": [[0, 1], "2020-01-01"]},
        "nothing": None,
    }  # fmt: skip
    assert entries["metrics"]["note"] == (
        "JSON changes it: -Infinity, NaN, pandas.Timestamp to text"
    )
    assert entries["labels"]["note"] == "JSON changes it: keys of type int to text"
    assert all("JSON changes it" in entry["note"] for entry in entries.values())


def test_several_arrays_are_npz(session: Session, tmp_path: Path) -> None:
    csr, dok = sparse.csr_matrix(np.eye(3)), sparse.dok_array((2, 2))
    values = {
        "state": torch.nn.Linear(2, 1).state_dict(),
        "half": {"w": torch.ones(2, dtype=torch.bfloat16), "../b": np.arange(2)},
        "masked": np.ma.array([1, 2], mask=[False, True], fill_value=9),
        "csr": csr,
        "dok": dok,
        "mixed": {"labels": np.array(["a", None], dtype=object), "x": np.arange(2)},
        "cut": {"a\0b": np.arange(1), "a\0c": np.arange(2)},
        "twice": {"x": np.arange(1), "x.npy": np.arange(2)},
    }
    entries = export(session, values, tmp_path / "out")

    files = {name: file_of(tmp_path / "out", entries, name) for name in values}
    with np.load(files["state"], allow_pickle=False) as state:
        assert {n: a.shape for n, a in state.items()} == {"weight": (1, 2), "bias": (1,)}
    with np.load(files["half"], allow_pickle=False) as half:
        assert (half["w"].tolist(), half["../b"].tolist()) == ([1, 1], [0, 1])
    with np.load(files["masked"], allow_pickle=False) as masked:
        assert {n: a.tolist() for n, a in masked.items()} == {
            "data": [1, 2], "mask": [False, True], "fill_value": 9
        }  # fmt: skip
    assert (sparse.load_npz(files["csr"]) != csr).nnz == 0
    assert type(sparse.load_npz(files["dok"])) is sparse.coo_array
    assert {n: json.loads(files[n].read_bytes()) for n in ("mixed", "cut", "twice")} == {
        "mixed": {"labels": ["a", None], "x": [0, 1]},
        "cut": {"a\0b": [0], "a\0c": [0, 1]},
        "twice": {"x": [0], "x.npy": [0, 1]},
    }  # where `.npz` has no such array, or no such name
    assert entries["half"]["note"] == "w: NumPy has no bfloat16: its values are torch.float32 there"
    assert entries["masked"]["note"] == "it is a masked array"
    assert "note" not in entries["csr"]
    assert entries["dok"]["note"] == "it is a scipy.dok_array, and a reader gets coo"


def test_columns_that_parquet_lacks_are_text_and_noted(session: Session, tmp_path: Path) -> None:
    frames = {
        "mixed": pd.DataFrame({"a": [1, "x", None], "n": [1, 2, 3]}),
        "twice": pd.DataFrame([[1, 2]], columns=["a", "a"]),
        "holes": pd.DataFrame({"s": pd.arrays.SparseArray([0, 0, 1])}),
        "labels": pd.DataFrame({"n": [1, 2]}, index=[1, "b"]),
        "waves": pd.DataFrame({"c": [1 + 2j]}),
        "objects": pl.DataFrame({"o": pl.Series([{1}, None], dtype=pl.Object)}),
    }
    entries = export(session, frames, tmp_path / "out")

    read = {n: pq.read_table(file_of(tmp_path / "out", entries, n)) for n in frames}
    assert read["mixed"].to_pydict() == {"a": ["1", "x", None], "n": [1, 2, 3]}
    assert read["twice"].to_pydict() == {"a": [1], "a.1": [2]}
    assert read["holes"].to_pydict() == {"s": [0, 0, 1]}
    assert read["labels"].to_pandas().index.tolist() == ["1", "b"]
    assert read["waves"].to_pydict() == {"c": ["(1+2j)"]}
    assert read["objects"].to_pydict() == {"o": ["{1}", None]}
    notes = {name: entry["note"] for name, entry in entries.items()}
    assert notes["mixed"].startswith("columns are text: a")
    assert notes["twice"].startswith("columns of one name are numbered")
    assert notes["holes"].startswith("sparse columns are filled: s")
    assert notes["labels"].startswith("its index is text")
    assert notes["objects"] == "columns are text: o"


@pytest.mark.slow
def test_indexes_and_arrays_of_pandas_are_tables(session: Session, tmp_path: Path) -> None:
    values = {
        "index": pd.Index(["a", "b"], name="k"),
        "levels": pd.MultiIndex.from_product([["a"], [1, 2]], names=["x", "y"]),
        "days": pd.date_range("2020-01-01", periods=2, tz="Europe/Berlin"),
        "kinds": pd.Categorical(["a", "b"], categories=["b", "a"]),
    }
    entries = export(session, values, tmp_path / "out")

    read = {n: pd.read_parquet(file_of(tmp_path / "out", entries, n)) for n in values}
    assert read["index"]["k"].tolist() == ["a", "b"]
    assert read["levels"].to_dict("list") == {"x": ["a", "a"], "y": [1, 2]}
    assert read["days"]["value"].tolist() == values["days"].tolist()
    assert read["kinds"]["value"].cat.categories.tolist() == ["b", "a"]
    assert all("of this table" in entry["note"] for entry in entries.values())


def test_what_only_polars_reads_is_noted(session: Session, tmp_path: Path) -> None:
    large = pl.DataFrame({"i": pl.Series([2**100], dtype=pl.Int128)})

    entries = export(session, {"large": large}, tmp_path / "out")

    assert pl.read_parquet(file_of(tmp_path / "out", entries, "large")).equals(large)
    assert entries["large"]["note"] == "Arrow cannot read its types, polars can"


def test_a_file_of_parquet_has_nothing_of_nbckpt(session: Session, tmp_path: Path) -> None:
    entries = export(session, {n: TABLES[n] for n in ("frame", "table")}, tmp_path / "out")

    for name in ("frame", "table"):
        metadata = pq.read_schema(file_of(tmp_path / "out", entries, name)).metadata or {}
        assert set(metadata) <= {b"pandas"}


@pytest.mark.slow
def test_figures_and_pictures_are_png(session: Session, tmp_path: Path) -> None:
    figure = Figure(figsize=(2, 1), dpi=100)
    figure.subplots().plot([1, 2])
    shown, axes = plt.subplots()
    axes.plot([1])
    pixels = np.arange(12, dtype="u1").reshape(2, 2, 3)
    before = plt.get_fignums()

    pictures = {
        "picture": Image.fromarray(pixels),
        "ink": Image.new("CMYK", (1, 1), (1, 2, 3, 4)),
        "deep": Image.new("I", (1, 1), 70_000),
    }
    values = {"figure": figure, "shown": shown, "axes": axes, **pictures}
    entries = export(session, values, tmp_path / "out")

    assert plt.get_fignums() == before
    with Image.open(file_of(tmp_path / "out", entries, "figure")) as drawn:
        assert (drawn.format, drawn.size) == ("PNG", (200, 100))
        assert len(drawn.getcolors(1_000_000) or ()) > 2
    with Image.open(file_of(tmp_path / "out", entries, "axes")) as drawn:
        assert drawn.format == "PNG"
    assert np.load(file_of(tmp_path / "out", entries, "ink")).tolist() == [[[1, 2, 3, 4]]]
    assert entries["ink"]["note"] == "the pixels of a picture of mode CMYK"
    assert np.load(file_of(tmp_path / "out", entries, "deep")).tolist() == [[70_000]]
    with Image.open(file_of(tmp_path / "out", entries, "picture")) as picture:
        assert np.array_equal(np.asarray(picture), pixels)
    plt.close(shown)


NEVER: dict[str, tuple[Any, str]] = {
    "objects": (np.array([object()], object), "[0] is of type object, which JSON does not have"),
    "fields": (np.array([(1, None)], [("a", "i4"), ("o", "O")]), "without pickles"),
    "sparse": (torch.eye(2).to_sparse(), "no such tensor"),
    "inside": ({"a": [0, {b"x"}]}, "['a'][1][0] is of type bytes, which JSON does not have"),
    "keys": ({"a": {(1, 2): 2}}, "['a'] has a key of type tuple: in JSON keys are text"),
    "same_keys": ({1: 2, "1": 3}, "it has two keys that are '1' as text"),
    "digits": (10**5000, "JSON cannot hold it"),
    "module": (math, "is imported by whoever needs it"),
    "rest": (..., "has a type for which there is no open format here"),
}


def test_what_no_format_holds_is_named_with_the_reason_and_costs_nothing_else(
    session: Session, tmp_path: Path
) -> None:
    values = {name: value for name, (value, _) in NEVER.items()}
    exec(
        "import enum\nclass Meta(enum.Enum):\n    A = 1\nclass Model:\n    pass\nmodel = Model()\n"
        "class Broken:\n    def __reduce__(self): return make, ()\n"
        "def make():\n    if asked: raise RuntimeError('not again')\n    return Broken()\nasked = []",
        session.namespace,
    )
    session.namespace["__name__"] = "__main__"

    entries = export(session, {**values, "fine": [1]}, tmp_path / "out")

    for name, (_, reason) in NEVER.items():
        assert entries[name]["file"] is None
        assert reason in entries[name]["reason"], name
    assert entries["model"]["reason"] == "has a type for which there is no open format here"
    assert entries["Model"]["reason"] == "is code, which the cells in notebook.ipynb have"
    assert entries["Meta"]["reason"] == entries["Model"]["reason"]
    assert entries["objects"]["shape"] == "1"
    assert json.loads(file_of(tmp_path / "out", entries, "fine").read_bytes()) == [1]


def test_what_does_not_come_back_and_what_was_not_kept_is_named(
    session: Session, tmp_path: Path
) -> None:
    session.namespace.update(fine=1, later=2, lock=sys._getframe())
    made = session.checkpoint("made", exclude=["later"])
    lost = made.changed["fine"]._replace(name="lost", blob="0" * 64, group=("lost",))
    other = replace(made, id="e" * 20, name="other", changed={**made.changed, "lost": lost})
    head = {"kind": "head", "branch": "other", "checkpoint": other.id, "at": made.created_at + 1}
    session.writes.append([checkpoint_record(other), head]).result()
    session.refresh()

    done = export_files(session, other.id, tmp_path / "out")

    entries = json.loads((tmp_path / "out/index.json").read_text())["variables"]
    assert set(done.files) == {"fine"}
    assert "did not come back: the store does not hold blob" in entries["lost"]["reason"]
    assert entries["lock"]["reason"].startswith("is not kept by this checkpoint: lock: frame")
    assert entries["later"]["reason"] == "was not asked to be kept"


def test_what_holds_itself_or_never_ends_is_named(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_values, "MOST_VALUES", 1000)
    endless: list[Any] = [0]
    endless.append({"me": endless})
    wide: list[Any] = [0]
    deep: list[Any] = [0]
    for _ in range(40):
        wide = [wide, wide]
    for _ in range(900):
        deep = [deep]

    entries = export(session, {"endless": endless, "wide": wide, "deep": deep}, tmp_path / "out")

    same = "[1]['me'] is the same object as one that holds it, which JSON cannot say"
    assert same in entries["endless"]["reason"]
    assert "is beyond the first 1,000 values" in entries["wide"]["reason"]
    assert "nested too deeply" in entries["deep"]["reason"]


FINITE = st.floats(allow_nan=False, allow_infinity=False)
PARTS = st.none() | st.booleans() | st.integers() | FINITE | st.text()
TREES = st.recursive(PARTS, lambda t: st.lists(t) | st.dictionaries(st.text(), t), max_leaves=20)


@pytest.mark.slow
@given(TREES)
def test_json_is_what_was_given(value: Any) -> None:
    data, changes = encoded(value)

    assert json.loads(data) == value
    assert changes == ""


KEYS = st.text() | st.integers() | st.floats() | st.none() | st.booleans() | st.dates()
ODD = st.recursive(
    PARTS | st.floats() | st.decimals() | st.datetimes() | st.sets(st.integers() | st.text()),
    lambda t: st.tuples(t, t) | st.lists(t) | st.dictionaries(KEYS, t),
    max_leaves=20,
)


@pytest.mark.slow
@given(ODD)
def test_json_of_anything_else_is_valid_and_says_what_it_changed(value: Any) -> None:
    try:
        data, changes = encoded(value)
    except CaptureError as error:
        if "two keys" not in str(error):
            raise
        return

    back = json.loads(data, parse_constant=pytest.fail)
    assert (back == value) or changes
    assert encoded(back).data == data


# -- names ----------------------------------------------------------------------------------------

HOSTILE = (
    *("../../outside", "/etc/passwd", "a/b", "a\\b", ".", "..", " ", "-rf", ".hidden", "a\0b"),
    *("CON", "nul", "x" * 300, "\N{SNAKE}" * 300, "ü" * 300, "a\n\x1b[2J", "index", "df", "DF"),
    *("é", "e\u0301", "ﬁ", "fi", "\u202edf", "df-2", "notebook", "ß", "ss", "*?", "a:b"),
)


def put_all(session: Session, values: dict[str, object]) -> str:
    """Id of a checkpoint with variables of any name."""
    variables = {}
    for name, value in values.items():
        parts = encode_together({name: value}, Scope({}, {})).parts
        blob = session.store.put_blob(parts)
        variables[name] = Variable(name, blob, blob, "list", 1, group=(name,))
    session.namespace["own"] = 1
    made = replace(session.checkpoint("made"), id="d" * 20, name="odd", changed=variables)
    head = {"kind": "head", "branch": "odd", "checkpoint": made.id, "at": made.created_at + 1}
    session.writes.append([checkpoint_record(made), head]).result()
    session.refresh()
    return made.id


def test_names_of_any_kind_are_files_in_the_folder_and_none_is_overwritten(
    session: Session, tmp_path: Path
) -> None:
    values: dict[str, object] = {name: [n] for n, name in enumerate(HOSTILE)}
    out = tmp_path / "inner" / "out"

    done = export_files(session, put_all(session, values), out)

    entries = json.loads((out / "index.json").read_text("utf-8"))["variables"]
    assert set(entries) == set(HOSTILE) == set(done.files)
    assert {p.name for p in out.iterdir()} == {"index.json", "notebook.ipynb", "variables"}
    assert len(list((out / "variables").iterdir())) == len(HOSTILE)
    for name, value in values.items():
        file = file_of(out, entries, name)
        assert file.parent == out / "variables"
        assert json.loads(file.read_bytes()) == value
    assert {p.name for p in (tmp_path / "inner").iterdir()} == {"out"}
    assert "\x1b" not in done.text()


@given(st.lists(st.text() | st.sampled_from((*HOSTILE, "", "\ud800")), unique=True))
def test_no_two_names_are_one_file_anywhere(names: list[str]) -> None:
    stems = file_stems(names)

    assert list(stems) == names
    folded = {unicodedata.normalize("NFD", stem.casefold()) for stem in stems.values()}
    assert len(folded) == len(names)
    for stem in stems.values():
        assert all(c.isalnum() or c in "_-" for c in stem)
        assert stem[0] != "-"
        assert len(f".{stem}.parquet.01234567.tmp".encode()) < 255
        assert stem.casefold() not in ("con", "nul", "aux", "com1", "lpt9")


def test_a_name_that_is_an_identifier_stays_as_it_is() -> None:
    assert file_stems(["df", "_x1", "größe", "x" * MOST_CHARACTERS]) == {
        n: n for n in ("df", "_x1", "größe", "x" * MOST_CHARACTERS)
    }


# -- cells ----------------------------------------------------------------------------------------


def cell(shell: Any, source: str, cell_id: str | None = None) -> None:
    shell.run_cell(source, store_history=True, cell_id=cell_id).raise_error()


@pytest.mark.slow
def test_the_cells_that_ran_are_a_notebook_with_their_outputs(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell(shell, "import sys\nx = 1", "setup")
    cell(shell, "%%checkpoint first\nprint('out')\nprint('err', file=sys.stderr)\nx + 1", "one")
    cell(shell, "%%checkpoint drawn\nfrom IPython.display import HTML, display\n"
                "display(HTML('<b>bold</b>'))\ndisplay({'odd/odd': {'a': 1}}, raw=True)", "two")  # fmt: skip
    cell(shell, "%%checkpoint again\nx = 2", "one")
    cell(shell, "%%checkpoint later\ny = 3", "not an id of nbformat")
    capsys.readouterr()

    done = nbckpt.export("again", tmp_path / "out", portable=True)
    nbckpt.export("later", tmp_path / "all", portable=True)

    assert (
        "not in the notebook: 1 output, damaged or of no form that an export writes" in done.text()
    )
    notebook = nbformat.read(tmp_path / "out/notebook.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    nbformat.validate(nbformat.read(tmp_path / "all/notebook.ipynb", as_version=4))
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    setup, first, drawn, again = notebook.cells
    assert [c.id for c in notebook.cells] == ["setup", "one", "two", "run-4"]
    assert setup.source == "import sys\nx = 1"
    assert (again.source.splitlines()[-1], again.outputs) == ("x = 2", [])
    texts = {(o.output_type, o.get("name")): o for o in first.outputs}
    assert texts["stream", "stdout"].text == "out\n"
    assert texts["stream", "stderr"].text == "err\n"
    assert texts["execute_result", None].data["text/plain"] == "2"
    assert texts["execute_result", None].execution_count == first.execution_count
    assert [o.data["text/html"] for o in drawn.outputs] == ["<b>bold</b>"]
    assert json.loads((tmp_path / "out/index.json").read_text())["outputs_left_out"] == 1


@pytest.mark.slow
def test_errors_that_code_showed_and_changed_displays_are_counted_as_left_out(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell(shell, "from IPython.display import display\nh = display(1, display_id='d')", "first")
    cell(shell, "%%checkpoint changes\nh.update(2)\nprint('text')\n"
                "try:\n    1 / 0\nexcept ZeroDivisionError:\n    get_ipython().showtraceback()", "second")  # fmt: skip
    capsys.readouterr()

    done = nbckpt.export("changes", tmp_path / "out", portable=True)

    (output,) = json.loads((tmp_path / "out/notebook.ipynb").read_text())["cells"][-1]["outputs"]
    assert output["text"] == "text\n"
    assert "not in the notebook: 2 outputs" in done.text()


@pytest.mark.slow
def test_a_block_stands_once_in_the_cell_that_holds_it(shell: Any, tmp_path: Path) -> None:
    block = "with nbckpt.checkpoint('block'):\n    print('inside')\n    a = 1"
    cell(shell, f"import nbckpt\n{block}\nb = 2", "whole")
    cell(shell, "%%checkpoint after\nc = 3", "after")

    nbckpt.export("after", tmp_path / "out", portable=True)
    nbckpt.export("block", tmp_path / "block", portable=True)

    whole, after = json.loads((tmp_path / "out/notebook.ipynb").read_text())["cells"]
    assert [whole["id"], after["id"]] == ["whole", "after"]
    assert "print('inside')" in whole["source"]
    cells = json.loads((tmp_path / "block/notebook.ipynb").read_text())["cells"]
    assert "print('inside')" in cells[-1]["source"]


NESTED = """
import nbckpt
nbckpt.open(".nbckpt", globals())
with nbckpt.checkpoint("outer") as outer:
    if outer.todo:
        with nbckpt.checkpoint("inner", vars=["a"]) as inner:
            if inner.todo:
                a = 1
        b = 2
"""


@pytest.mark.slow
def test_of_nested_blocks_of_a_script_the_outer_one_stands_once(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(NESTED)
    for command in (["script.py"], ["-m", "nbckpt", "export", "outer", "out", "--portable"]):
        subprocess.run([sys.executable, *command], check=True, cwd=tmp_path, env=environment())

    (cell,) = json.loads((tmp_path / "out/notebook.ipynb").read_text())["cells"]
    assert "checkpoint('outer')" in "".join(cell["source"]).partition("\n")[0]


# -- as a whole -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_all_of_it_is_read_where_there_is_no_nbckpt(session: Session, tmp_path: Path) -> None:
    figure = Figure()
    values = {**TABLES, **ARROW, **ARRAYS, **PLAIN, **BYTES, "text": TEXT, "figure": figure}
    export(session, values, tmp_path / "out")
    code = """
import json, pathlib, sys
sys.modules["nbckpt"] = None
import nbformat, numpy, PIL.Image, pyarrow, pyarrow.parquet
readers = {
    "Parquet": pyarrow.parquet.read_table, "JSON": lambda f: json.loads(f.read_text("utf-8")),
    "Arrow IPC": lambda f: pyarrow.ipc.open_file(f).read_all(), "bytes": pathlib.Path.read_bytes,
    "NumPy": lambda f: numpy.load(f, allow_pickle=False), "PNG": lambda f: PIL.Image.open(f).load(),
    "text": lambda f: f.read_bytes().decode("utf-8"),
}
out = pathlib.Path(sys.argv[1])
index = json.loads((out / "index.json").read_text("utf-8"))
nbformat.validate(nbformat.read(out / index["notebook"], as_version=4))
read = [readers[e["format"]](out / e["file"]) for e in index["variables"].values()]
print(len(read))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(tmp_path / "out")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stdout.strip() == str(len(values)), done.stderr


def test_the_index_tells_of_the_checkpoint(session: Session, tmp_path: Path) -> None:
    session.namespace["x"] = [1]
    made = session.checkpoint("made", tags=["best"], note="the good one")

    export_files(session, "made", tmp_path / "out")

    index = json.loads((tmp_path / "out/index.json").read_text())
    told = index["checkpoint"]
    assert (told["id"], told["name"], told["tags"]) == (made.id, "made", ["best"])
    assert told["note"] == "the good one"
    assert index["made_by"] == f"nbckpt {nbckpt.__version__}"
    assert index["variables"]["x"] == {
        "type": "list", "shape": "1", "preview": "[1]", "file": "variables/x.json",
        "format": "JSON",
    }  # fmt: skip


def test_others_may_read_the_files(session: Session, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        entries = export(session, {"x": [1]}, tmp_path / "out")
    finally:
        os.umask(before)

    file = file_of(tmp_path / "out", entries, "x")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o644, 0o755)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("taken", ["folder", "file", "link"])
def test_it_touches_nothing_that_is_there(session: Session, tmp_path: Path, taken: str) -> None:
    session.namespace["x"] = 1
    session.checkpoint("made")
    out = tmp_path / "out"
    if taken == "folder":
        out.mkdir()
        (out / "mine.txt").write_text("x")
    elif taken == "file":
        out.write_text("x")
    else:
        (tmp_path / "real").mkdir()
        out.symlink_to(tmp_path / "real")

    with pytest.raises(StoreError, match="name a new or empty folder"):
        export_files(session, "made", out)

    assert not list(tmp_path.glob(".*.tmp"))
    assert not (tmp_path / "real").exists() or not list((tmp_path / "real").iterdir())


def test_it_fills_an_empty_folder(session: Session, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()

    entries = export(session, {"x": [1]}, tmp_path / "out")

    assert file_of(tmp_path / "out", entries, "x").exists()


@pytest.mark.slow
def test_a_disk_that_refuses_leaves_nothing(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.namespace.update(TABLES, x=[1], a=np.arange(3), state={"w": np.arange(3)})
    session.checkpoint("made")
    session.wait()

    class Full(file_calls.Files):
        left = 0

        def pwrite(self, fd: int, data: Any, offset: int) -> int:
            self.left -= 1
            if self.left == 0:
                raise OSError(28, os.strerror(28))
            return super().pwrite(fd, data, offset)

    refused = 0
    for number in range(1, 200):
        disk = Full()
        disk.left = number
        monkeypatch.setattr(file_calls, "files", disk)
        try:
            export_files(session, "made", tmp_path / "out")
        except StoreError:
            refused += 1
            assert not (tmp_path / "out").exists()
            assert not list(tmp_path.glob(".out*"))
        else:
            break
    monkeypatch.undo()

    assert refused > 5
    assert (tmp_path / "out/index.json").exists()


@pytest.mark.slow
def test_what_is_not_there_did_not_end_well_or_is_not_trusted_is_refused(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cell(shell, "%%checkpoint made\nx = 1")
    shell.run_cell("%%checkpoint fails\nraise ValueError", store_history=True)
    session = current_session.session()
    session.wait()
    failed = next(c.id for c in session.timeline.checkpoints.values() if c.state == "failed")
    store = str(session.store.path)

    with pytest.raises(CheckpointNotFoundError):
        nbckpt.export("nothing", tmp_path / "out", portable=True)
    with pytest.raises(UsageError, match="did not end well"):
        nbckpt.export(failed, tmp_path / "out", portable=True)
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "another"))
    capsys.readouterr()
    assert main(["export", "--portable", "made", str(tmp_path / "out"), "--store", store]) == 3
    assert "'made' was made by another user" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_variable_that_is_not_trusted_is_left_out(session: Session, tmp_path: Path) -> None:
    session.namespace.update(own=[1], theirs=[2])
    made = session.checkpoint("made")
    strange = {**made.changed, "theirs": made.changed["theirs"]._replace(trusted=False)}
    other = replace(made, id="e" * 20, name="other", changed=strange)
    head = {"kind": "head", "branch": "other", "checkpoint": other.id, "at": made.created_at + 1}
    session.writes.append([checkpoint_record(other), head]).result()
    session.refresh()

    done = export_files(session, other.id, tmp_path / "out")

    assert set(done.files) == {"own"}
    assert done.left[0].reason == "was made by another user, or came from elsewhere"


@pytest.mark.slow
def test_every_door_exports_the_same(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell(shell, "%%checkpoint both\ntext = 'a'\ndef f(): ...")
    current_session.session().wait()
    capsys.readouterr()

    shell.run_line_magic("nbckpt", "export both by-magic --portable")
    said = capsys.readouterr().out
    done = nbckpt.export("both", tmp_path / "by-call", portable=True)
    status = main(["export", "--portable", "both", "by-command", "--json"])
    told = json.loads(capsys.readouterr().out)
    plainly = main(["export", "both", "again", "--portable"]), capsys.readouterr().out
    refused = main(["export", "both", "key", "--portable", "--encryption", "off"])

    assert said.startswith("'both' is in by-magic, in open formats: 1 variable, 1 cell")
    assert "no file: f (function): is code" in said
    assert (status, plainly[0], refused) == (0, 0, 2)
    assert "next: again/index.json says which file holds which variable" in plainly[1]
    assert dict(done.files) == told["files"] == {"text": "variables/text.txt"}
    for name in ("by-magic", "by-call", "by-command", "again"):
        assert (tmp_path / name / "variables/text.txt").read_text() == "a"
