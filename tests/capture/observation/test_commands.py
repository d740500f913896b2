"""What commands, and questions for sizes and times, take from files that no Python code opens."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from nbckpt.capture.observation import folder_looks
from nbckpt.capture.observation.commands import Asked
from nbckpt.capture.observation.folder_looks import TOO_MANY, look_at
from tests.capture.observation.kernels import run
from tests.kernels import Kernel

START = (
    "import glob, os, subprocess\nfrom pathlib import Path\nNAME = 'a.txt'\nPATH = Path('d') / NAME"
)
FRAMES = """
import numpy as np
import pandas as pd
frame = pd.DataFrame({'file': ['d/' + 'a.txt'], 'n': [1]})
array = np.array(['d/' + 'a.txt'])
"""
FUNCTIONS = """
def size_of(path): return os.stat(path).st_size
def all_sizes(folder):
    def one(path): return path.stat().st_size
    return [one(path) for path in Path(folder).glob('*')]
"""

READ_CONTENT = [
    "!cat d/a.txt",
    "!cd d && cat a.txt",
    "!cat d/$NAME",
    "!cat d/{NAME}",
    '!head -2 "d/a.txt" | sort',
    "!for f in d/*; do cat $f; done",
    "!cat < d/a.txt",
    "!wc -c $(ls d/a.txt)",
    '!echo "$(cat d/a.txt)"',
    "!cat d/*.txt",
    "!ls -l d",
    "!stat d/a.txt",
    "!du -b",
    "!grep -r x d",
    "!find d -size +3c",
    "!tar cf - d | wc -c",
    "%%bash\ncd d\ncat a.txt",
    "%sx cat d/a.txt",
    "o = !cat d/a.txt",
    "o = subprocess.check_output('cat d/a.txt', shell=True)",
    "o = subprocess.check_output(['cat', 'a.txt'], cwd='d')",
    "o = os.popen('cat d/a.txt').read()",
    "o = os.system('cat d/a.txt > /dev/null')",
]

READ_NAMES = [
    "!ls d",
    "!ls -a d",
    "!ls -R",
    "!find",
    "!find . -name '*.txt'",
    "!cd d; ls",
    "!ls d | head",
    "!wc -l d/*",
    "!echo d/*",
    "!cat d/new.txt",
    "!test -f d/new.txt && echo yes",
    "%%bash\nls d",
    "o = !ls d",
    "o = subprocess.run('ls', cwd='d', capture_output=True).stdout",
    "o = subprocess.run(['find', 'd', '-type', 'f'], capture_output=True).stdout",
]

ASK_SIZES = [
    "o = os.path.getsize('d/a.txt')",
    "o = os.path.getsize(os.path.join('d', 'a.txt'))",
    "o = PATH.stat().st_size",
    "o = os.path.getmtime(PATH)",
    "o = {p.name: p.stat().st_size for p in sorted(Path('d').glob('*.txt'))}",
    "o = [e.stat().st_size for e in os.scandir('d')]",
    "o = [os.path.getsize(f) for f in glob.glob('**/*.txt', recursive=True)]",
    "o = sum(f.stat().st_size for f in Path('.').rglob('*.txt'))",
    "o = [os.path.getsize(f'd/{name}') for name in os.listdir('d')]",
    "o = {name: os.path.getsize(name) for name in {'d/a.txt': 1}}",
    "o = size_of('d/a.txt')",
    "o = list(frame['file'].map(os.path.getsize))",
    "o = [os.path.getsize(f) for f in array]",
    "o = all_sizes('d')",
]

UNTOUCHED = [
    "!cat d/a.txt",
    "!ls d",
    "!ls -l d",
    "!echo hello world",
    "!mkdir -p d",
    "!wc -l d/*",
    "o = os.path.getsize('d/a.txt')",
    "o = subprocess.run(['true']).returncode",
]


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "texts", "runs"),
    [
        (READ_CONTENT, {"d/a.txt": "xxxx\nx\n"}, True),
        (READ_NAMES, {"d/new.txt": "1", "d/sub/b.txt": "2"}, True),
        (ASK_SIZES, {"d/a.txt": "xxxx\nx\n"}, True),
        (UNTOUCHED, {"b.txt": "1", "else/new.txt": "1"}, False),
    ],
    ids=["content", "names", "sizes", "untouched"],
)
def test_a_cell_runs_where_what_it_asked_of_files_is_other(
    tmp_path: Path, cells: list[str], texts: Mapping[str, str], runs: bool
) -> None:
    cells = [START, FUNCTIONS, FRAMES, *cells]
    _write(tmp_path, {"d/a.txt": "x\n"})

    first = run(tmp_path, cells, "0", mode="skip")
    again = run(tmp_path, cells, "0", mode="skip")
    _write(tmp_path, texts)
    after = run(tmp_path, cells, "0", mode="skip")
    last = run(tmp_path, cells, "0", mode="skip")

    assert [ran.errors for ran in (first, again, after, last)] == [[]] * 4
    assert again.restored == last.restored == list(range(len(cells)))
    asking = list(range(3, len(cells)))
    assert [place for place in after.restored if place > 2] == ([] if runs else asking)


LOG = ["n = 3", "with open('log.csv', 'w') as fh: fh.write('a\\n' * n)", "x = 1", "!cat log.csv"]
FOLDERS = ["import os\nos.makedirs('out', exist_ok=True)", "k = 3"]
FOLDERS += ["for e in range(k): open(f'out/e{e}', 'w').close()"]
FOLDERS += ["!ls out", "!wc -l out/*", "!find out -name '*'", "!cd out && ls", "!ls"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "at", "edited", "commands"),
    [(LOG, 0, "n = 4", [3]), (FOLDERS, 1, "k = 5", [3, 4, 5, 6])],
    ids=["file", "folder"],
)
def test_a_command_in_a_terminal_of_a_kernel_reads_what_it_names(
    tmp_path: Path, cells: list[str], at: int, edited: str, commands: list[int]
) -> None:
    def shown(cells: list[str]) -> tuple[list[str], list[int]]:
        with Kernel(tmp_path) as kernel:
            kernel.run("%load_ext nbckpt")
            kernel.run("%nbckpt auto skip")
            ran = [kernel.run(cell, f"c{place}") for place, cell in enumerate(cells)]
            kernel.run("__import__('nbckpt').current.session().wait()")  # else it may die first
        is_restored = [any("restored" in notice for notice in r.notices) for r in ran]
        return [r.stdout for r in ran], [place for place, is_ in enumerate(is_restored) if is_]

    first = shown(cells)
    again = shown(cells)
    after, restored = shown([*cells[:at], edited, *cells[at + 1 :]])

    assert first[1] == []
    assert again == (first[0], list(range(len(cells))))
    assert set(commands).isdisjoint(restored)
    assert all(len(after[place]) > len(first[0][place]) for place in commands)


# -- live -------------------------------------------------------------------------------------


@pytest.fixture
def cell(shell: Any) -> Callable[[str, str], str]:
    """Run a cell under a name; why it ran, or that it was restored."""
    shell.run_cell("%nbckpt auto skip", store_history=True)

    def cell(source: str, name: str) -> str:
        done = shell.run_cell(source, store_history=True, cell_id=name)
        assert done.success, done
        step = shell._nbckpt_extension.cells.steps.latest
        return "restored" if step.restored else "; ".join(step.why)

    return cell


@pytest.mark.slow
def test_a_command_has_not_written_what_was_written_just_before(
    cell: Callable[[str, str], str],
) -> None:
    write = "from pathlib import Path\nfor name in ('other', 'log'):\n"
    cell(f"{write}    _ = Path(f'{{name}}.csv').write_text('1')", "writer")
    cell("!cat log.csv", "reader")
    cell("!echo b >> log.csv", "appends")

    Path("other.csv").write_text("changed")
    assert cell("!cat log.csv", "reader") == "file 'log.csv' changed"
    Path("log.csv").write_text("c")
    assert cell("!echo b >> log.csv", "appends") == "file 'log.csv', which it wrote, changed"


@pytest.mark.slow
def test_more_files_than_are_looked_at_make_a_cell_run(cell: Callable[[str, str], str]) -> None:
    Path("f9").write_text("1")
    cell("import os\nnames = [f'f{n}' for n in range(6000)]", "names")
    source = "total = sum(os.path.getsize(name) for name in names if os.path.exists(name))"

    cell(source, "total")

    assert cell(source, "total") == "it asks for more files than are looked at"


@pytest.mark.slow
def test_a_helper_module_asks_for_sizes(shell: Any, cell: Callable[[str, str], str]) -> None:
    Path("sizes.py").write_text(
        "import os\n"
        "def _size(path): return os.stat(path).st_size\n"
        "def total(folder): return sum(_size(e.path) for e in os.scandir(folder))\n"
    )
    _write(Path("d"), {"a": "1"})
    cell("import sys; sys.path.insert(0, '')", "path")
    cell("import sizes", "import")
    cell("n = sizes.total('d')", "total")

    assert cell("n = sizes.total('d')", "total") == "restored"
    _write(Path("d"), {"a": "123"})
    assert cell("n = sizes.total('d')", "total") == "files in folder 'd' changed"
    assert shell.user_ns["n"] == 3


# -- parts ------------------------------------------------------------------------------------


def test_words_of_a_line_are_taken_as_a_shell_takes_them(tmp_path: Path) -> None:
    _write(tmp_path, {"a b.txt": "1", "d/c.txt": "2", "'": "3"})
    lines = {
        "cat 'a b.txt'": ["a b.txt"],
        "cat a\\ b.txt": ["a b.txt"],
        "FOO=1 sudo cat 'a b.txt' 2>&1": ["a b.txt"],
        "(cd d; cat c.txt)": ["d/c.txt"],
        "cat d/*.txt": ["d/c.txt"],
        "cat 'd/*.txt'": ["d/*.txt"],
        "cat gone.txt": ["gone.txt"],
        "sort --files0-from=d/c.txt": ["d/c.txt"],
        "echo 'unclosed": [],
        "": [],
    }

    for line, files in lines.items():
        asked = Asked()
        asked.line(line, str(tmp_path))
        assert list(asked.files) == [str(tmp_path / file) for file in files], line


def test_a_folder_is_looked_at_as_the_program_tells_of_it(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    d = str(tmp_path / "d")
    lines: dict[str, list[object]] = {
        "ls": [[str(tmp_path)], []],
        "ls d": [[d], []],
        "ls -l d": [[], [("times", d)]],
        "ls -A d": [[], [("names", d)]],
        "ls -lR d": [[], [("all times", d)]],
        "find d -name '*.py'": [[], [("all names", d)]],
        "find d -mtime 1": [[], [("all times", d)]],
        "find d -exec cat {} +": [[], [("all times", d)]],
        "du d": [[], [("all sizes", d)]],
        "grep -r word d": [[], [("all times", d)]],
        "grep word": [[], []],
        "mkdir -p d": [[], []],
    }

    for line, found in lines.items():
        asked = Asked()
        asked.words(["/bin/sh", "-c", line], str(tmp_path))
        assert [list(asked.listed), list(asked.looks)] == found, line


def test_a_look_leaves_out_what_no_cell_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counts(path: str) -> bool:
        return "own" not in path

    _write(tmp_path, {"a": "1", "b.ipynb": "{}"})
    before = look_at(str(tmp_path), "all times", counts)

    _write(tmp_path, {".nbckpt/x": "1", "__pycache__/m.pyc": "", ".own/x": "1"})
    (tmp_path / "b.ipynb").write_text("{ }")
    assert look_at(str(tmp_path), "all times", counts) == before
    os.utime(tmp_path / "a", (1, 1))
    assert look_at(str(tmp_path), "all times", counts) != before
    assert look_at(str(tmp_path / "gone"), "names", counts) is None
    monkeypatch.setattr(folder_looks, "MAX_ENTRIES", 1)
    assert look_at(str(tmp_path), "names", counts) == TOO_MANY
