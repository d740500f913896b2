"""How real notebooks are read, and held against plain runs."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest

from tests.bench.notebooks import variable_digests
from tests.bench.notebooks.documents import difference, shown
from tests.bench.notebooks.sources import edited, files_of, notebook_of
from tests.bench.notebooks.styles import STYLES, write_styles

GALLERY = '''"""
Title
=====
"""

# %%
# Some text.
import math

k = 3

# %%
print(k)

# %%
# Only text.
'''


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "plot_it.py"
    path.write_text(GALLERY)
    return path


def test_a_gallery_script_is_a_notebook_of_its_blocks(script: Path) -> None:
    notebook = notebook_of(script)

    assert [cell.source.splitlines()[-1] for cell in notebook.cells] == ["k = 3", "print(k)"]


def test_a_script_without_blocks_is_cut_between_statements(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text("\n".join(f"v{n} = {n}" for n in range(12)))

    assert len(notebook_of(path).cells) == 3


def test_a_script_that_is_not_python_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("def")

    with pytest.raises(ValueError, match="not Python"):
        notebook_of(path)


def test_an_edit_changes_one_constant_of_one_cell(script: Path) -> None:
    notebook = notebook_of(script)

    other = edited(notebook, 0)

    assert other is not None
    assert "k = 4" in other.cells[0].source
    assert "k = 3" in notebook.cells[0].source
    assert edited(notebook, 1) is None


def test_each_style_is_a_notebook(tmp_path: Path) -> None:
    write_styles(tmp_path)

    found = [notebook_of(path) for path in files_of([tmp_path])]

    assert len(found) == len(STYLES) >= 30
    assert all(len(notebook.cells) > 4 for notebook in found)


def test_what_two_plain_runs_do_not_agree_on_is_not_compared() -> None:
    assert difference(("a", "z"), ("a", "1"), ("a", "2")) == ""
    assert "instead of" in difference(("b", "1"), ("a", "1"), ("a", "2"))
    assert "without 'b'" in difference(("a",), ("a", "b"), ("a", "b"))


def test_notices_of_nbckpt_are_not_outputs_of_the_notebook() -> None:
    notice = nbformat.v4.new_output(
        "display_data", {"text/plain": "restored"}, metadata={"nbckpt": {"restored": "a"}}
    )
    text = nbformat.v4.new_output("stream", name="stdout", text="1%\r2%\rdone\n")

    assert shown(nbformat.v4.new_code_cell(outputs=[notice, text])) == ("stdout done",)


class _Point:
    def __init__(self, x: object) -> None:
        self.x = x


def _digests(monkeypatch: pytest.MonkeyPatch, **values: object) -> dict[str, str]:
    module = type(sys)("__main__")
    vars(module).update(values)
    monkeypatch.setitem(sys.modules, "__main__", module)
    return variable_digests.answer()


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (1, 1, 1.0),
        ([1, [2]], [1, [2]], [1, [3]]),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.arange(3), np.arange(3), np.arange(3.0)),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]})),
        (_Point([1]), _Point([1]), _Point([2])),
        (np.random.default_rng(1), np.random.default_rng(1), np.random.default_rng(2)),
    ],
)
def test_equal_values_have_equal_digests_and_others_do_not(
    one: Any, same: Any, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _digests(monkeypatch, one=one, same=same, other=other)

    assert found["one"] == found["same"] != found["other"]
    assert not found["one"].startswith("?")


def test_what_cannot_be_compared_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _digests(monkeypatch, f=threading.Lock(), g=(i for i in [1]))

    assert all(text.startswith("?") for text in found.values())
