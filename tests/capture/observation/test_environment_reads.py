"""A cell, or a kept call, that reads a variable of the environment runs again where it is another.

Each run is a process of its own: what the notebook sets by itself is process state.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import environment

SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "nbckpt")
for cell in sys.argv[1:]:
    shell.run_cell(cell, store_history=True).raise_error()
import nbckpt
nbckpt.wait()
print(f"x={shell.user_ns['x']}")
"""

READS = {
    "get": "x = os.environ.get('STAGE')",
    "item": "x = os.environ['STAGE']",
    "getenv": "x = os.getenv('STAGE', 'none')",
    "imported": "from os import environ as e\nx = e['STAGE']",
    "a default": "x = os.environ.setdefault('STAGE', 'none')",
    "is there": "x = os.environ['STAGE'] if 'STAGE' in os.environ else None",
    "bytes": "x = os.environb[b'STAGE'].decode()",
    "a function": "def stage(): return os.getenv('STAGE')\nx = stage()",
    "a method": "class A:\n    def stage(self): return os.getenv('STAGE')\nx = A().stage()",
    "a lambda": "x = (lambda name: os.environ[name])('STAGE')",
    "a name in a variable": "x = os.environ[NAME]",
    "several": "x = [os.environ[name] for name in NAMES][0]",
    "a step": "import nbckpt\n@nbckpt.step\ndef stage(): return os.getenv('STAGE')\nx = stage()",
    "a magic": "x = %env STAGE",
    "a magic's call": "x = get_ipython().run_line_magic('env', 'STAGE')",
    "a map": "import nbckpt\nx = nbckpt.map(lambda name: os.environ[name], ['STAGE'])[0]",
}
MODULE = """
import os
from dataclasses import dataclass, field
AT_IMPORT = os.environ.get("STAGE")
def stage(): return os.environ["STAGE"]
@dataclass
class Settings:
    stage: str = field(default_factory=lambda: os.environ["STAGE"])
class Reader:
    def stage(self): return os.getenv("STAGE")
reader = Reader()
"""
IN_MODULES = {
    "a function": "import helper\nx = helper.stage()",
    "a name of one": "from helper import stage\nx = stage()",
    "a class": "from helper import Settings\nx = Settings().stage",
    "an instance": "import helper\nx = helper.reader.stage()",
    "at its import": "import helper\nx = helper.AT_IMPORT",
    "a step": "import helper, nbckpt\n@nbckpt.step\ndef f(): return helper.stage()\nx = f()",
    "a step's import": "import nbckpt\n@nbckpt.step\ndef f():\n    import helper\n"
    "    return helper.Settings().stage\nx = f()",
}
IN_CLASSES = {
    "a property": "class A:\n    @property\n    def stage(self): return os.environ['STAGE']\n"
    "x = f(lambda: A().stage)",
    "a field": "import dataclasses\n@dataclasses.dataclass\nclass A:\n    stage: str = "
    "dataclasses.field(default_factory=lambda: os.environ['STAGE'])\nx = f(lambda: A().stage)",
    "an argument": "class A:\n    def __call__(self): return os.getenv('STAGE')\nx = f(A())",
    "a closure": "def made(name):\n    def read(): return os.environ[name]\n    return read\n"
    "x = f(made('STAGE'))",
    "an enum": "import enum\nclass K(str, enum.Enum): A = 'STAGE'\nx = f(lambda: os.environ[K.A])",
    "a path": "x = f(lambda: os.path.expandvars('$STAGE'))",
    "a template": "x = f(lambda: '{STAGE}'.format(**os.environ))",
    "a command": "import subprocess\nx = f(lambda: subprocess.run('printf $STAGE', shell=True, "
    "capture_output=True, text=True).stdout)",
    "a child": "import subprocess, sys\nx = f(lambda: subprocess.run([sys.executable, '-c', "
    '\'import os; print(os.environ["STAGE"], end="")\'], capture_output=True, text=True).stdout)',
}
BEFORE = "import os\nNAME = 'STAGE'\nNAMES = ['STAGE']"


def told(folder: Path, *cells: str, **variables: str) -> str:
    """What the cells say in a new process with such variables in its environment."""
    done = subprocess.run(
        [sys.executable, "-c", SHELL, *cells],
        cwd=folder,
        env={**environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(
            source, id=name, marks=() if name in ("get", "a function") else pytest.mark.slow
        )
        for name, source in READS.items()
    ],
)
def test_a_cell_runs_again_where_what_it_reads_is_another(tmp_path: Path, source: str) -> None:
    cells = (BEFORE, f"%%checkpoint a\n{source}")

    assert "x=one" in told(tmp_path, *cells, STAGE="one")
    again = told(tmp_path, *cells, STAGE="two")
    assert "x=two" in again
    assert "STAGE of the environment is another" in again
    third = told(tmp_path, *cells, STAGE="two")
    assert "x=two" in third
    assert "restored 'a'" in third


@pytest.mark.slow
@pytest.mark.parametrize("source", IN_MODULES.values(), ids=IN_MODULES)
def test_modules_beside_the_notebook_count(tmp_path: Path, source: str) -> None:
    (tmp_path / "helper.py").write_text(MODULE)
    cells = ("import os", f"%%checkpoint a\n{source}")

    assert "x=one" in told(tmp_path, *cells, STAGE="one")
    assert "restored 'a'" in told(tmp_path, *cells, STAGE="one")
    assert "x=two" in told(tmp_path, *cells, STAGE="two")


@pytest.mark.slow
@pytest.mark.parametrize("decorator", ["", "@nbckpt.step\n"], ids=["cell", "step"])
@pytest.mark.parametrize("source", IN_CLASSES.values(), ids=IN_CLASSES)
def test_what_is_read_in_a_roundabout_way_counts(
    tmp_path: Path, source: str, decorator: str
) -> None:
    cells = (
        f"import os, nbckpt\n{decorator}def f(read): return read()",
        f"%%checkpoint a\n{source}",
    )

    assert "x=one" in told(tmp_path, *cells, STAGE="one")
    assert "x=two" in told(tmp_path, *cells, STAGE="two")


@pytest.mark.slow
def test_a_variable_that_was_not_there_counts(tmp_path: Path) -> None:
    cells = ("import os", "%%checkpoint a\nx = os.getenv('STAGE', 'none')")

    assert "x=none" in told(tmp_path, *cells)
    assert "x=one" in told(tmp_path, *cells, STAGE="one")


SAME = {
    "it sets it": "os.environ['STAGE'] = 'mine'\nx = os.environ['STAGE']",
    "a private one": "x = len(os.environ['SOME_TOKEN'])",
    "the search path": "os.environ['PATH'] += ':/somewhere'\nx = 1",
    "another one": "x = os.environ['OTHER']",
    "a text": "x = 'STAGE'",
}


@pytest.mark.slow
@pytest.mark.parametrize("source", SAME.values(), ids=SAME)
def test_a_cell_is_restored_where_it_reads_the_same(tmp_path: Path, source: str) -> None:
    cells = ("import os", f"%%checkpoint a\n{source}")
    told(tmp_path, *cells, SOME_TOKEN="a1b2c3d4e5", OTHER="same")

    path = f"/elsewhere:{os.environ['PATH']}"
    twice = () if "+=" in source else cells  # what was set then is another
    again = told(tmp_path, *cells, *twice, SOME_TOKEN="e5d4c3b2a1", OTHER="same", PATH=path)

    assert again.count("restored 'a'") == 1 + bool(twice)


@pytest.mark.slow
def test_what_a_cell_above_sets_is_what_a_cell_below_reads(tmp_path: Path) -> None:
    cells = (
        "%%checkpoint above\nimport os\nos.environ['STAGE'] = 'mine'",
        "%%checkpoint below\nx = os.environ['STAGE']",
    )
    told(tmp_path, *cells)

    for again in (told(tmp_path, *cells), told(tmp_path, "%resume", *cells)):
        assert "x=mine" in again
        assert "restored 'below'" in again
