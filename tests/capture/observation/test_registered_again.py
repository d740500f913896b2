"""What the notebook registered with a library is there after a resume, or it is named."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PLAYER = """
import json, os, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "nbckpt")
shell.run_line_magic("nbckpt", "auto on")
for cell in json.loads(sys.argv[1]):
    shell.run_cell(cell, store_history=True)
from nbckpt.steps import current_session as current
current.session().wait()
"""

AGAIN = {
    "a decorator with a name": (
        ["import pandas as pd",
         "@pd.api.extensions.register_dataframe_accessor('geo')\nclass Geo:\n"
         "    def __init__(self, df): self.df = df\n    def n(self): return len(self.df)"],
        "pd.DataFrame({'x': [1, 2]}).geo.n()", "2",
    ),
    "a function": (
        ["import codecs\ndef dashes(e): return '-', e.end", "codecs.register_error('dashes', dashes)"],
        "'aä'.encode('ascii', 'dashes')", "b'a-'",
    ),
    "a lambda that reads a variable": (
        ["import codecs\nsign = '+'", "codecs.register_error('signs', lambda e: (sign, e.end))"],
        "'aä'.encode('ascii', 'signs')", "b'a+'",
    ),
}  # fmt: skip
NAMED = {
    "in a branch that did not run": (
        ["import codecs, sys\ndef f(e): return '-', e.end\nDEBUG = False",
         "if DEBUG: codecs.register_error('f', f)\nok = DEBUG and codecs.register_error('f', f)\n"
         "if DEBUG: sys.settrace(print)"],
        "sys.gettrace()", "None",
    ),
    "an argument that does something": (
        ["import codecs\nmade = []\ndef make():\n    made.append(1)\n    return lambda e: ('-', e.end)",
         "codecs.register_error('made', make())"],
        "made", "[1]",
    ),
    "a class that means another one by now": (
        ["import pandas as pd",
         "@pd.api.extensions.register_dataframe_accessor('geo')\nclass Geo:\n"
         "    def __init__(self, df): self.v = 'one'",
         "class Geo:\n    def __init__(self, df): self.v = 'two'"],
        "getattr(pd.DataFrame(), 'geo', None)", "None",
    ),
    "what was taken back": (
        ["import codecs\ndef s(n): return codecs.lookup('utf-8') if n == 'zzz' else None",
         "codecs.register(s)", "codecs.unregister(s)"],
        "codecs.lookup('utf-8').name", "'utf-8'",
    ),
}  # fmt: skip


def play(folder: Path, *cells: str) -> str:
    """What is shown as cells run in a process of their own."""
    import json

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PLAYER), json.dumps(cells)],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("what", AGAIN)
def test_it_is_registered_again(what: str, tmp_path: Path) -> None:
    cells, asked, answer = AGAIN[what]
    play(tmp_path, *cells)

    shown = play(tmp_path, "%resume", f"print('answer', {asked})", f"print('again', {asked})")

    assert f"answer {answer}" in shown
    assert "not restored" not in shown


@pytest.mark.slow
@pytest.mark.parametrize("what", NAMED)
def test_nothing_is_called_that_may_do_something_else(what: str, tmp_path: Path) -> None:
    cells, asked, answer = NAMED[what]
    play(tmp_path, *cells)

    shown = play(tmp_path, "%resume", f"print('answer', repr({asked}))")

    assert f"answer {answer}" in shown
