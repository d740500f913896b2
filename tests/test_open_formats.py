"""Export in open formats: what other programs read is what there was, and nothing is overwritten."""

from __future__ import annotations

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

import nbckpt
from nbckpt.capture.groups import encode_together
from nbckpt.cli import main
from nbckpt.codecs.pickler import Scope
from nbckpt.errors import (
    CaptureError,
    CheckpointNotFoundError,
    StoreError,
    UsageError,
)
from nbckpt.model import Variable, checkpoint_record
from nbckpt.session.maintenance.open_formats import json_values
from nbckpt.session.maintenance.open_formats.file_names import MOST_CHARACTERS, file_stems
from nbckpt.session.maintenance.open_formats.json_values import encoded
from nbckpt.session.maintenance.open_formats.open_export import export_files
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage import system

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


def test_types_that_json_does_not_tell_are_noted(session: Session, tmp_path: Path) -> None:
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
    assert entries["pair"]["note"] == "JSON does not tell of the types tuple"
    assert "collections.defaultdict" in entries["groups"]["note"]


def test_figures_and_pictures_are_png(session: Session, tmp_path: Path) -> None:
    figure = Figure(figsize=(2, 1), dpi=100)
    figure.subplots().plot([1, 2])
    shown, axes = plt.subplots()
    axes.plot([1])
    pixels = np.arange(12, dtype="u1").reshape(2, 2, 3)
    before = plt.get_fignums()

    values = {"figure": figure, "shown": shown, "picture": Image.fromarray(pixels)}
    entries = export(session, values, tmp_path / "out")

    assert plt.get_fignums() == before
    with Image.open(file_of(tmp_path / "out", entries, "figure")) as drawn:
        assert (drawn.format, drawn.size) == ("PNG", (200, 100))
        assert len(drawn.getcolors(1_000_000) or ()) > 2
    with Image.open(file_of(tmp_path / "out", entries, "picture")) as picture:
        assert np.array_equal(np.asarray(picture), pixels)
    plt.close(shown)


NEVER: dict[str, tuple[Any, str]] = {
    "objects": (np.array([object()], object), "without pickles"),
    "strings": (np.array(["a"], np.dtypes.StringDType()), "without pickles"),
    "masked": (np.ma.array([1, 2], mask=[False, True]), "not all of it"),
    "mixed": (pd.DataFrame({"a": [1, "x"]}), "neither Parquet nor Arrow"),
    "python": (pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}), "neither Parquet nor"),
    "sparse": (torch.eye(2).to_sparse(), "no such tensor"),
    "cmyk": (Image.new("CMYK", (1, 1)), "PNG cannot hold it"),
    "a_set": ({1}, "is a set, for which there is no open format"),
    "inside": ({"a": [0, {2}]}, "['a'][1] is a set, which JSON does not have"),
    "keys": ({"a": {1: 2}}, "a key of ['a'] is a int: in JSON keys are text"),
    "infinite": ([math.inf], "[0] is inf, which JSON does not have"),
    "digits": (10**5000, "JSON cannot hold it"),
    "module": (math, "is imported by whoever needs it"),
}


def test_what_no_format_holds_is_named_with_the_reason_and_costs_nothing_else(
    session: Session, tmp_path: Path
) -> None:
    values = {name: value for name, (value, _) in NEVER.items()}
    exec(
        "class Model:\n    pass\nmodel = Model()\n"
        "class Broken:\n    def __reduce__(self): return make, ()\n"
        "def make():\n    if asked: raise RuntimeError('not again')\n    return Broken()\nasked = []",
        session.namespace,
    )
    session.namespace["__name__"] = "__main__"

    entries = export(session, {**values, "fine": [1]}, tmp_path / "out")

    for name, (_, reason) in NEVER.items():
        assert entries[name]["file"] is None
        assert reason in entries[name]["reason"], name
    assert entries["model"]["reason"] == "is a Model, for which there is no open format here"
    assert entries["Model"]["reason"] == "is code, which the cells in notebook.ipynb have"
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
    session.append([checkpoint_record(other), head]).result()
    session.refresh()

    done = export_files(session, other.id, tmp_path / "out")

    entries = json.loads((tmp_path / "out/index.json").read_text())["variables"]
    assert set(done.files) == {"fine"}
    assert "did not come back: the store does not hold blob" in entries["lost"]["reason"]
    assert entries["lock"]["reason"].startswith("is not kept by this checkpoint: lock: frame")
    assert entries["later"]["reason"] == "was not asked to be kept"


def test_a_list_that_holds_itself_ends(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_values, "MOST_VALUES", 1000)
    endless: list[Any] = []
    endless.append(endless)
    wide: list[Any] = [0]
    for _ in range(40):
        wide = [wide, wide]

    entries = export(session, {"endless": endless, "wide": wide}, tmp_path / "out")

    for name in ("endless", "wide"):
        assert "would have more than 1,000 values, or never end" in entries[name]["reason"]


PARTS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
TREES = st.recursive(PARTS, lambda t: st.lists(t) | st.dictionaries(st.text(), t), max_leaves=20)


@given(TREES)
def test_json_is_what_was_given_or_refused(value: Any) -> None:
    try:
        found = encoded(value)
    except CaptureError:
        assert "inf" in repr(value)
    else:
        assert json.loads(found.data) == value
        assert found.types == ()


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
    session.append([checkpoint_record(made), head]).result()
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

    nbckpt.export("again", tmp_path / "out", portable=True)
    nbckpt.export("later", tmp_path / "all", portable=True)

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


# -- as a whole -----------------------------------------------------------------------------------


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


def test_a_disk_that_refuses_leaves_nothing(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.namespace.update(TABLES, x=[1], a=np.arange(3))
    session.checkpoint("made")
    session.wait()

    class Full(system.Files):
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
        monkeypatch.setattr(system, "files", disk)
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
    session.append([checkpoint_record(other), head]).result()
    session.refresh()

    done = export_files(session, other.id, tmp_path / "out")

    assert set(done.files) == {"own"}
    assert done.left[0].reason == "was made by another user, or came from elsewhere"


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
