"""What Python calls of the notebook when an object goes changes variables that no text names."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbckpt.fingerprint.values import destructors
from tests.capture.observation.kernels import run_passes

pytestmark = pytest.mark.sampled(7)

FIRST = "import weakref\nlog = []\nword = 'gone'\nclass A:\n    def go(self): pass"
MAKING = {
    "a finalizer": "a = [A()]\n_ = weakref.finalize(a[0], lambda: log.append(word))",
    "a finalizer in a variable": "a = [A()]\nf = weakref.finalize(a[0], lambda: log.append(word))",
    "a method of a variable": "a = [A()]\n_ = weakref.finalize(a[0], log.append, word)",
    "a finalizer by a function":
        "def watched(o):\n    weakref.finalize(o, log.append, word)\n    return o\na = [watched(A())]",
    "a weak method": "a = [A()]\nr = weakref.WeakMethod(a[0].go, lambda _: log.append(word))",
    "a weak reference": "a = [A()]\nr = weakref.ref(a[0], lambda _: log.append(word))",
    "a weak reference further inside":
        "class Holder: pass\nh = Holder()\nh.parts = {'p': A()}\na = [h]\n"
        "r = weakref.ref(h.parts['p'], lambda _: log.append(word))\ndel h",
}  # fmt: skip
DROPPING = {"bound again": "a = None", "deleted": "del a", "taken out": "a.pop()\nn = 2"}


@pytest.mark.slow
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


@pytest.mark.slow
def test_of_a_container_that_is_brought_back_nothing_is_dropped(tmp_path: Path) -> None:
    making = (
        "d = {'p': [A(), A()]}\nfor p in d['p']: _ = weakref.finalize(p, log.append, word)\ndel p"
    )
    cells = [FIRST, making, "n = 1", "d['p'].pop()\nn = 2", "y = [*log]"]
    run_passes(tmp_path / "a", cells)

    again = run_passes(tmp_path / "a", cells)

    assert again.value == "['gone']", again.said


@pytest.mark.slow
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


@pytest.mark.slow
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


ENDS = """\
log = []
class File:
    def __init__(self, name): self.name = name
    def __del__(self): log.append(self.name)
def lines():
    try:
        yield 1
        yield 2
    finally: log.append('closed')"""
GOING = {
    "all elements": ("a = [File('x'), File('y')]", "a.clear()"),
    "some elements": ("a = [File('x'), File('y')]", "del a[1:]"),
    "items by a loop": (
        "a = {1: File('x'), 2: File('y')}",
        "for k in [*a]:\n    if k > 1: del a[k]",
    ),
    "an attribute": ("class B: pass\na = B()\na.f = File('x')", "a.f = None"),
    "by a function": ("a = File('x')\ndef drop():\n    global a\n    a = None", "drop()"),
    "a generator that is bound anew": ("a = lines(); next(a)", "a = None"),
    "a generator that is deleted": ("a = lines(); next(a)", "del a"),
    "a generator in a list": ("a = [lines()]; next(a[0])", "a.pop()\nm = 1"),
    "what a closure has": ("def made(f): return lambda: f\na = made(File('x'))", "a = 1"),
    "what a partial has": ("from functools import partial\na = partial(print, File('x'))", "a = 1"),
    "a key": ("a = {File('x'): 1}", "a = {}"),
    "what a slot has": ("class S:\n    __slots__ = ('f',)\na = S(); a.f = File('x')", "a = S()"),
    "what an array has": (
        "import numpy as np\na = np.array([File('x'), File('y')], dtype=object)", "a[0] = None",
    ),
    "a default": ("def a(f=File('x')): pass", "def a(f=1): pass"),
    "what a cache has": (
        "from functools import lru_cache\na = lru_cache(maxsize=1)(File)\nm = a('x').name",
        "m = a('y').name",
    ),
    "a generator in an iterator": ("a = enumerate(lines()); m = next(a)", "a = None"),
    "a generator in a generator":
        ("def outer(): yield from lines()\na = outer(); next(a)", "a = None"),
    "a generator in a closure":
        ("def made():\n    g = lines(); next(g)\n    return lambda: g\na = made()", "a = None"),
    "what a generator has":
        ("def rows():\n    f = File('x')\n    yield 1\na = rows(); next(a)", "a = None"),
    "what a queue has": ("import asyncio\na = asyncio.Queue(); a.put_nowait(File('x'))", "a = None"),
    "what a result has": (
        "from concurrent.futures import Future\na = Future(); a.set_result(File('x'))", "a = None",
    ),
    "what a class has": ("class a: f = File('x')", "a.f = None"),
    "what a list of a class has": ("class a: f = [File('x')]", "a.f = None"),
    "what an inner class has":
        ("class a:\n    class b: f = File('x')", "a.b = None\nimport gc; m = gc.collect() > 0"),
    "a generator behind many": (
        "a = [[n] for n in range(1500)]\na.append(lines()); m = next(a[-1])", "a = None",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ["some elements", "what an array has", "a default",
                                  "a generator in a list", "a generator in a closure"])  # fmt: skip
def test_after_a_rewind_what_ends_ends_in_what_is_then(what: str, tmp_path: Path) -> None:
    making, dropping = GOING[what]
    cells = [ENDS, making, "n = 1", dropping, "m = n", "y = [*log]"]
    plain = run_passes(tmp_path / "b", cells, plain=True)

    back = run_passes(tmp_path / "a", [*cells, "%rewind cell-1", "n = 2", *cells[3:]])

    assert back.value == plain.value, back.said


@pytest.mark.parametrize("what", ["some elements", "a generator that is bound anew", "what a class has",
                                  "what an array has", "a generator in a generator"])  # fmt: skip
def test_in_its_cell_an_end_comes_when_it_does_in_a_plain_run(what: str, tmp_path: Path) -> None:
    making, dropping = GOING[what]
    cells = [ENDS, making, f"{dropping}\ny = [*log]"]

    kept = run_passes(tmp_path / "a", cells)

    assert kept.value == run_passes(tmp_path / "b", cells, plain=True).value


@pytest.mark.slow
@pytest.mark.parametrize("what", GOING)
def test_what_a_class_or_generator_does_at_its_end_is_done_once(what: str, tmp_path: Path) -> None:
    making, dropping = GOING[what]
    cells = [ENDS, making, "n = 1", dropping, "y = [*log]"]
    plain = run_passes(tmp_path / "b", cells, plain=True)
    run_passes(tmp_path / "a", cells)

    again = run_passes(tmp_path / "a", cells, probe="(y, log)")
    edited = run_passes(tmp_path / "a", [*cells[:2], "n = 2", *cells[3:]], probe="(y, log)")

    assert again.value == edited.value == f"({plain.value}, {plain.value})", again.said
    assert "Exception ignored" not in again.said + edited.said


@pytest.mark.slow
def test_the_end_of_a_helpers_object_is_done_once(tmp_path: Path) -> None:
    (tmp_path / "files.py").write_text(
        "closed = []\nclass File:\n    def __init__(self, name): self.name = name\n"
        "    def __del__(self): closed.append(self.name)"
    )
    setup = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport files"
    for folder, dropping in (("a", "del f"), ("b", "f = files.File('b')")):
        cells = [setup, "f = files.File('a')", "n = 1", dropping, "y = [*files.closed]"]
        run_passes(tmp_path / folder, cells)

        again = run_passes(tmp_path / folder, cells)

        assert again.value == "['a']", again.said


def test_an_end_that_drops_other_names_ends_no_rewind(shell: InteractiveShell) -> None:
    for source in ("%%checkpoint one\nclass F:\n    def __init__(self, n): self.n = n\n"
                   "    def __del__(self): globals().pop(self.n, None)",
                   "%%checkpoint two\nz = F('q'); q = F('z')", "%rewind one"):  # fmt: skip
        assert shell.run_cell(source).success

    assert not {"z", "q"} & shell.user_ns.keys()


def test_what_goes_by_a_rewind_ends_in_what_was_there(shell: InteractiveShell) -> None:
    """What its `__del__` changes was not changed there."""
    for source in ("%%checkpoint one\nlog = []\nclass F:\n    def __del__(self): log.append(1)",
                   "%%checkpoint two\nf = F()\nlog.append(0)", "%%checkpoint three\nf = [f]"):  # fmt: skip
        assert shell.run_cell(source).success

    assert shell.run_cell("%rewind two").success
    assert shell.user_ns["log"] == [0]

    assert shell.run_cell("%rewind one").success
    assert shell.user_ns["log"] == []


CALLING = {
    "looked at": "n = 2\ndrop()",
    "restored": "n = 1\ndrop()",
}


@pytest.mark.parametrize("how", CALLING)
def test_nbckpts_own_copies_call_nothing_when_they_go(how: str, tmp_path: Path) -> None:
    making = "cache = [A()]\nr = weakref.ref(cache[0], lambda _: print('gone'))"
    drop = "def drop():\n    global cache\n    cache = None"
    cells = [FIRST, making, drop, "n = 1\ndrop()", "y = len(log)"]
    first = run_passes(tmp_path / "a", cells)

    again = run_passes(tmp_path / "a", [*cells[:3], CALLING[how], cells[4]])

    assert first.said.count("gone") == again.said.count("gone") == 1
    assert "Traceback" not in first.said + again.said


def test_references_with_callbacks_come_back_with_these(shell: InteractiveShell) -> None:
    for source in ("%%checkpoint one\nimport weakref\nlog = []\nclass A: pass\na = A()\n"
                   "r = weakref.ref(a, lambda _: log.append(1))", "a.x = r = None", "%rewind one",
                   "del a"):  # fmt: skip
        assert shell.run_cell(source).success

    assert shell.user_ns["log"] == [1]


DERIVED = "import weakref\nlog = []\nclass A: pass\nclass Ref(weakref.ref):\n    __slots__ = ('n',)"


@pytest.mark.slow
@pytest.mark.parametrize("dropping", ["a = None", "r = Ref(a, lambda _: log.append(2)); a = None"])
def test_references_of_a_derived_class_come_back(dropping: str, tmp_path: Path) -> None:
    making = "a = A(); r = Ref(a, lambda _: log.append(1)); r.n = [5]"
    cells = [DERIVED, making, "n = 1", dropping, "y = log, r() is None, getattr(r, 'n', 0)"]
    plain = run_passes(tmp_path / "b", cells, plain=True)
    run_passes(tmp_path / "a", cells)

    again = run_passes(tmp_path / "a", cells)
    edited = run_passes(tmp_path / "a", [*cells[:2], "n = 2", *cells[3:]])

    assert again.value == edited.value == plain.value, again.said
    assert 1 in edited.restored


def test_of_many_copies_none_is_heard_of() -> None:
    heard: list[int] = []

    class Loud:
        def __init__(self, number: int) -> None:
            self.number = number

        def __del__(self) -> None:
            heard.append(self.number)

    Loud.__module__ = Loud.__del__.__module__ = "__main__"
    for many in (3, 20_000):
        copies: dict[str, object] = {"all": [Loud(n) for n in range(many)], "rows": [{"n": 1}]}
        destructors.let_go(copies)
        assert copies == {}
    assert heard == []

    Loud(5)
    assert heard == [5]
