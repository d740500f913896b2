from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbckpt.capture.observation import library_versions
from nbckpt.capture.observation.file_states import is_in, state_of
from nbckpt.capture.observation.places import Places
from tests.capture.observation.notebooks import run
from tests.running import environment

# The notebooks of these tests open files as users do, and close none.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored:pytest.PytestUnraisableExceptionWarning"
)

SETUP = """
import glob, json, subprocess, sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import duckdb, numpy as np, pandas as pd, polars as pl, pyarrow.csv
import helper
FOLDER = Path('sub')
NAME = 'in_variable.csv'
def text_of(stem): return open(stem + '.csv').read()
def total(): return duckdb.sql(f"select sum(a) from '{NAME}'").fetchall()
"""

READERS = {
    "pandas.csv": "y = pd.read_csv('pandas.csv').a.tolist()",
    "built.csv": "y = text_of('bui' + 'lt')",
    "in_thread.csv": "with ThreadPoolExecutor(2) as pool:\n"
    "    y = list(pool.map(text_of, ['in_' + 'thread']))",
    "polars.csv": "y = pl.read_csv('polars.csv')['a'].to_list()",
    "sub/joined.csv": "y = pl.read_csv(FOLDER / 'joined.csv')['a'].to_list()",
    "sub/f2.csv": "y = [pl.read_csv(f'{FOLDER}/f{n}.csv')['a'].to_list() for n in (2,)]",
    "duck.csv": "y = duckdb.sql(\"select sum(a) from 'duck.csv'\").fetchall()",
    "in_variable.csv": "y = total()",
    "arrow.csv": "y = pyarrow.csv.read_csv('arrow.csv').to_pydict()",
    "mapped.csv": "y = np.fromfile('mapped.csv', dtype='u1').tolist()",
    "child.csv": "out = !cat child.csv\ny = list(out)",
    "bash.csv": "%%bash --out y\ncat bash.csv",
    "s": "y = Path('s').stat().st_size",
    "sized.csv": "y = Path('sized.csv').stat().st_size",
    "module.csv": "y = helper.load()",
}


def _make(folder: Path, text: str) -> None:
    (folder / "sub").mkdir(parents=True, exist_ok=True)
    for name in READERS:
        (folder / name).write_text(text)
    (folder / "helper.py").write_text("def load(): return open('module.csv').read()\n")


@pytest.mark.slow
def test_after_a_restart_the_cells_run_whose_files_changed(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    _make(folder, "a\n1\n")
    lazy = ["lf = pl.scan_csv('lazy.csv')", "y = lf.collect()['a'].to_list()"]
    (folder / "lazy.csv").write_text("a\n1\n")
    cells = [SETUP, *READERS.values(), *lazy]

    first = run(folder, cells)
    moved = folder.rename(tmp_path / "moved")
    Path(f"{folder}-store").rename(f"{moved}-store")
    again = run(moved, cells)
    _make(moved, "a\n12\n")
    (moved / "lazy.csv").write_text("a\n12\n")
    edited = run(moved, cells)
    plain = run(tmp_path / "moved", [f"{cell}\nedited = 1" for cell in cells])

    assert not any(ran.restored for ran in first)
    assert [ran.why for ran in again if not ran.restored] == []
    assert [ran.value for ran in again] == [ran.value for ran in first]
    for (name, _), ran in zip(READERS.items(), edited[1:], strict=False):
        assert ran.why == f"file '{name}' changed", name
    assert [ran.restored for ran in edited[-2:]] == [False, False]
    assert [r.value for r in edited if "bash" not in r.why] == [
        p.value for r, p in zip(edited, plain, strict=True) if "bash" not in r.why
    ]


LOOKS = {
    "absent.txt": "try:\n    y = open('absent.txt').read()\nexcept FileNotFoundError:\n    y = 0",
    "flag.txt": "import os\ny = os.path.exists('flag.txt')",
    "flag": "import os\ny = os.path.exists('flag')",
    "by_bytes": "import os\ny = [os.path.exists(p) for p in [b'by_bytes']]",
    "seen/listed.txt": "import os\ny = sorted(os.listdir('seen'))",
    "globbed/new.txt": "import glob\ny = sorted(glob.glob('globbed/*.txt'))",
    "pathed/new.txt": "from pathlib import Path\ny = sorted(p.name for p in Path('pathed').glob('*'))",
    "queried/new.csv": "import duckdb\n"
    "y = duckdb.sql(\"select count(*) from 'queried/*.csv'\").fetchall()",
}


@pytest.mark.slow
def test_a_file_that_appears_makes_those_run_that_looked_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    for name in LOOKS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / "queried/old.csv").write_text("a\n1\n")

    first = run(folder, list(LOOKS.values()))
    again = run(folder, list(LOOKS.values()))
    for name in LOOKS:
        (folder / name).write_text("a\n1\n")
    after = run(folder, list(LOOKS.values()))

    assert [ran.restored for ran in again] == [True] * len(LOOKS)
    assert [ran.restored for ran in after] == [False] * len(LOOKS)
    assert all(a.value != b.value for a, b in zip(first, after, strict=True))
    assert after[0].why == "file 'absent.txt' is there now"


ASKS_OF_COLUMN = """
from nbckpt.capture.observation.named_files import Named
from nbckpt.capture.observation.named_paths import NamedPaths
import ast, os, pandas as pd
column = pd.Series(["first", "second"])
def ask(path): return os.path.isfile(path)
named = Named(ast.parse("y = [ask(p) for p in column]"), {"ask", "column"}, globals())
print(*sorted({"first", "second"} & set(NamedPaths(named).found())))
"""


def test_names_in_a_column_are_asked_for_whatever_is_met_first(tmp_path: Path) -> None:
    for seed in range(4):  # by it names stand in a set in one order or the other
        told = subprocess.run(
            [sys.executable, "-c", ASKS_OF_COLUMN],
            env={**environment(), "PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert told.stdout == "first second\n"


NAMES_IN_LIST = """
from nbckpt.capture.observation.named_files import Named
from nbckpt.capture.observation.named_paths import NamedPaths
import ast, os, pathlib
texts = [f"row {n}" for n in range(400)]
for name in ["data.csv", "no suffix", "..hidden", "Gr\u00f6\u00dfe.TXT"]:
    pathlib.Path(name).write_text("1")
os.makedirs("below/data")
pathlib.Path("below/data/x.csv").write_text("1")
texts[100:100] = ["data.csv", "no suffix", "..hidden", "Gr\u00f6\u00dfe.TXT", "below/data/x.csv", "..", "gone.csv"]
for n_others in (0, 2000):
    for n in range(n_others):
        pathlib.Path(f"other {n}").touch()
    named = Named(ast.parse("y = read(texts)"), {"texts"}, globals())
    print(*sorted(NamedPaths(named).found()), sep=", ")
"""


def test_files_are_found_by_their_names_among_many_texts(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", NAMES_IN_LIST], cwd=tmp_path,
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = "..hidden, Gr\u00f6\u00dfe.TXT, below/data/x.csv, data.csv, no suffix\n"
    assert told.stdout == 2 * names


MODULES = [
    "import importlib\ndef load(name): return importlib.import_module(name)",
    "y = load('plug' + 'in').value()",
    "%run script.py\ny = found",
]


@pytest.mark.slow
def test_modules_that_are_imported_by_a_text_count(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "plugin.py").write_text("def value(): return 1\n")
    (folder / "script.py").write_text("import part\nfound = part.k\n")
    (folder / "part.py").write_text("k = 1\n")

    run(folder, MODULES)
    again = run(folder, MODULES)
    (folder / "plugin.py").write_text("def value(): return 222\n")
    (folder / "part.py").write_text("k = 222\n")
    after = run(folder, MODULES)

    assert [ran.restored for ran in again] == [True] * 3
    assert [ran.value for ran in after] == ["None", "222", "222"]
    assert after[1].why == "file 'plugin.py' changed"
    assert after[2].why.endswith("file 'part.py' changed")


# -- live -------------------------------------------------------------------------------------


@pytest.fixture
def cell(shell: Any) -> Callable[[str], str]:
    """Run a cell under its own name; why it ran, or that it was restored."""
    names: dict[str, str] = {}
    shell.run_cell("%nbckpt auto skip", store_history=True)

    def cell(source: str, name: str = "") -> str:
        label = names.setdefault(name or source, f"cell-{len(names)}")
        done = shell.run_cell(source, store_history=True, cell_id=label)
        assert done.success, done
        step = shell._nbckpt_extension.cells.steps.latest
        return "restored" if step.restored else "; ".join(step.why)

    return cell


WRITERS = [
    ("open('o.txt', 'w').write('{}')", 1),
    ("import pandas as pd; pd.DataFrame({{'a': [{}]}}).to_csv('o.txt')", 1),
    ("import polars as pl; pl.DataFrame({{'a': [{}]}}).write_csv('o.txt')", 1),
    ("%%writefile o.txt\n{}", 1),
    ("!echo {} > o.txt", 1),
    ("%%bash\necho {} > o.txt", 1),
    ("import subprocess; subprocess.run('echo {} > o' + '.txt', shell=True)", 1),
]


@pytest.mark.parametrize("writer", [w for w, _ in WRITERS])
def test_what_reads_a_file_runs_when_its_writer_was_edited(
    shell: Any, cell: Callable[..., str], writer: str
) -> None:
    reader = "y = open('o.txt').read()"
    cell(writer.format(1), "writer")
    cell(reader)

    assert cell(writer.format(1), "writer") == "restored"
    assert cell(reader) == "restored"
    cell(writer.format(2), "writer")
    assert cell(reader) == "file 'o.txt' changed"
    assert "2" in shell.user_ns["y"]


def test_a_cell_runs_when_what_it_wrote_is_gone_or_other(cell: Callable[..., str]) -> None:
    source = "Path('out.csv').write_text('1') and None"
    cell("from pathlib import Path")
    cell(source)

    assert cell(source) == "restored"
    Path("out.csv").write_text("2")
    assert cell(source) == "file 'out.csv', which it wrote, changed"
    Path("out.csv").unlink()
    assert cell(source) == "file 'out.csv', which it wrote, is gone"
    assert Path("out.csv").read_text() == "1"


def test_a_cell_that_appends_is_not_restored_where_the_file_is_as_before(
    cell: Callable[..., str],
) -> None:
    start, append = "open('l.txt', 'w').write('a')", "open('l.txt', 'a').write('b')"
    cell(start)
    cell(append)

    assert cell(append) == "restored"
    assert cell(start) != "restored"
    assert cell(append) == "file 'l.txt', which it wrote, changed"
    assert Path("l.txt").read_text() == "ab"


def test_a_cell_that_reads_a_file_and_then_changes_it_runs(
    cell: Callable[..., str], shell: Any
) -> None:
    count = "n = int(Path('n').read_text()) + 1; Path('n').write_text(str(n)) and None"
    cell("from pathlib import Path")
    cell("Path('n').write_text('1') and None")
    cell(count)

    assert cell(count) == "it reads file 'n' and then changes it"
    assert shell.user_ns["n"] == 3
    back = "Path('m').write_text('5'); m = Path('m').read_text()"
    cell(back)
    assert cell(back) == "restored"


def test_a_database_file_counts(cell: Callable[..., str]) -> None:
    make = "import sqlite3\nc = sqlite3.connect('q.db'); c.execute('create table t(x)'); c.close()"
    read = "d = sqlite3.connect('q.db'); y = d.execute('select * from t').fetchall(); d.close()"
    cell(make)
    cell(read)

    assert cell(read) == "restored"
    with sqlite3.connect("q.db") as connection:
        connection.execute("insert into t values (1)")
    connection.close()
    assert cell(read).startswith("file 'q.db'")


def test_a_newer_time_alone_is_no_other_file(cell: Callable[..., str]) -> None:
    Path("d.txt").write_text("one")
    cell("y = open('d.txt').read()")

    os.utime("d.txt", (1, 1))

    assert cell("y = open('d.txt').read()") == "restored"


def test_other_bytes_with_the_size_and_time_of_before_count(cell: Callable[..., str]) -> None:
    Path("d.txt").write_text("one")
    os.utime("d.txt", (1, 1))
    cell("y = open('d.txt').read()")

    Path("d.txt").write_text("two")
    os.utime("d.txt", (1, 1))

    assert cell("y = open('d.txt').read()") == "file 'd.txt' changed"


def test_a_relative_path_counts_with_the_working_folder(
    shell: Any, cell: Callable[..., str]
) -> None:
    for name in ("one", "two"):
        Path(name).mkdir()
        Path(name, "f").write_text(name)
    cell("import os\nos.chdir('one')", "go")
    cell("y = open('f').read()")
    os.chdir("../two")

    assert cell("y = open('f').read()") != "restored"
    assert shell.user_ns["y"] == "two"
    os.chdir("..")


def test_another_version_of_a_library_makes_its_users_run(
    cell: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cell("import pandas as pd")
    cell("y = pd.Series([1]).sum()")
    cell("z = 1 + 1")
    known = library_versions._version_of
    monkeypatch.setattr(
        library_versions, "_version_of", lambda name: "99" if name == "pandas" else known(name)
    )

    why = cell("y = pd.Series([1]).sum()")

    assert why == f"pandas {known('pandas')} -> 99"
    assert cell("z = 1 + 1") == "restored"


def test_a_restored_block_hands_its_files_to_the_cell_around_it(cell: Callable[..., str]) -> None:
    Path("d.txt").write_text("one")
    inner = "with nbckpt.checkpoint('block'):\n    x = open('d.txt').read()"
    cell("import nbckpt")
    cell(inner, "first")
    outer = f"{inner}\ny = 1"
    cell(outer, "outer")

    assert cell(outer, "outer") == "restored"
    Path("d.txt").write_text("other")
    assert cell(outer, "outer") == "file 'd.txt' changed"


@pytest.mark.slow
def test_temporary_files_caches_and_libraries_do_not_count(
    shell: Any, cell: Callable[..., str]
) -> None:
    cell(
        "import tempfile, json.tool, pathlib, xml.dom.minidom\n"
        "with tempfile.NamedTemporaryFile() as file:\n    _ = file.write(b'1')\n"
        "_ = pathlib.Path(json.__file__).read_text()"
    )

    session = shell._nbckpt_extension.session
    kept = session.timeline.checkpoints[session.position.id].observed

    assert "files" not in kept.get("files", {})


# -- parts ------------------------------------------------------------------------------------


def test_a_place_inside_of_the_root_counts_though_the_root_is_temporary(tmp_path: Path) -> None:
    places = Places(str(tmp_path), (str(tmp_path / ".nbckpt"),))

    assert places.counts(str(tmp_path / "data" / "d.csv"))
    assert not places.counts(str(tmp_path / ".nbckpt" / "packs" / "p"))
    assert not places.counts(str(tmp_path / "lib" / "site-packages" / "m.py"))
    assert not places.counts(str(tmp_path.parent / "else.csv"))
    assert places.short(str(tmp_path / "d.csv")) == "d.csv"
    assert places.full("d.csv") == str(tmp_path / "d.csv")


def test_a_state_is_none_of_what_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "f"

    assert state_of(str(path)) is None
    assert is_in(str(path), None)
    path.write_text("x")
    state = state_of(str(path))
    assert is_in(str(path), state)
    assert not is_in(str(path), None)
    path.unlink()
    assert not is_in(str(path), state)
