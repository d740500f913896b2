"""Datasets and arrays of xarray: kept, restored, digested, compared, described, exported."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbckpt.fingerprint.values import ValueDigester
from nbckpt.reports.diff import compare
from nbckpt.reports.diff.details import Limits
from nbckpt.reports.diff.families import detail
from nbckpt.session.maintenance.open_formats.open_export import export_files
from nbckpt.session.session import Session
from nbckpt.text.describe import preview_of
from tests.notebooks import refusals, resumed, run

xr: Any = pytest.importorskip("xarray")

MAKE = """
import numpy as np, xarray as xr
base = np.arange(12.0)
ds = xr.Dataset(
    {"t": (("x", "y"), base[:6].reshape(2, 3), {"unit": "K"}), "p": ("y", base[6:9])},
    coords={"x": ["a", "b"], "y": [10, 20, 30], "height": ("y", [1.0, 2.0, 3.0])},
    attrs={"source": "made"},
)
ds.t.encoding["dtype"] = "f4"
"""


def made() -> Any:
    namespace: dict[str, Any] = {}
    exec(MAKE, namespace)
    return namespace["ds"]


def digest(value: object) -> str:
    return ValueDigester({}).digest(value)


def told(before: object, after: object) -> list[tuple[str, str]]:
    found = detail(before, after, Limits())
    return [(row.path, row.after) for row in found.rows]


# -- kept and restored


@pytest.mark.slow
def test_all_of_a_dataset_comes_back(auto: Any) -> None:
    run(auto, MAKE)
    assert refusals() == {}
    back = resumed(auto)

    ds = back["ds"]
    assert ds.identical(made())
    assert ds.t.encoding == {"dtype": "f4"}
    assert ds.sel(x="b").t.values.tolist() == [3.0, 4.0, 5.0]
    assert list(ds.xindexes) == ["x", "y"]


@pytest.mark.slow
def test_variables_views_and_attributes_that_are_shared_stay_so(auto: Any) -> None:
    run(auto, MAKE)
    run(auto, "t = ds.t\nvalues = ds.t.values\nattrs = ds.attrs\npart = base[1:3]")
    back = resumed(auto)

    back["values"][0, 1] = 70
    back["attrs"]["k"] = 1
    assert back["ds"].t.values[0, 1] == back["t"].values[0, 1] == 70
    assert back["part"][0] == back["base"][1] == 70
    assert back["ds"].attrs["k"] == 1
    assert back["t"].variable is back["ds"].variables["t"]


@pytest.mark.slow
def test_an_empty_dict_that_a_variable_holds_stays_the_dataset_s(auto: Any) -> None:
    run(auto, "import xarray as xr\nds = xr.Dataset({'a': ('x', [1])}); attrs = ds.attrs")
    back = resumed(auto)

    back["attrs"]["k"] = 1
    assert back["ds"].attrs == {"k": 1}


@pytest.mark.slow
def test_changes_in_place_are_kept_and_taken_back(auto: Any) -> None:
    run(auto, MAKE)
    run(auto, "%checkpoint first")
    run(auto, "ds.t[0, 1] = 7; ds.attrs['k'] = 1; ds['n'] = ('x', [1, 2])")
    run(auto, "%checkpoint second")

    run(auto, "%rewind first")
    assert auto.user_ns["ds"].identical(made())
    run(auto, "%rewind -")
    ds = auto.user_ns["ds"]
    assert ds.t.values[0, 1] == 7
    assert ds.attrs == {"source": "made", "k": 1}
    assert ds.n.values.tolist() == [1, 2]


@pytest.mark.slow
def test_a_copy_is_kept_apart_and_what_has_the_same_coordinates_is_not(session: Session) -> None:
    ds = made()
    session.namespace.update(ds=ds, other=ds.copy(deep=True), warm=ds.t + 1)

    variables = session.timeline.manifest(session.checkpoint("made").id)

    groups = {name: variables[name].group for name in ("ds", "other", "warm")}
    assert groups == {"ds": ("ds", "warm"), "other": ("other",), "warm": ("ds", "warm")}


@pytest.mark.parametrize(
    "look",
    [
        "ds.attrs, ds.encoding, ds.t.attrs, ds.p.encoding, ds.p.attrs, ds.x.attrs",
        "repr(ds), ds._repr_html_(), ds.sizes, ds.nbytes",
        "ds.sel(x='a'), ds.to_dataframe(), ds.t.mean(), ds.xindexes",
        "names.str.upper()",
        "times.dt.year",
    ],
)
def test_a_look_changes_neither_digest_nor_bytes(session: Session, look: str) -> None:
    ds = made().drop_attrs()
    names = xr.DataArray(["a", "b"], dims="x")
    times = xr.DataArray(np.array(["2020-01-01"], "M8[ns]"), dims="x")
    values: dict[str, Any] = {"ds": ds, "names": names, "times": times}
    session.namespace.update(values)
    before = {name: digest(value) for name, value in values.items()}
    first = session.timeline.manifest(session.checkpoint("first").id)

    exec(look, dict(values))
    session.workspace.capturer.distrust(values)
    second = session.timeline.manifest(session.checkpoint("second").id)

    assert {name: digest(value) for name, value in values.items()} == before
    assert {n: second[n].blob for n in values} == {n: first[n].blob for n in values}


ACCESSOR = """
import xarray as xr
@xr.register_dataset_accessor("geo")
class Geo:
    def __init__(self, ds): self.ds, self.n = ds, None
"""


@pytest.fixture
def accessor(auto: Any) -> Iterator[Any]:
    """A shell with an accessor that the notebook registered."""
    run(auto, ACCESSOR)
    run(auto, "ds = xr.Dataset({'a': ('x', [1])})")
    yield auto
    del xr.Dataset.geo


@pytest.mark.slow
def test_an_accessor_is_no_part_of_the_value_until_it_remembers_something(accessor: Any) -> None:
    ds = accessor.user_ns["ds"]
    before = digest(ds)
    assert ds.geo.ds is ds
    after = digest(ds)
    ds.geo.n = 5

    assert (before == after, after == digest(ds)) == (True, False)


@pytest.mark.slow
def test_an_accessor_keeps_what_it_remembers(accessor: Any) -> None:
    run(accessor, "ds.geo.n = 5")
    back = resumed(accessor)

    assert back["ds"].geo.n == 5
    assert back["ds"].geo.ds is back["ds"]


@pytest.mark.slow
def test_an_accessor_that_a_variable_holds_stays_that_of_the_dataset(accessor: Any) -> None:
    run(accessor, "geo = ds.geo")
    back = resumed(accessor)

    assert back["ds"].geo is back["geo"]
    assert back["geo"].ds is back["ds"]


# -- digested


def test_digests_are_those_of_the_values() -> None:
    ds = made()
    changes = {
        "value": ds.copy(deep=True),
        "attribute": ds.assign_attrs(k=1),
        "coordinate": ds.assign_coords(x=["a", "c"]),
        "order": ds[["p", "t"]],
        "role": ds.reset_coords("height"),
        "name": ds.rename(t="u"),
    }
    changes["value"].t[0, 0] = 9
    encoded = made()
    encoded.p.encoding["dtype"] = "f4"

    found = [digest(one) for one in (ds, encoded, ds.t, ds.t.variable, *changes.values())]

    assert digest(made()) == found[0]
    assert len(set(found)) == len(found)


@pytest.mark.slow
def test_digests_are_equal_in_every_process() -> None:
    program = f"{MAKE}\nfrom nbckpt.fingerprint.values import ValueDigester\n" + textwrap.dedent(
        """
        digester = ValueDigester({})
        for value in (ds, ds.t, ds.t.variable, {"a": ds}):
            print(digester.digest(value))
        """
    )

    def digests(seed: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert digests("1") == digests("2")


# -- compared, described, exported


def test_a_difference_says_which_variable_and_how(session: Session) -> None:
    session.namespace["ds"] = made()
    session.checkpoint("one")
    ds = session.namespace["ds"] = made()
    ds.t[0, 1] = 7
    ds.attrs["k"] = 1
    ds.t.attrs["unit"] = "C"
    ds["n"] = ("x", [1, 2])
    session.namespace["ds"] = ds = ds.assign_coords(x=["a", "c"]).drop_vars("p")
    session.checkpoint("two")

    (found,) = compare(session, "one", "two").variables

    assert found.detail is not None
    rows = {row.path: row for row in found.detail.rows}
    assert rows.keys() == {
        "ds['t'].values",
        "ds['t'].attrs['unit']",
        "ds['p']",
        "ds['n']",
        "ds.coords['x'].values",
        "ds.attrs['k']",
    }
    assert "1 of 6 elements differ" in rows["ds['t'].values"].after
    assert rows["ds['n']"].after == "xarray.Variable (x: 2) int64"
    assert rows["ds['p']"].after == ""


def test_an_array_differs_by_name_dimensions_and_coordinates() -> None:
    ds = made()

    assert told(ds.t, ds.t.rename("u")) == [(".name", "'u'")]
    assert told(ds.t, ds.t.assign_coords(height=("y", [1.0, 2, 4])))[0][0] == (
        ".coords['height'].values"
    )
    assert told(ds.t, ds.t.T)[0] == (".dims[0]", "'y'")
    assert detail(ds, made(), Limits()).is_same
    assert told({"a": [ds]}, {"a": [ds.assign_attrs(k=1)]}) == [("['a'][0].attrs['k']", "1")]


def test_a_comparison_leaves_both_as_they_are() -> None:
    before, after = xr.Dataset({"a": ("x", [1])}), xr.Dataset({"a": ("x", [2])})

    told(before, after)

    assert before._attrs is after._attrs is before._encoding is None


def test_the_timeline_names_dimensions_and_variables() -> None:
    ds = made()

    assert preview_of(ds) == "(x: 2, y: 3) t, p; coordinates x, y, height"
    assert preview_of(ds.t) == "t (x: 2, y: 3) float64; coordinates x, y, height"
    assert preview_of(ds.t.variable) == "(x: 2, y: 3) float64"
    assert preview_of(xr.Dataset()) == "()"
    wide = xr.Dataset({f"v{n}": ("x", [n]) for n in range(20)})
    assert preview_of(wide) == "(x: 1) v0, v1, v2, v3, v4, v5, v6, v7, …"


def test_arrays_are_exported_by_name(session: Session, tmp_path: Path) -> None:
    ds = made()
    session.namespace.update(ds=ds, t=ds.t)
    session.checkpoint("made")
    session.wait()

    export_files(session, "made", tmp_path / "out")

    entries = json.loads((tmp_path / "out" / "index.json").read_text())["variables"]
    with np.load(tmp_path / "out" / entries["ds"]["file"]) as arrays:
        assert set(arrays) == {"t", "p", "x", "y", "height"}
        assert arrays["t"].tolist() == ds.t.values.tolist()
    assert "t (x, y)" in entries["ds"]["note"]
    assert entries["t"]["format"] == "NumPy"
