"""Columns of Arrow and polars over the memory of an array: what changes it changes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nbckpt.session.session import Session
from tests.capture.observation.kernels import run as cells_run
from tests.notebooks import resumed, run

pl = pytest.importorskip("polars")

TIED = {
    "Arrow array": ("pa.array(a)", "v[5].as_py()"),
    "Arrow array, a slice": ("pa.array(a)[3:9]", "v[2].as_py()"),
    "Arrow chunks": ("pa.chunked_array([pa.array(a), pa.array(a[:5])])", "v[5].as_py()"),
    "Arrow table": ("pa.table({'k': a, 'i': list(range(3000))})", "v['k'][5].as_py()"),
    "Arrow struct": ("pa.StructArray.from_arrays([pa.array(a)], ['k'])", "v[5]['k'].as_py()"),
    "Arrow buffer": ("pa.py_buffer(a)", "np.frombuffer(v)[5]"),
    "Arrow, inside": ("{'k': [{'l': pa.array(a)}]}", "v['k'][0]['l'][5].as_py()"),
    "series": ("pl.Series('name', a)", "v[5]"),
    "series of Arrow": ("pl.from_arrow(pa.array(a))", "v[5]"),
    "series, of rows": ("pl.Series(a.reshape(-1, 10))", "v[0][5]"),
    "series, of another's view": ("pl.Series(held['a'][3:])", "v[2]"),
    "frame": ("pl.DataFrame({'t': 'text', 'k': a})", "v['k'][5]"),
    "frame of rows": ("pl.from_numpy(a.reshape(-1, 1))", "v[5, 0]"),
    "frame, inside": ("Holder(pl.DataFrame({'k': a}))", "v.held['k'][5]"),
}
UNTIED = {
    "plan": ("pl.DataFrame({'k': a}).lazy()", "v.collect()['k'][5]"),
    "pandas' Arrow": ("pd.Series(pd.arrays.ArrowExtensionArray(pa.array(a)))", "v[5]"),
    "image": ("Image.fromarray(a.view('u1')[:400].reshape(20, 20))", "v.tobytes()[47]"),
    "Boolean": (
        "pl.from_arrow(pa.Array.from_buffers(pa.bool_(), 3000, [None, pa.py_buffer(a.view('u1'))]))",
        "v[8 * 47 + 6]",
    ),
    "of an array among many": ("pl.Series(many[7])", "v[5]"),
    "object in C": ("cKDTree(a.reshape(-1, 10))", "v.data[0, 5]"),
}
"""Values that change with the array, and come back as they were, on memory of their own."""
BEGIN = """
import numpy as np, pyarrow as pa, polars as pl
class Holder:
    def __init__(self, held): self.held = held
a = np.zeros(3000)
held = {'a': a}
many = {i: a if i == 7 else i for i in range(1500)}
"""
NEEDS = "import pandas as pd\nfrom PIL import Image\nfrom scipy.spatial import cKDTree"


@pytest.mark.parametrize(("made", "seen"), TIED.values(), ids=TIED)
def test_they_come_back_on_one_memory(session: Session, made: str, seen: str) -> None:
    space = session.namespace
    exec(f"{BEGIN}v = {made}", space)
    session.checkpoint("kept", sync=True)
    space.update(a=None, v=None, held=None)
    session.rewind("kept")

    space["a"][5] = 7.0

    assert eval(seen, space) == 7.0


@pytest.mark.parametrize(("made", "seen"), [*TIED.values(), *UNTIED.values()], ids=[*TIED, *UNTIED])
def test_one_that_nobody_names_is_not_stale(made: str, seen: str, shell: Any) -> None:
    if made in dict(UNTIED.values()):
        pytest.importorskip("scipy")
        pytest.importorskip("PIL")
        run(shell, NEEDS)
    run(shell, "%nbckpt auto on")
    run(shell, f"{BEGIN}v = {made}")
    run(shell, "type(v)")
    run(shell, "a[5] = 1.0")
    run(shell, "a[5] = 2.0; b = 1")
    live = eval(seen, shell.user_ns)

    namespace = resumed(shell)

    assert eval(seen, namespace) == live != 0


def test_one_of_an_array_that_only_a_large_container_holds_is_not_stale(shell: Any) -> None:
    run(shell, "%nbckpt auto on")
    run(shell, f"{BEGIN}v = pl.Series(a); del a, held")
    run(shell, "type(v)")
    run(shell, "many[7][5] = 1.0")
    run(shell, "many[7][5] = 2.0; b = 1")

    namespace = resumed(shell)

    assert (namespace["many"][7][5], namespace["v"][5]) == (2.0, 2.0)


def test_a_buffer_of_an_array_can_be_written_as_before(session: Session) -> None:
    space = session.namespace
    exec(f"{BEGIN}v = pa.py_buffer(a); b = bytes(9); w = pa.py_buffer(b)", space)
    session.checkpoint("kept", sync=True)
    space.update(a=None, v=None, w=None)
    session.rewind("kept")

    np.frombuffer(space["v"])[5] = 3.0

    assert space["a"][5] == 3.0
    assert (space["v"].is_mutable, space["w"].is_mutable) == (True, False)


def test_columns_that_arrow_has_no_type_for_are_kept_beside_others(session: Session) -> None:
    session.namespace["a"] = np.zeros(3000)
    session.namespace["v"] = pl.DataFrame({"k": session.namespace["a"]}).with_columns(
        i=pl.lit(5, pl.Int128), t=pl.lit("text"), c=pl.lit("x", pl.Categorical)
    )
    was = session.namespace["v"].clone()
    session.checkpoint("kept", sync=True)
    session.namespace["v"] = None

    session.rewind("kept")

    assert session.namespace["v"].equals(was)
    assert session.namespace["v"].schema == was.schema


@pytest.mark.slow
@pytest.mark.parametrize("text", ["pl.Series('k', a)", "pl.DataFrame({'k': a})", "pa.array(a)"])
def test_cells_after_it_run_as_in_plain_python(text: str, tmp_path: Path) -> None:
    cells = [BEGIN, f"v = {text}", "a[5] = 3.0", "w = str(v)", "a[6] = 4.0", "y = [w, str(v)]"]
    edited = [*cells[:4], "a[6] = 5.0", cells[5]]
    plain = [cells_run(tmp_path / "0", c, "y", mode="plain").value for c in (cells, edited)]
    cells_run(tmp_path, cells, "y", mode="skip")

    again = cells_run(tmp_path, cells, "y", mode="skip")
    answer = cells_run(tmp_path, edited, "y", mode="skip")

    assert [again.value, answer.value] == plain
    assert [again.restored, answer.restored] == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3]]


def test_a_column_over_an_array_keeps_its_name_order_chunks_and_nulls(session: Session) -> None:
    space = session.namespace
    exec(f"{BEGIN}valid = pa.py_buffer(bytes([251] * 375))", space)
    exec("with_nulls = pa.Array.from_buffers(pa.float64(), 3000, [valid, pa.py_buffer(a)])", space)
    space["v"] = pl.from_arrow(pa.chunked_array([space["with_nulls"], pa.array(space["a"])]))
    space["w"] = pl.Series("name", space["a"]).set_sorted(descending=True)
    before = space["v"], space["w"]
    session.checkpoint("kept", sync=True)
    space.update(v=None, w=None)

    session.rewind("kept")

    for was, now in zip(before, (space["v"], space["w"]), strict=True):
        assert (now.name, now.dtype, now.flags) == (was.name, was.dtype, was.flags)
        assert now.chunk_lengths() == was.chunk_lengths()
        assert now.equals(was, null_equal=True)


@pytest.mark.parametrize(
    "kind",
    ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "M8[D]", "M8[us]", "m8[ms]"],
)
def test_columns_of_each_type_come_back(kind: str, session: Session) -> None:
    array = np.arange(3000).astype(kind)
    session.namespace.update(a=array, v=pl.Series("name", array))
    was = pl.Series("name", array.copy())
    session.checkpoint("kept", sync=True)
    session.namespace.update(v=None)

    session.rewind("kept")

    assert session.namespace["v"].equals(was, check_dtypes=True)
    assert type(session.namespace["v"]) is pl.Series
