"""Functions that no name leads to, of modules beside the notebook and of made text; and code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.capture.observation.kernels import run

HELPER = """
import functools
LOG = []
CFG = {"scale": 1}
K = 1
def log(f):
    @functools.wraps(f)
    def inner(*a):
        LOG.append(f.__name__)
        return f(*a)
    return inner
def scaler(n):
    return lambda x: x * n * CFG["scale"] * K
def counter():
    n = 0
    def up():
        nonlocal n
        n += 1
        return n
    def now():
        return n
    return up, now
def failing(x):
    return [y for y in [1 / x + 2]]
"""
DEFINE = """
import helper
from helper import log, scaler, counter, failing
@log
def work(x): return x
sc = scaler(2)
up, now = counter()
up()
"""

NOTEBOOKS = {
    "globals that change": (
        [DEFINE, "z = work(1)", "helper.CFG['scale'] = 10; helper.K = 5"],
        "x = work(2), sc(3), helper.LOG",
    ),
    "one closure of two": ([DEFINE, "z = up()"], "up(); x = now(), up() is now()"),
    "the module's own": ([DEFINE], "x = sc.__globals__ is vars(helper), work.__module__"),
    "source of a wrapper": (
        [DEFINE],
        "import inspect; x = inspect.getsource(sc), sc.__code__.co_filename.endswith('helper.py')",
    ),
    "source of made text": (
        ["import sympy; t = sympy.Symbol('t'); f = sympy.lambdify(t, t ** 2 + 1)"],
        "import inspect; x = inspect.getsource(f), f(3)",
    ),
    "names of code": (
        ["c = compile('1/0', 'mine.py', 'exec'); d = c.replace(co_filename='abc.py')"],
        "x = c.co_filename, d.co_filename",
    ),
    "an error's way": (
        ["def bad(x): return 1/x + 2", "try: bad(0)\nexcept Exception as e: err = e"],
        "import traceback; x = [l.split(',')[-1] for l in traceback.format_exception(err)]",
    ),
    "an error over lines": (
        ["def bad(x): return (1 /\n   x) + 2", "try: bad(0)\nexcept Exception as e: err = e"],
        "x = [list(t.tb_frame.f_code.co_positions())[t.tb_lasti // 2]"
        " for t in (err.__traceback__, err.__traceback__.tb_next)]",
    ),
    "an error of a module": (
        [DEFINE, "try: failing(0)\nexcept Exception as e: err = e"],
        "import traceback; x = ''.join(traceback.format_exception(err)).split('helper.py')[-1]",
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("cells", "last"), NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_what_comes_back_is_as_in_plain(cells: list[str], last: str, tmp_path: Path) -> None:
    for name in ("plain", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "helper.py").write_text(HELPER)
    plain = run(tmp_path / "plain", [*cells, last], "x", mode="plain")
    run(tmp_path / "kept", cells, "1", mode="skip")
    shutil.copytree(tmp_path / "kept", tmp_path / "copied")
    again = run(tmp_path / "kept", [*cells, last], "x", mode="skip")
    resumed = run(tmp_path / "copied", ["%resume", last], "x", mode="skip")

    assert (plain.errors, again.errors, resumed.errors) == ([], [], [])
    assert again.restored
    assert again.value == plain.value
    assert resumed.value == plain.value
