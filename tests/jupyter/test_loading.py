"""What the cell that loads nbckpt makes is kept as what any later cell makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import StoreError
from tests.kernels import Kernel
from tests.notebooks import run

FIRST = """import sqlite3, threading
early = threading.Lock()
%load_ext nbckpt
class Own: pass
conn = sqlite3.connect('one.db')
for _ in range(1):
    other = sqlite3.connect('two.db')
"""


@pytest.mark.slow
def test_what_one_statement_of_the_loading_cell_made_is_made_again(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run(FIRST)
        [notice] = kernel.run("%checkpoint a").notices
        file = kernel.value("conn.execute('pragma database_list').fetchone()[2]")
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\n%resume")
        again = kernel.value("conn.execute('pragma database_list').fetchone()[2]")

    assert "conn:" not in notice
    assert "not kept: other: " in notice  # a loop made it
    assert again == file


@pytest.mark.slow
def test_what_the_loading_cell_made_before_it_resumed_has_no_recipe(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("import sqlite3\nconn = sqlite3.connect('one.db')")
        kernel.run("%checkpoint a")
    with Kernel(tmp_path) as kernel:
        kernel.run(
            "import sqlite3\nconn = sqlite3.connect('two.db')\n%load_ext nbckpt\n%resume\n"
            "later = sqlite3.connect('three.db')"
        )
        [notice] = kernel.run("%checkpoint b").notices
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\n%resume")
        file = kernel.value("conn.execute('pragma database_list').fetchone()[2]")
        later = kernel.value("later.execute('pragma database_list').fetchone()[2]")

    assert "conn:" not in notice
    assert file.endswith("one.db'")
    assert later.endswith("three.db'")


def test_what_a_cell_changes_after_it_loads_and_keeps_is_kept_next(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\nx = [1]\n%checkpoint a\nx.append(2)")
        kernel.run("%checkpoint b")
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\n%resume")
        assert kernel.value("x") == "[1, 2]"


CANNOT = "this cell runs, and nothing of it is kept"


def test_where_the_store_cannot_be_had_marked_cells_run_and_say_so(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%unload_ext nbckpt").raise_error()
    monkeypatch.setenv("NBCKPT_STORE", str(store := tmp_path / "file"))
    store.write_text("")

    load = shell.run_cell("%load_ext nbckpt")
    for text in ("%%checkpoint a\nx = 1", "\n%%checkpoint b --tag t\nx += 1", "x += 1"):
        shell.run_cell(text).raise_error()
    told = capsys.readouterr()
    failed = [shell.run_cell(text) for text in ("%nbckpt log", "%rewind a", "%resume")]
    for text in ("# %%checkpoint a\nw = 1", "%%time\n%%checkpoint a\nw += 1"):
        shell.run_cell(text).raise_error()
    told_otherwise = capsys.readouterr()
    late = shell.run_cell("%%checkpoint c\n1 / 0")
    shell.run_cell("%%checkpoint d\nimport asyncio\nawait asyncio.sleep(0)\ny = 5").raise_error()

    assert isinstance(load.error_in_exec, StoreError)
    assert (shell.user_ns["x"], shell.user_ns["y"]) == (3, 5)
    assert (told.out + told.err).count(CANNOT) == 2
    assert shell.user_ns["w"] == 2
    assert (told_otherwise.out + told_otherwise.err).count(CANNOT) == 2
    for result in failed:
        assert str(result.error_in_exec).startswith("nbckpt is not loaded: ")
        assert str(store) in str(result.error_in_exec)
    assert isinstance(late.error_in_exec, ZeroDivisionError)

    store.unlink()
    shell.run_cell("%load_ext nbckpt").raise_error()
    capsys.readouterr()
    run(shell, "%%checkpoint e\nz = 1")
    run(shell, "%nbckpt log")
    told = capsys.readouterr()
    assert CANNOT not in told.out + told.err
    assert " e " in told.out
    shell.run_cell("%unload_ext nbckpt").raise_error()
    assert shell.input_transformers_cleanup == [
        t for t in shell.input_transformers_cleanup if "nbckpt" not in type(t).__module__
    ]


def test_magics_of_others_stay_where_the_store_cannot_be_had(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run_cell("%unload_ext nbckpt").raise_error()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NBCKPT_STORE", str(tmp_path / "file"))
    shell.register_magic_function(lambda line: f"own {line}", "line", "rerun")

    shell.run_cell("%load_ext nbckpt")
    shell.run_cell("%%checkpoint a\n%%capture\nx = 1").raise_error()

    assert shell.run_line_magic("rerun", "it") == "own it"
    assert shell.user_ns["x"] == 1
    del shell.magics_manager.magics["line"]["rerun"]
    monkeypatch.setenv("NBCKPT_STORE", str(tmp_path / ".nbckpt"))
    shell.run_cell("%load_ext nbckpt").raise_error()
