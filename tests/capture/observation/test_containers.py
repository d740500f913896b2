"""Lists, dicts and sets of libraries that a cell changes count for the cells below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.capture.observation.kernels import Answer, edited, restored_beside, run_passes

pytestmark = pytest.mark.sampled(7)

ROUND = "import calendar"
COLORS = "import matplotlib.colors as mc"
CODE = "'#{0:02x}0000'.format(5)"

# name -> cells; each 5 becomes a 6 in the edited notebook. The last cell reads what was changed.
CHANGING = {
    "an item": (ROUND, "calendar.mdays[2] = 5", "y = calendar.monthrange(2023, 2)"),
    "with its import": ("import calendar; calendar.mdays[2] = 5", "y = calendar.monthrange(2023, 2)"),
    "added to": (ROUND, "calendar.mdays[2] += 5", "y = calendar.monthrange(2023, 2)"),
    "a method": (ROUND, "calendar.mdays.append(5)", "y = calendar.mdays[-1]"),
    "a slice": (ROUND, "calendar.mdays[1:3] = [5, 5]", "y = calendar.monthrange(2023, 2)"),
    "taken away": (ROUND, "del calendar.mdays[5:]", "y = len(calendar.mdays)"),
    "imported by name": (
        "from calendar import mdays, monthrange", "mdays[2] = 5", "y = monthrange(2023, 2)",
    ),
    "under another name": (
        "from calendar import mdays as days", ROUND, "days[2] = 5", "y = calendar.monthrange(2023, 2)",
    ),
    "a variable for it": (
        ROUND, "days = calendar.mdays", "days[2] = 5", "y = calendar.monthrange(2023, 2)",
    ),
    "by a function": (
        ROUND, "def change(n):\n    calendar.mdays[2] = n", "change(5)",
        "y = calendar.monthrange(2023, 2)",
    ),
    "in a loop": (
        ROUND, "for month in (2, 3):\n    calendar.mdays[month] = 5",
        "y = calendar.monthrange(2023, 2)",
    ),
    "twice": (
        ROUND, "calendar.mdays[2] = 5", "calendar.mdays[3] = 4", "y = calendar.mdays[2:4]",
    ),
    "the second time": (
        ROUND, "calendar.mdays[3] = 4", "calendar.mdays[2] = 5", "y = calendar.mdays[2:4]",
    ),
    "from text": (ROUND, "code = 'calendar.mdays[2] = 5'", "exec(code)", "y = calendar.mdays[2]"),
    "the path of modules": (
        "import sys\nfrom sys import path as places", "places.append('/nowhere/5')",
        "y = [p for p in sys.path if 'nowhere' in p], places is sys.path",
    ),
    "the environment": (
        "import os\nfrom os import environ", "environ['MINE'] = '5'",
        "y = os.environ['MINE'], os.getenv('MINE'), environ is os.environ",
    ),
    "arguments": (
        "import argparse\nfrom sys import argv", "argv[1:] = ['--n', '5']",
        "p = argparse.ArgumentParser()\n_a = p.add_argument('--n')\ny = p.parse_args().n",
    ),
    "a dict": (
        "import html, html.entities", "html.entities.entitydefs['q'] = '5'",
        "y = html.entities.entitydefs['q']",
    ),
    "a dict's update": (
        COLORS, f"mc.CSS4_COLORS.update(mine={CODE})", "y = mc.CSS4_COLORS['mine']",
    ),
    "a dict that a function gives": (
        COLORS, f"mc.get_named_colors_mapping()['mine'] = {CODE}", "y = mc.to_rgb('mine')",
    ),
    "a dict that a function gave": (
        COLORS, f"all_ = mc.get_named_colors_mapping(); all_.update(mine={CODE})",
        "y = mc.to_rgb('mine')",
    ),
    "a class's": (
        "import pandas as pd", "pd.DataFrame._metadata.append('m5')", "y = pd.DataFrame._metadata",
    ),
    "imported by name, with the import": (
        "n = 1", "from html.entities import entitydefs as E; E['q'] = '5'",
        "import html.entities\ny = html.entities.entitydefs['q']",
    ),
    "imported by name, twice": (
        "from html.entities import entitydefs as E; E['q'] = '5'", "E['r'] = '4'",
        "import html.entities\ny = [html.entities.entitydefs[k] for k in 'qr']",
    ),
    "all names imported": (
        "from html.entities import *\nimport html.entities", "entitydefs['q'] = '5'",
        "y = html.entities.entitydefs['q']",
    ),
    "an alias of an alias": (
        "from calendar import mdays, monthrange", "days = mdays", "days[2] = 5",
        "y = monthrange(2023, 2)",
    ),
    "several at once": (
        ROUND, "days, n = calendar.mdays, 1", "days[2] = 5", "y = calendar.monthrange(2023, 2)",
    ),
    "by operator": (
        "import calendar, operator", "operator.setitem(calendar.mdays, 2, 5)",
        "y = calendar.monthrange(2023, 2)",
    ),
    "what equals nothing": (
        "import colorsys; colorsys.L = [object(), float('nan')]", "from colorsys import L as M",
        "M.append(5)", "y = colorsys.L[2:], M is colorsys.L",
    ),
    "by a library's function, with its import": (
        "n = 1", "import email.charset as ec; ec.add_alias('mine', 'iso-8859-5')",
        "y = ec.Charset('mine').input_charset",
    ),
    "by a library's function in a function": (
        "import email.charset as ec\ndef add(code):\n    ec.add_alias('mine', code)",
        "add('iso-8859-5')", "y = ec.Charset('mine').input_charset",
    ),
    "by a function that imports": (
        "def change(n):\n    import html.entities as he\n    he.entitydefs['q'] = n",
        "change('5')", "import html.entities\ny = html.entities.entitydefs['q']",
    ),
    "by a function of the library": (
        "import email.charset as ec", "ec.add_alias('mine', 'iso-8859-5')",
        "y = ec.Charset('mine').input_charset",
    ),
    "an attribute by one": (
        "import urllib.request",
        "o = urllib.request.build_opener(); o.addheaders = [('n', 5)]\n"
        "urllib.request.install_opener(o)",
        "y = urllib.request._opener.addheaders",
    ),
    "an attribute by one, with its import": (
        "n = 1",
        "import urllib.request; o = urllib.request.build_opener(); o.addheaders = [('n', 5)]\n"
        "urllib.request.install_opener(o)",
        "y = urllib.request._opener.addheaders",
    ),
    "beside another one": (
        "import mimetypes", "mimetypes.add_type('a/b5', '.mine'); mimetypes.knownfiles.append('q')",
        "y = mimetypes.guess_type('f.mine')",
    ),
    "one of its objects": (
        "import reprlib", "reprlib.aRepr.maxlist = 5", "y = reprlib.repr(list(range(9)))",
    ),
    "inside of one of its objects": (
        "import string\nstring.held = {'a': {'b': [1]}}", "string.held['a']['b'] = 5",
        "y = string.held",
    ),
    "a name that no text has": (
        "import colorsys\nname = 'mine'", "setattr(colorsys, 'is' + name, 5)", "y = colorsys.ismine",
    ),
    "all names": ("import colorsys\nnew = {'mine': 5}", "vars(colorsys).update(new)",
        "y = colorsys.mine"),
    "a function that is given a module and a name": (
        "import colorsys\ndef tag(m, name, value): setattr(m, name, value)",
        "tag(colorsys, 'mi' + 'ne', 5)", "y = colorsys.mine",
    ),
    "text that is run": ("import colorsys\ncode = 'colorsys.mine = 5'", "exec(code)",
        "y = colorsys.mine"),
}  # fmt: skip


def played(cells: Sequence[str], folder: Path) -> Answer:
    """A second run, which gives what a plain one does; so does one after an edit."""
    return restored_beside({}, cells, folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHANGING)
def test_what_a_cell_changes_in_a_library_counts_below(kind: str, tmp_path: Path) -> None:
    played(CHANGING[kind], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["an item", "a method", "a dict", "imported by name", "by a function of the library"]
)
def test_cells_below_are_restored_where_nothing_was_edited(kind: str, tmp_path: Path) -> None:
    cells = CHANGING[kind]

    again = played(cells, tmp_path)

    assert again.restored == [n for n in range(len(cells)) if n != len(cells) - 2]


def test_an_edit_counts_in_the_same_process(tmp_path: Path) -> None:
    cells = CHANGING["an item"]

    got = run_passes(tmp_path, cells, edited(cells, "5", "6"))

    assert got.value == "(2, 6)"


def test_a_rewind_gives_it_back_what_it_held(tmp_path: Path) -> None:
    cells = [ROUND, "n = 1", "calendar.mdays[2] = 5", "%rewind ~1", "y = calendar.mdays[2]"]

    assert run_passes(tmp_path, cells).value == "28"


def test_a_rewind_and_back_gives_it_what_the_cell_put_there(tmp_path: Path) -> None:
    cells = [ROUND, "n = 1", "calendar.mdays[2] = 5", "%rewind ~1", "%rewind -"]

    assert run_passes(tmp_path, [*cells, "y = calendar.mdays[2]"]).value == "5"


@pytest.mark.slow
def test_a_rewind_and_back_of_what_a_variable_is(tmp_path: Path) -> None:
    cells = ["from calendar import mdays; n = 1", "mdays[2] = 5", "n = 2"]
    probe = "(mdays[2], n, mdays is __import__('calendar').mdays)"

    there = run_passes(tmp_path / "a", [*cells, "%rewind ~2"], probe=probe)
    back = run_passes(tmp_path / "b", [*cells, "%rewind ~2", "%rewind -"], probe=probe)

    assert (there.value, back.value) == ("(28, 1, True)", "(5, 2, True)")


@pytest.mark.slow
def test_a_rewind_over_names_that_change_places(tmp_path: Path) -> None:
    cells = ["from calendar import mdays; m = list(mdays)", "m, mdays = mdays, m"]
    probe = "[mdays is __import__('calendar').mdays, m is __import__('calendar').mdays]"

    there = run_passes(tmp_path / "a", [*cells, "%rewind ~1"], probe=probe)
    back = run_passes(tmp_path / "b", [*cells, "%rewind ~1", "%rewind -"], probe=probe)

    assert (there.value, back.value) == ("[True, False]", "[False, True]")


@pytest.mark.slow
def test_a_rewind_between_two_changes_gives_back_the_first(tmp_path: Path) -> None:
    cells = [ROUND, "calendar.mdays.append({1})", "calendar.mdays.append({2})"]
    probe = "calendar.mdays[13:]"

    one = run_passes(tmp_path / "a", [*cells, "%rewind ~1"], probe=probe)
    none = run_passes(tmp_path / "b", [*cells, "%rewind ~2"], probe=probe)
    both = run_passes(tmp_path / "c", [*cells, "%rewind ~1", "%rewind -"], probe=probe)

    assert (none.value, one.value, both.value) == ("[]", "[{1}]", "[{1}, {2}]")


ODD = """
count = 0
class Counted(dict):
    def copy(self):
        global count
        count += 1
        raise ValueError
    __len__ = items = __iter__ = copy
TABLE, LIST = Counted(), []
def add(x): LIST.append(x)
"""


@pytest.mark.slow
def test_no_code_of_a_containers_class_runs(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "oddlib.py").write_text(ODD)
    cells = [
        "import os, sys; sys.path.append(os.path.abspath('../site-packages'))", "import oddlib",
        "oddlib.add('v5')",
        "oddlib.TABLE['a'] = 5", "y = oddlib.LIST, dict.get(oddlib.TABLE, 'a'), oddlib.count",
    ]  # fmt: skip

    again = played(cells, tmp_path)

    assert again.value == "(['v5'], 5, 0)"
    assert "defect" not in again.said


@pytest.mark.slow
def test_reading_alone_changes_nothing(tmp_path: Path) -> None:
    cells = [
        "from calendar import mdays\nimport calendar, mimetypes, textwrap, networkx as nx",
        "G = nx.path_graph(3); nx.add_path(G, [0, 2])",
        "days = mdays[2:4] + calendar.mdays[5:6]",
        "kind = mimetypes.guess_type('a.txt')[0]",
        "text = textwrap.dedent(' a')",
        "import tempfile, os; os.rmdir(tempfile.mkdtemp());",
        "import sympy; f = sympy.lambdify(sympy.Symbol('x'), sympy.Symbol('x') ** 2)",
        "nx.set_node_attributes(G, 1, 'w')",
        'exec(\'import datetime; t = datetime.datetime.strptime("2024", "%Y")\')',
        "y = days, kind, text, sorted(G.edges(data=True)), f(3), t.year",
    ]

    assert played(cells, tmp_path).restored == list(range(len(cells)))
