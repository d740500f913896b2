"""What the cell that loads nbckpt makes is kept as what any later cell makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels import Kernel

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
