"""A loop that was cut short goes on only where what its finished items read is as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

LOOP = """%%checkpoint loop
read = []
for name in nbckpt.track(names):
    if name == 'c.txt' and not os.path.exists('go'): raise InterruptedError
    read.append(Path(name).read_text())
    {more}"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # before nbckpt is loaded there
    for name in "abc":
        Path(f"{name}.txt").write_text(name)
    return tmp_path


@pytest.fixture
def notebook(folder: Path, shell: Any) -> Any:
    shell.run_cell(
        "import nbckpt, os; from pathlib import Path; names = [f'{n}.txt' for n in 'abc']"
    )
    return shell


def play(shell: Any, more: str = "pass") -> list[str]:
    """Run the loop; what it read."""
    done = shell.run_cell(LOOP.format(more=more))
    if not isinstance(done.error_in_exec, InterruptedError):
        done.raise_error()
    read: list[str] = shell.user_ns["read"]
    return read


def test_a_file_that_changed_has_the_loop_begin_anew(notebook: Any) -> None:
    assert play(notebook) == ["a", "b"]
    Path("a.txt").write_text("A")
    Path("go").touch()

    assert play(notebook) == ["A", "b", "c"]


def test_a_file_that_changed_when_the_loop_had_ended_has_it_begin_anew(notebook: Any) -> None:
    play(notebook)
    Path("go").touch()
    assert play(notebook) == ["a", "b", "c"]
    Path("a.txt").write_text("A")

    assert play(notebook) == ["A", "b", "c"]


@pytest.mark.parametrize("between", ["written", "new", "gone"])
def test_what_the_loop_writes_and_what_comes_or_goes_does_not(notebook: Any, between: str) -> None:
    more = "with open('log', 'a') as log: print(name, file=log)"
    play(notebook, more)
    if between == "written":
        Path("log").write_text("a.txt\nb.txt\n\n")
    elif between == "new":
        Path("new.txt").touch()
    else:
        Path("a.txt").unlink()
    Path("go").touch()

    assert play(notebook, more) == ["a", "b", "c"]
    assert Path("log").read_text().split().count("a.txt") == 1


def test_a_loop_that_ended_is_not_gone_on_with(
    notebook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_K", "1")
    more = "read.append(os.environ['STATE_K'])"
    play(notebook, more)
    Path("go").touch()
    assert play(notebook, more) == ["a", "1", "b", "1", "c", "1"]
    notebook.run_cell("os.environ['STATE_K'] = '2'")

    assert play(notebook, more) == ["a", "2", "b", "2", "c", "2"]


@pytest.mark.parametrize(
    "writes",
    [
        "import pandas as pd; pd.DataFrame({'n': [name]}).to_parquet('out.parquet')",
        "import sqlite3; db = sqlite3.connect('cache.db'); _ = db.execute('create table if not"
        " exists t (n)'); _ = db.execute('insert into t values (?)', [name]); db.commit();"
        " db.close()",
        "import shelve; cache = shelve.open('cache'); cache[name] = 1; cache.close()",
        "import subprocess; _ = subprocess.run(['sh', '-c', 'echo x >> made'])",
    ],
)
def test_what_it_writes_unseen_does_not_have_the_loop_begin_anew(
    notebook: Any, writes: str
) -> None:
    more = f"print(name, file=(log := open('log', 'a'))); log.close(); {writes}"
    play(notebook, more)
    notebook.run_cell(f"name = 'more'; {writes}")  # an item that was killed when it had written
    Path("go").touch()

    assert play(notebook, more) == ["a", "b", "c"]
    assert Path("log").read_text().split().count("a.txt") == 1
