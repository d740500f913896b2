"""What Python calls of the notebook when an object goes changes variables that no text names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.observation.kernels import run_passes

FIRST = "import weakref\nlog = []\nword = 'gone'\nclass A:\n    def go(self): pass"
MAKING = {
    "a finalizer": "a = [A()]\n_ = weakref.finalize(a[0], lambda: log.append(word))",
    "a finalizer in a variable": "a = [A()]\nf = weakref.finalize(a[0], lambda: log.append(word))",
    "a method of a variable": "a = [A()]\n_ = weakref.finalize(a[0], log.append, word)",
    "a finalizer by a function":
        "def watched(o):\n    weakref.finalize(o, log.append, word)\n    return o\na = [watched(A())]",
    "a weak method": "a = [A()]\nr = weakref.WeakMethod(a[0].go, lambda _: log.append(word))",
    "a weak reference": "a = [A()]\nr = weakref.ref(a[0], lambda _: log.append(word))",
}  # fmt: skip
DROPPING = {"bound again": "a = None", "deleted": "del a", "taken out": "a.pop()\nn = 2"}


@pytest.mark.parametrize("how", DROPPING)
@pytest.mark.parametrize("kind", MAKING)
def test_what_is_called_when_an_object_goes_counts(kind: str, how: str, tmp_path: Path) -> None:
    cells = [FIRST, "n = 0", MAKING[kind], "n = 1", DROPPING[how], "y = [*log]"]
    other = [*cells[:4], f"{DROPPING[how]}\nn = 3", cells[5]]
    run_passes(tmp_path / "a", cells)

    again = run_passes(tmp_path / "a", cells)
    edited = run_passes(tmp_path / "a", other)

    assert again.value == edited.value == "['gone']", again.said + edited.said
    assert {0, 1, 3} <= set(again.restored), again.said


def test_of_a_container_that_is_brought_back_nothing_is_dropped(tmp_path: Path) -> None:
    making = (
        "d = {'p': [A(), A()]}\nfor p in d['p']: _ = weakref.finalize(p, log.append, word)\ndel p"
    )
    cells = [FIRST, making, "n = 1", "d['p'].pop()\nn = 2", "y = [*log]"]
    run_passes(tmp_path / "a", cells)

    again = run_passes(tmp_path / "a", cells)

    assert again.value == "['gone']", again.said


def test_a_proxy_is_not_asked(tmp_path: Path) -> None:
    cells = [FIRST, "a = A()\np = weakref.proxy(a)", "a.x = 2", "y = p.x"]
    run_passes(tmp_path / "a", cells)

    again = run_passes(tmp_path / "a", cells)

    assert again.value == "2"
    assert "defect" not in again.said


def test_a_librarys_own_finalizers_do_not_count(tmp_path: Path) -> None:
    cells = ["import tempfile\nt = tempfile.TemporaryDirectory()", "y = 1"]
    run_passes(tmp_path / "a", cells)

    again = run_passes(tmp_path / "a", cells)

    assert "when an object goes" not in again.said


def test_a_finalizer_that_an_object_of_a_module_calls_itself_is_called_once(tmp_path: Path) -> None:
    (tmp_path / "files.py").write_text(
        "import weakref\nclosed = []\nclass File:\n    def __init__(self, name):\n"
        "        self._end = weakref.finalize(self, closed.append, name)\n"
        "    def close(self): self._end()"
    )
    setup = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport files"
    cells = [setup, "f = files.File('a')", "n = 1", "f.close()", "y = [*files.closed]"]
    run_passes(tmp_path / "a", cells)

    again = run_passes(tmp_path / "a", cells)
    edited = run_passes(tmp_path / "a", [*cells[:2], "n = 2", *cells[3:]])

    assert again.value == edited.value == "['a']", again.said + edited.said
