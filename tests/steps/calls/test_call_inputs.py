"""Files that a kept call, or an item of a map, has read: another file has it run again."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.jupyter.test_cells import run
from tests.notebooks import restart
from tests.steps.calls.conftest import Notebook

RUNS_AGAIN = pytest.mark.filterwarnings("ignore:step ")
HELPERS = """
def text(path):
    with open(path) as file: return file.read()
def wrote(path, mode):
    with open(path, mode) as file: file.write("x")
"""
CALLS = {
    "open": "def read(path):\n    ran(path)\n    return text(path)",
    "Path": "def read(path):\n    ran(path)\n    import pathlib\n    return pathlib.Path(path).read_text()",
    "helper": "def inner(path): return text(path)\n@nbckpt.step\ndef read(path):\n    ran(path)\n    return inner(path)",
    "inner step": "@nbckpt.step\ndef inner(path): return text(path)\n@nbckpt.step\ndef read(path):\n    ran(path)\n    return inner(path)",
    "generator": "def texts(path):\n    ran(path)\n    yield text(path)\ndef read(path): return ''.join(texts(path))",
    "async": "async def asked(path):\n    ran(path)\n    await asyncio.sleep(0)\n    return text(path)\ndef read(path): return asyncio.run(asked(path))",
    "thread": "def read(path):\n    from concurrent.futures import ThreadPoolExecutor\n    ran(path)\n    with ThreadPoolExecutor() as pool: return pool.submit(lambda: text(path)).result()",
    "process": "def read(path):\n    import subprocess\n    ran(path)\n    return subprocess.run(['cat', path], capture_output=True, text=True).stdout",
    "exists": "def read(path):\n    import os\n    ran(path)\n    return text(path) if os.path.exists(path) else ''",
    "r+": "def read(path):\n    ran(path)\n    with open(path, 'r+') as file: return file.read()",
    "x": "def read(path):\n    ran(path)\n    try: wrote(path, 'x')\n    except FileExistsError: pass\n    return text(path)",
    "copied by name": "def read(path):\n    import os, shutil\n    ran(path)\n    shutil.copy(path, 'other')\n    os.replace('other', 'work')\n    return text('work')",
    "symlink": "def read(path):\n    import os\n    ran(path)\n    os.symlink(path, 'l'); found = text('l'); os.remove('l')\n    return found",
    "link": "def read(path):\n    import os\n    ran(path)\n    os.link(path, 'l'); found = text('l'); os.remove('l')\n    return found",
    "sqlite": "def read(path):\n    import sqlite3\n    ran(path)\n    sqlite3.connect(path).close()\n    return text(path)",
}


@pytest.fixture
def here(notebook: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    """A notebook in whose folder files count."""
    monkeypatch.chdir(tmp_path)
    notebook.log = Path("/dev/shm") / f"nbckpt-{os.getpid()}.log"  # no input of a cell
    notebook.restart()
    return notebook


def write(path: str, text: str) -> None:
    """A file that was there before."""
    Path(path).write_text(text)
    os.utime(path, (1e9, 1e9))


@RUNS_AGAIN
@pytest.mark.parametrize("how", CALLS)
def test_a_call_runs_again_where_a_file_that_it_read_is_another(here: Notebook, how: str) -> None:
    code = (
        CALLS[how] if CALLS[how].startswith(("@", "def inner")) else f"@nbckpt.step\n{CALLS[how]}"
    )
    write("f.txt", "one")
    here.cell(HELPERS + code)
    here.cell("first = read('f.txt')")
    here.restart()
    here.cell(HELPERS + code)
    here.cell("same = read('f.txt')")
    assert here.ran == ["f.txt"]

    write("f.txt", "two, longer")
    here.restart()
    here.cell(HELPERS + code)
    here.cell("third = read('f.txt')")

    assert here.value("third") == "two, longer"
    assert here.ran == ["f.txt"]


def test_it_says_which_file(here: Notebook) -> None:
    write("f.txt", "one")
    code = f"{HELPERS}@nbckpt.step\ndef read():\n    return text('f.txt')\nread()"
    here.cell(code)
    write("f.txt", "two")
    here.restart()

    with pytest.warns(RuntimeWarning, match="'read' runs again: file 'f.txt' changed"):
        here.cell(code)


@RUNS_AGAIN
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_of_a_maps_items_those_run_again_whose_files_are_others(
    here: Notebook, workers: int, kind: str
) -> None:
    code = (
        f"{kind} read(path):\n    ran(path)\n    time.sleep(0.05)\n    return text(path)\n"
        "async def awaited(made): return await made\n"
        "with nbckpt.checkpoint('read') as step:\n    if step.todo:\n"
        f"        texts = step.map(read, ['a', 'b', 'c'], workers={workers})\n"
        "        if asyncio.iscoroutine(texts): texts = asyncio.run(awaited(texts))"
    )
    for name in "abc":
        write(name, name)
    here.cell(HELPERS + code)
    assert sorted(here.ran) == ["a", "b", "c"]
    write("b", "another")
    here.restart()

    here.cell(HELPERS + code)

    assert here.ran == ["b"]
    assert here.value("texts") == ["a", "another", "c"]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_a_cell_is_not_restored_where_a_file_is_another_that_its_calls_read(
    shell: Any, workers: int
) -> None:
    write("a", "one")
    step = f"import nbckpt{HELPERS}@nbckpt.step\ndef read(path): return text(path)"
    cell = f"%%checkpoint read\ntexts = nbckpt.map(read, ['a'], workers={workers})"
    run(shell, step)
    run(shell, cell)
    run(shell, f"{cell}\nmore = 1")  # its call is answered from the store: nothing is opened
    write("a", "two, longer")
    restart(shell)
    run(shell, step)

    run(shell, f"{cell}\nmore = 1")

    assert shell.user_ns["texts"] == ["two, longer"]


def test_what_a_call_writes_is_no_input_of_it(here: Notebook) -> None:
    code = (
        "@nbckpt.step\ndef write(n):\n    ran(n)\n    wrote('made', 'w')\n"
        "    wrote('log.txt', 'a')\n    return text('made')"
    )
    here.cell(f"{HELPERS}{code}\nwrite(1); write(2)")
    Path("made").unlink()
    Path("log.txt").write_text("another")
    here.restart()

    here.cell(f"{HELPERS}{code}\nwrite(1); write(2)")

    assert here.ran == ["1", "2"]


MOVED = {
    "replaced": "os.replace('in.txt', 'work.txt'); return text('work.txt')",
    "renamed": "os.rename('in.txt', 'work.txt'); return text('work.txt')",
    "moved": "import shutil; shutil.move('in.txt', 'work.txt'); return text('work.txt')",
    "cut": "os.truncate('in.txt', 3); return text('in.txt')",
}


@RUNS_AGAIN
@pytest.mark.parametrize("how", MOVED.values(), ids=MOVED)
def test_a_call_that_takes_a_file_runs_for_the_next_one(here: Notebook, how: str) -> None:
    code = f"@nbckpt.step\ndef take():\n    import os\n    {how}"
    write("in.txt", "one")
    here.cell(f"{HELPERS}{code}\nfirst = take()")
    write("in.txt", "two")
    here.restart()

    here.cell(f"{HELPERS}{code}\nnext_one = take()")

    assert here.value("next_one") == "two"


OVER = {
    "written over": "wrote('in.txt', 'w')",
    "replaced": "wrote('b.tmp', 'w'); os.replace('b.tmp', 'in.txt')",
    "moved away": "os.rename('in.txt', 'in.bak'); wrote('in.txt', 'w')",
}


@RUNS_AGAIN
@pytest.mark.parametrize("how", OVER.values(), ids=OVER)
def test_a_call_that_changes_what_it_has_read_runs_again(here: Notebook, how: str) -> None:
    code = f"@nbckpt.step\ndef go_on():\n    import os\n    found = text('in.txt')\n    {how}\n"
    code += "    return found"
    write("in.txt", "one")
    here.cell(f"{HELPERS}{code}\nfirst = go_on()")
    here.restart()

    here.cell(f"{HELPERS}{code}\nsecond = go_on()")

    assert here.value("second") == "x"


WRITTEN = {
    "parquet": "import pyarrow as pa, pyarrow.parquet as pq\n"
    "    pq.write_table(pa.table({'a': [1]}), path)",
    "duckdb": "import duckdb\n    duckdb.sql('select 1 as a').write_parquet(path)",
    "numpy": "import numpy as np\n    np.arange(3).tofile(path)",
    "cache": "try: text('c.txt')\n    except FileNotFoundError: wrote('c.txt', 'w')",
    "x": "import os\n    wrote(path, 'x'); os.remove(path)",
}


@pytest.mark.parametrize("how", WRITTEN.values(), ids=WRITTEN)
def test_a_call_is_kept_that_writes_files_by_itself(here: Notebook, how: str) -> None:
    code = f"@nbckpt.step\ndef make(path='out.bin'):\n    ran(path)\n    {how}\n    return 1"
    here.cell(f"{HELPERS}{code}\nmake()")
    here.restart()

    here.cell(f"{HELPERS}{code}\nmake()")

    assert here.ran == ["out.bin"]


@RUNS_AGAIN
def test_a_call_runs_again_where_a_file_is_there_that_was_not(here: Notebook) -> None:
    code = (
        "@nbckpt.step\ndef read():\n    try: return text('settings.txt')\n"
        "    except FileNotFoundError: return 'none'"
    )
    here.cell(f"{HELPERS}{code}\nfirst = read()")
    write("settings.txt", "some")
    here.restart()

    here.cell(f"{HELPERS}{code}\nsecond = read()")

    assert (here.value("second"),) == ("some",)


@RUNS_AGAIN
@pytest.mark.parametrize("name", ["'file:d.db?mode=ro', uri=True", "'d.db'"])
def test_a_call_runs_again_where_a_database_is_another(here: Notebook, name: str) -> None:
    def insert(n: int) -> sqlite3.Connection:
        connection = sqlite3.connect("d.db")
        connection.execute("pragma journal_mode=wal")
        connection.execute("create table if not exists t(n)")
        connection.execute(f"insert into t values ({n})")
        connection.commit()
        return connection

    code = (
        "@nbckpt.step\ndef read():\n    import sqlite3\n"
        f"    connection = sqlite3.connect({name})\n"
        "    try: return connection.execute('select sum(n) from t').fetchall()\n"
        "    finally: connection.close()"
    )
    first = insert(1)
    here.cell(f"{HELPERS}{code}\nfirst = read()")
    insert(2).close()
    here.restart()

    here.cell(f"{HELPERS}{code}\nsecond = read()")
    first.close()

    assert here.value("second") == [(3,)]


@pytest.mark.slow
def test_of_a_call_whose_file_another_process_changed_meanwhile_nothing_is_kept(
    here: Notebook,
) -> None:
    write("f.txt", "one")
    code = "@nbckpt.step\ndef read():\n    found = text('f.txt')\n    time.sleep(0.8)\n    return found"
    with (
        subprocess.Popen(["sh", "-c", "sleep 0.3; echo two > f.txt"]),
        pytest.warns(RuntimeWarning, match="NOT kept: file 'f.txt', which it reads, was changed"),
    ):
        here.cell(f"{HELPERS}{code}\nread()")


def test_a_file_that_is_named_and_read_by_a_library_counts(here: Notebook) -> None:
    csv = pytest.importorskip("pyarrow.csv")
    assert csv
    code = "@nbckpt.step\ndef read(path):\n    import pyarrow.csv as c\n    return c.read_csv(path).to_pydict()"
    write("t.csv", "a\n1\n")
    here.cell(f"{HELPERS}{code}\nread('t.csv')")
    write("t.csv", "a\n22\n")
    here.restart()

    with pytest.warns(RuntimeWarning, match=r"file 't.csv' changed"):
        here.cell(f"{HELPERS}{code}\nvalue = read('t.csv')")

    assert here.value("value") == {"a": [22]}
