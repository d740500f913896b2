"""A store of format 1, as it was first written: every later nbckpt brings all of it back."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbckpt
from nbckpt.errors import UntrustedError
from nbckpt.jupyter.shell import load, unload
from tests.running import SOURCE, environment
from tests.storage.golden_store import CELLS, GOLDEN


def run(shell: Any, *cells: str) -> None:
    for cell in cells:
        shell.run_cell(cell, store_history=True).raise_error()


@pytest.fixture
def golden(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A shell that has the store."""
    unload(shell)
    store = tmp_path / "golden"
    with zipfile.ZipFile(GOLDEN) as archive:
        archive.extractall(store)
    monkeypatch.setenv("NBCKPT_STORE", str(store))
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "home"))  # where nobody trusts it yet
    load(shell)
    return shell


@pytest.fixture
def back(golden: Any) -> dict[str, Any]:
    """The names of a session that trusted the store and resumed it."""
    with pytest.raises(UntrustedError):
        nbckpt.resume()
    run(golden, "%nbckpt trust", "%resume")
    return golden.user_ns


def test_all_checkpoints_branches_and_tags_are_there(golden: Any) -> None:
    assert [one.name for one in nbckpt.history()] == [*reversed(CELLS)]
    assert {one.branch for one in nbckpt.history(all=True)} == {"main", "aside"}
    assert nbckpt.get("golden").name == "arrays"


def test_values_of_python_come_back(back: dict[str, Any]) -> None:
    assert back["numbers"]["big"] == 1 << 200
    assert back["texts"] == ["a", "\u00e9\ud800", b"bytes", bytearray(b"more"), None, True, ...]
    assert back["loop"][1] is back["loop"]
    assert back["same"][0] is back["loop"]
    assert back["same"][1] is back["same"][2] is back["numbers"]
    assert back["when"].fold == 1
    assert str(back["when"].tzinfo) == "Europe/Berlin"
    assert str(back["others"][0]) == "1.10"
    assert back["others"][4:] == (range(3, 9, 2), slice(1, 2), frozenset({1, 2}))


def test_objects_of_the_library_come_back(back: dict[str, Any]) -> None:
    assert back["counts"] == {"a": 2, "b": 2}
    assert back["recent"].maxlen == 3
    assert back["lock"].locked()
    assert back["waiting"].get_nowait() == "first"
    assert back["found"].groups() == ("c",)
    assert bytes(back["memory"]) == b"bcd"
    assert [list(back[name]) for name in ("going", "pairs")] == [[2, 3], [(1, "a"), (2, "b")]]
    assert list(back["keys"]) == list(back["numbers"])
    assert list(back["walking"]) == [("y", 2)]
    assert list(back["rows"]) == [["c", "d"]]
    assert back["buffer"].read() == "ext"
    assert back["variable"].get() == 5
    assert back["T"].__bound__ is int
    assert back["event"].is_set()
    assert back["local"].x == 1


def test_what_the_notebook_defined_comes_back(back: dict[str, Any]) -> None:
    assert back["Color"](1).name == "RED"
    assert back["method"](4) == back["Point"](5, 2)
    assert back["child"].a == [1]
    assert back["child"].more is back["point"] is back["method"].__self__
    assert back["weak"]() is back["child"] is back["held"]["child"]
    assert back["Base"].n_made == 0
    assert back["Child"].n_made == 1
    assert back["count"]() == 20
    assert back["square"].cache_info().currsize == 2
    assert back["partial"]() == 16
    assert list(back["generator"]) == [1, 2, 3, 4]
    assert back["error"].__notes__ == ["a note"]
    assert back["error"].__cause__.args == ("cause",)


def test_arrays_and_frames_come_back(back: dict[str, Any]) -> None:
    table, frame = back["table"], back["frame"]
    table[1, 2] = -1.0

    assert back["view"][0, 2] == back["column"][1] == -1.0
    assert back["fortran"].flags.f_contiguous
    assert back["records"]["s"].tolist() == ["a", "b"]
    assert not back["read_only"].flags.writeable
    assert back["objects"][0] is back["point"]
    assert back["masked"].mask.tolist() == [False, True, False]
    expected = np.random.default_rng(5)
    expected.random()
    assert back["random"].random() == expected.random()
    assert np.isnat(back["times"][1])
    assert [str(kind) for kind in frame.dtypes[["c", "i"]]] == ["category", "Int64"]
    assert frame.index.name == "key"
    assert frame["t"].isna().tolist() == [False, True, False]
    assert back["series"].tolist() == frame["n"].tolist() == [1, 2, 3]


AGAIN = """
from IPython.core.interactiveshell import InteractiveShell
from tests.storage.golden_store import CELLS

shell = InteractiveShell.instance()
marked = f"%%checkpoint library\\n{CELLS['library']}"
for cell in ["%load_ext nbckpt", "%nbckpt trust", "%rewind plain", marked, "%switch aside", "step"]:
    shell.run_cell(cell, store_history=True).raise_error()
"""


@pytest.mark.slow
def test_a_cell_of_it_is_restored_and_a_branch_has_its_values(golden: Any) -> None:
    """In a process of its own, in whose libraries no other test has set anything."""
    said = subprocess.run(
        [sys.executable, "-c", AGAIN], check=True, capture_output=True, text=True, cwd=SOURCE,
        env={**environment(), "NBCKPT_STORE": os.environ["NBCKPT_STORE"]},
    ).stdout  # fmt: skip

    assert "restored 'library'" in said
    assert said.rstrip().endswith("3")
