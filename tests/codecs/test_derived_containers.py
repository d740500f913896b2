"""Classes that derive from list, dict or set come back without their own ways in and out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.observation.kernels import run_passes

CLASSES = {
    "a list that hides its elements": (
        "class L(list):\n    def __len__(self): return 0\n    def __iter__(self): return iter(())\n"
        "v = L([1, [2]])",
        "list.__len__(v), list.__getitem__(v, 1)",
    ),
    "a list that tells of them": (
        "class L(list):\n    def append(self, x): print('put', x); super().append(x)\n"
        "    def extend(self, x): print('put', x); super().extend(x)\n"
        "v = L([1, 2]); v.own = [v]",
        "[*v], v.own[0] is v",
    ),
    "one that derives from that": (
        "class L(list):\n    def extend(self, x): print('put', x)\nclass M(L):\n    __slots__ = ('n',)\n"
        "v = M([1, {2}]); v.n = 5",
        "[*v], v.n, type(v).__name__",
    ),
    "a dict that takes nothing": (
        "class D(dict):\n    __slots__ = ('k',)\n"
        "    def __setitem__(self, k, v): raise TypeError('frozen')\n"
        "v = D(a=[1]); v.k = v['a']; dict.__setitem__(v, 'me', v)",
        "v['a'] is v.k, v['me'] is v, len(v)",
    ),
    "a dict that shows others": (
        "class D(dict):\n    def items(self): return [('x', 1)]\n    def __iter__(self): yield 'x'\n"
        "v = D(a=1)",
        "[*dict.items(v)]",
    ),
    "a set with another call": (
        "class S(set):\n    def __init__(self, name, items):\n        print('put', name)\n"
        "        super().__init__(items); self.name = name\nv = S('n', [1, (2,)])",
        "sorted(map(str, v)), v.name",
    ),
    "a set of what hashes itself": (
        "class H:\n    def __init__(self, n): self.n = n\n    def __hash__(self): return self.n\n"
        "    def __eq__(self, other): return self.n == other.n\n"
        "class S(set):\n    def add(self, x): print('put', x); super().add(x)\n"
        "v = S(); set.add(v, H(3)); set.add(v, H(5))",
        "len(v), H(3) in v, H(4) in v",
    ),
    "library classes that say themselves how": (
        "from collections import Counter, OrderedDict, defaultdict\n"
        "class C(Counter):\n    def __setitem__(self, k, v): super().__setitem__(k, v)\n"
        "class D(defaultdict):\n    def __setitem__(self, k, v): super().__setitem__(k, v)\n"
        "v = C('aab'), D(list, {1: [2]}), OrderedDict(b=1, a=2)",
        "v[0], v[1], v[1].default_factory, v[2]",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CLASSES)
def test_what_derives_from_a_container_comes_back(what: str, tmp_path: Path) -> None:
    making, looked_at = CLASSES[what]
    probe = f"({looked_at})"
    plain = run_passes(tmp_path / "b", [making, "n = 1"], probe=probe, plain=True)
    run_passes(tmp_path / "a", [making, "n = 1"], probe=probe)

    again = run_passes(tmp_path / "a", [making, "n = 2"], probe=probe)

    assert again.value == plain.value, again.said
    assert again.restored == [0]
    assert again.said.count("put") == plain.said.count("put")


@pytest.mark.slow
def test_the_marker_of_a_module_is_that_marker(tmp_path: Path) -> None:
    cells = ["import functools\nmissing = functools._initial_missing\nd = {'m': missing}", "n = 1"]
    probe = "(missing is functools._initial_missing, d['m'] is missing)"
    run_passes(tmp_path, cells, probe=probe)

    again = run_passes(tmp_path, [cells[0], "n = 2"], probe=probe)

    assert again.value == "(True, True)"
    assert again.restored == [0]


def test_a_marker_of_a_module_beside_is_the_one_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "helper_m.py").write_text("MISSING = object()")
    setup = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport helper_m\n"
    cells = [f"{setup}d = [helper_m.MISSING]", "helper_m.MISSING = object()", "n = 1",
             "y = helper_m.MISSING is d[0]"]  # fmt: skip

    got = run_passes(tmp_path / "a", [*cells, "%rewind cell-1", *cells[2:]])

    assert got.value == "False", got.said


@pytest.mark.slow
def test_a_marker_of_the_notebook_stays_its_own(tmp_path: Path) -> None:
    cells = ["missing = object()\nd = {'m': missing}", "n = 1"]
    run_passes(tmp_path, cells, probe="d['m'] is missing")

    again = run_passes(tmp_path, [cells[0], "n = 2"], probe="d['m'] is missing")

    assert again.value == "True"


FRAMES = """\
from PIL import Image
first, *more = (Image.new('L', (1, 1), n) for n in (0, 200, 90))
first.save('g.gif', save_all=True, append_images=more)
first.save('one.gif')"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["gif", "tiff", "png"])
def test_what_is_drawn_on_a_frame_stays_there(form: str, tmp_path: Path) -> None:
    name = f"all.{form}"
    opening = f"v = Image.open({name!r}); v.load()\nv.putpixel((0, 0), 7)"
    cells = [FRAMES.replace("g.gif", name), opening, "y = v.getpixel((0, 0))"]
    first = run_passes(tmp_path / "a", cells)

    again = run_passes(tmp_path / "a", [*cells[:2], "y = v.getpixel((0, 0)), 1"])

    assert (first.value, again.value) == ("7", "(7, 1)"), again.said


@pytest.mark.slow
def test_an_image_with_frames_in_its_file_is_not_kept(tmp_path: Path) -> None:
    cells = [FRAMES, "v = Image.open('g.gif'); v.seek(1)\none = Image.open('one.gif')", "n = 1",
             "v.seek(2); y = v.tell(), v.n_frames, one.size"]  # fmt: skip
    first = run_passes(tmp_path, cells)

    again = run_passes(tmp_path, [*cells[:2], "n = 2", "v.seek(2); y = v.tell(), v.n_frames"])

    assert "it reads its frames from a file" in first.said
    assert again.value == "(2, 3)", again.said
