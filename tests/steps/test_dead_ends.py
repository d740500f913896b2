"""What could not be kept is made again by its cells when a later cell needs it."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import RestoreError
from nbckpt.jupyter.runner.run import Run, run
from nbckpt.model import Cell, Checkpoint
from nbckpt.session.workspace.unkept import Maker
from nbckpt.steps.cell_results import Lost
from tests.kernels import Kernel
from tests.running import environment, texts_of, write_notebook

pytestmark = pytest.mark.sampled(5)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.delenv("NBCKPT_STORE", raising=False)


def run_cells(folder: Path, cells: Sequence[str]) -> Run:
    named = {f"c{number}": cell for number, cell in enumerate(cells)}
    return run(write_notebook(folder / "work.ipynb", named))


def ways(done: Run) -> list[str]:
    return [cell.way or cell.ending for cell in done.cells]


def shown(done: Run) -> list[str]:
    return list(texts_of(done.out).values())


DEAD_ENDS = {
    "a file that is written to": [
        "fh = open('log.txt', 'w')\nn = fh.write('head,')",
        "n = fh.write('one,'); import time; t = time.time()",
        "n = fh.write('two'); fh.close(); open('log.txt').read() if t else ''",
    ],
    "a connection in memory": [
        "import sqlite3, threading\nclass Base(threading.local):\n    rows = []\n"
        "class Lock:\n    def __reduce__(self): raise TypeError('no')\nbase = Lock(); base.rows = [1]",
        "base.rows.append(2)",
        "import time; print(sum(base.rows), bool(time.time()))",
    ],
    "a generator that is sent to": [
        "def counted():\n    x = 0\n    while True:\n        x = (yield x) or x + 1\n"
        "g = counted(); first = next(g)",
        "print(g.send(5))",
        "print(g.send(None), next(g))",
    ],
    "a task": [
        "import asyncio\nasync def work():\n    await asyncio.sleep(0.01)\n    return 5\n"
        "task = asyncio.create_task(work())",
        "print(await task)",
        "print(task.result() + 1)",
    ],
    "an asynchronous generator": [
        "async def rows():\n    try:\n        yield 1\n        yield 2\n    finally: print('closed')\n"
        "g = rows(); a = await g.__anext__()",
        "print(await g.__anext__())",
        "await g.aclose()\nprint(a)",
    ],
    "a queue that is emptied": [
        "import queue\nq = queue.SimpleQueue(); q.put(1); q.put(2)",
        "print(q.get())",
        "print(q.get_nowait())",
    ],
    "a parser that is fed": [
        "from xml.etree.ElementTree import XMLPullParser\n"
        "p = XMLPullParser(['end']); p.feed('<a><b/>')",
        "p.feed('</a>')\nprint([e.tag for _, e in p.read_events()])",
    ],
    "an object that prints at its end": [
        "class D:\n    def __del__(self): print('gone')",
        "d = D()\ndeep = [D()]",
        "del d\ndel deep\nimport gc; _n = gc.collect()",
    ],
    "a pipe": [
        "import os\nr, w = os.pipe()",
        "n = os.write(w, b'x')",
        "print(os.read(r, 1)); os.close(r); os.close(w)",
    ],
    "shared memory": [
        "from multiprocessing import shared_memory\n"
        "s = shared_memory.SharedMemory(create=True, size=8)",
        "s.buf[0] = 5",
        "print(s.buf[0]); s.close(); s.unlink()",
    ],
    "what a function puts into it": [
        "import queue\ndef put(x): q.put(x)",
        "q = queue.SimpleQueue()",
        "put(3)",
        "print(q.get_nowait())",
    ],
    "the shell": ["ip = get_ipython()\nk = 5", "print(ip.user_ns['k'])"],
    "what a function reads": [
        "import threading\nlock = threading.Lock(); lock.acquire()\nbox = [lock, 1]\n"
        "class No:\n    def __reduce__(self): raise TypeError('no')\nno = No(); no.x = 3",
        "def reads():\n    return no.x",
        "import time; print(reads() + 0 * int(time.time()))",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("cells", DEAD_ENDS.values(), ids=DEAD_ENDS)
def test_a_notebook_that_ran_once_runs_again_to_its_end(cells: list[str], tmp_path: Path) -> None:
    first = run_cells(tmp_path, cells)
    texts = shown(first)

    again = run_cells(tmp_path, cells)

    assert (first.ending, again.ending, again.problem) == ("done", "done", "")
    assert shown(again) == texts


NO = "class No:\n    def __reduce__(self): raise TypeError('no')\n"


@pytest.mark.slow
def test_an_edited_reader_finds_what_earlier_cells_had_made_of_it(tmp_path: Path) -> None:
    cells = [f"{NO}no = No(); no.x = [1]", "no.x.append(2)", "len(no.x)"]
    run_cells(tmp_path, cells)

    again = run_cells(tmp_path, [*cells[:2], "sum(no.x)"])

    assert shown(again)[2] == "3"


@pytest.mark.slow
def test_what_nothing_needs_is_not_made_again(tmp_path: Path) -> None:
    cells = [f"{NO}open('ran', 'a').write('x')\nno = No(); k = 1", "k + 1"]
    run_cells(tmp_path, cells)

    again = run_cells(tmp_path, cells)

    assert ways(again) == ["restored", "restored"]
    assert (tmp_path / "ran").read_text() == "x"


def played(folder: Path, cells: Sequence[str], *, auto: str = "on") -> list[str]:
    """Run cells in a kernel that dies, as notebooks do."""
    with Kernel(folder) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run(f"%nbckpt auto {auto} --sync")
        results = [kernel.run(cell, f"c{i}") for i, cell in enumerate(cells)]
        assert all(ran.ok for ran in results), [ran.error for ran in results]
        kernel.kill()
    return [ran.stdout + (ran.result or "") for ran in results]


@pytest.mark.slow
@pytest.mark.parametrize("auto", ["on", "skip", "off"])
def test_after_a_resume_the_next_cell_finds_what_could_not_be_kept(
    auto: str, tmp_path: Path
) -> None:
    cells = [f"{NO}rows = [1]\nno = No(); no.rows = rows", "no.rows.append(2)", "rows.append(3)"]
    played(tmp_path, cells)

    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run(f"%nbckpt auto {auto}")
        kernel.run("%resume")
        ran = kernel.run("print(no.rows[0], len(rows))", "c9")

    assert (ran.ok, ran.stdout.split()[0]) == (True, "1")
    assert any("made again by 'cell-c0'" in notice for notice in ran.notices)


@pytest.mark.slow
def test_a_cell_is_run_again_on_what_it_read_then(tmp_path: Path) -> None:
    cells = ["name = 'first'", f"{NO}no = No(); no.name = name", "name = 'second'"]
    played(tmp_path, cells)

    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%resume")
        ran = kernel.run("print(no.name, name)", "c9")

    assert ran.stdout == "first second\n"


@pytest.mark.slow
def test_a_cell_that_is_run_again_changes_nothing_else(tmp_path: Path) -> None:
    cells = [
        "import random\nrows = []\nrandom.seed(1)",
        f"{NO}rows.append(1); i = 5; drawn = random.random()\nno = No(); no.drawn = drawn",
        "i = 7; rows.append(2)",
    ]
    played(tmp_path, cells)
    look = "print(rows, i, no.drawn == drawn, random.random())"
    with Kernel(tmp_path) as kernel:
        for cell in ["%load_ext nbckpt", *cells]:
            kernel.run(cell)
        plain = kernel.run(look).stdout

    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%resume")
        ran = kernel.run(look, "c9")

    assert ran.stdout == plain
    assert plain.startswith("[1, 2] 7 True")


@pytest.mark.slow
def test_what_was_kept_fits_together_with_what_is_made_again(tmp_path: Path) -> None:
    cells = [f"{NO}part = [1]\nno = No(); no.part = part", "other = 1"]
    played(tmp_path, cells)

    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%resume")
        ran = kernel.run("print(no.part is part)", "c9")

    assert ran.stdout == "True\n"


@pytest.mark.slow
def test_a_cell_that_nobody_asked_for_does_not_act_outside_unasked(tmp_path: Path) -> None:
    cells = ["log = open('log.txt', 'w')\nn = log.write('head'); log.flush()", "other = 1"]
    played(tmp_path, cells)
    (tmp_path / "log.txt").write_text("precious")

    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%resume")
        ran = kernel.run("log.write('more')", "c9")

    assert not ran.ok
    assert any("run that cell first" in notice for notice in ran.notices), ran.notices
    assert (tmp_path / "log.txt").read_text() == "precious"


@pytest.mark.slow
def test_a_cell_that_fails_when_it_is_run_again_is_named(tmp_path: Path) -> None:
    cells = [
        f"{NO}import pathlib\nx = pathlib.Path('there').read_text()\nno = No()",
        "other = 1",
    ]
    (tmp_path / "there").write_text("x")
    played(tmp_path, cells)
    (tmp_path / "there").unlink()

    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%resume")
        ran = kernel.run("no.x", "c9")

    assert not ran.ok
    assert any("'cell-c0', which makes it, failed: FileNotFoundError" in n for n in ran.notices)


@pytest.mark.slow
def test_a_kept_call_of_a_cell_that_runs_again_is_not_repeated(tmp_path: Path) -> None:
    cells = [
        f"{NO}import nbckpt\n@nbckpt.step\ndef asked(x):\n    open('calls', 'a').write('x')\n"
        "    return x\nno = No(); no.answer = asked(3)",
    ]
    run_cells(tmp_path, cells)

    again = run_cells(tmp_path, [*cells, "print(no.answer)"])

    assert shown(again)[1] == "3\n"
    assert (tmp_path / "calls").read_text() == "x"


@pytest.mark.slow
def test_a_name_that_was_bound_again_is_not_made_again(tmp_path: Path) -> None:
    cells = [f"{NO}no = No()\nopen('ran', 'a').write('x')", "other = 1"]
    run_cells(tmp_path, cells)

    again = run_cells(tmp_path, [*cells, "no = 3", "del no", "'no' in globals()"])

    assert shown(again)[4] == "False"
    assert (tmp_path / "ran").read_text() == "x"


UNKEPT = "class U:\n    def __reduce_ex__(self, p): raise TypeError('no')\n"
SHARING = {
    "changed by its name": [
        UNKEPT + "a = [1]", "b = [a, U()]", "a.append(2)",
        "b[0].append(4); print(a, b[0] is a)"],
    "changed by another name": [
        UNKEPT + "a = [1]", "b = [a, U()]", "c = a\nc.append(2)",
        "print(len(b[0]), b[0] is c, a is c)"],
    "held by another variable, too": [
        UNKEPT + "a = [1]; d = {'a': a}", "b = [a, U()]", "a.append(2)",
        "b[0].append(4); print(a, b[0] is a, d['a'] is a)"],
    "beside a generator": [
        "a = [1]", "b = (a, (i for i in iter(int, 1)))", "a.append(2)",
        "b[0].append(4); print(a, b[0] is a)"],
    "changed twice": [
        UNKEPT + "a = [1]", "b = [a, U()]", "a.append(2)", "b[0].append(3)", "a.append(4)",
        "print(a, b[0] is a)"],
    "bound anew": [
        UNKEPT + "a = [1]", "b = [a, U()]", "a = [9]", "print(a, b[0], b[0] is a)"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("cells", SHARING.values(), ids=SHARING)
def test_what_is_made_again_shares_with_what_was_restored(cells: list[str], tmp_path: Path) -> None:
    first = run_cells(tmp_path, cells)
    text = shown(first)[-1].strip()
    run_cells(tmp_path, cells)

    edited = run_cells(tmp_path, [*cells[:-1], cells[-1] + ";  0"])

    assert first.problem == edited.problem == ""
    assert shown(edited)[-1].splitlines()[0] == text


RESULTS = {
    "a number": ["21 * 2", "print(_ + 1)"],
    "a number of lines before": ["21 * 2", "1", "print(bin(_1), __, _2, In[1])"],
    "a variable": ["x = [1]; x", "print(Out[1] is x, _ is x)"],
    "what a variable holds": [
        "x = [1]\n{'a': x}",
        "y = 1",
        "print(Out[1]['a'] is x, _1['a'] is x)",
    ],
    "a frame": ["import pandas as pd\npd.DataFrame({'a': [1, 2]})", "print(_.a.sum())"],
    "what cannot be kept": ["import threading\nthreading.Lock()", "print(_.locked())"],
}


@pytest.mark.slow
@pytest.mark.parametrize("cells", RESULTS.values(), ids=RESULTS)
def test_the_result_of_a_restored_cell_is_its_value(cells: list[str], tmp_path: Path) -> None:
    first = run_cells(tmp_path, cells)
    texts = shown(first)
    run_cells(tmp_path, cells)

    edited = run_cells(tmp_path, [*cells[:-1], cells[-1] + ";  0"])

    assert first.problem == edited.problem == ""
    assert shown(edited)[-1].splitlines()[0] == texts[-1].strip()


@pytest.mark.slow
def test_a_result_that_changed_with_a_variable_is_not_what_it_was_before(tmp_path: Path) -> None:
    cells = [
        "import numpy as np\nclass T:\n    def __init__(self): self.v = np.zeros(4)\nt = T()",
        "t.v[:2]",
        "t.v[0] = 9",
    ]
    run_cells(tmp_path, [*cells, "print(Out[2][0])"])

    edited = run_cells(tmp_path, [*cells, "print(Out[2][0], 1)"])

    assert edited.ending == "failed"
    assert "the result of the restored cell 'cell-c1' was not kept: run that cell" in edited.problem


WAYS: list[Callable[[Any], object]] = [
    repr, str, bool, len, iter, hash, int, float, copy.copy, pickle.dumps, operator.neg,
    lambda v: v + 1, lambda v: 1 + v, lambda v: v.x, lambda v: v[0], lambda v: v(),
    lambda v: v == 1, lambda v: f"{v}", lambda v: [*v], lambda v: "x" in v,
    lambda v: isinstance(v, int) or bool(v),
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_result_that_was_not_kept_raises_whatever_is_done_with_it(
    way: Callable[[Any], object],
) -> None:
    made = Checkpoint("a", None, "train", "main", "s", "n", 0.0, 0.0, Cell("f()"))

    with pytest.raises(RestoreError, match="'train' was not kept: run that cell"):
        way(Lost(Maker(made, made.cell)))
