"""What did not come back, and what goes on while a cell waits."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.kernels import Kernel

pytestmark = pytest.mark.sampled(7)

TASK = [
    "log = []",
    "import asyncio\nasync def job(n):\n    await asyncio.sleep(0.001)\n    log.append(n)",
    "t = asyncio.create_task(job(9))",
    "await asyncio.sleep(0.1)\ny = len(log)",
]
ALONE = ["async def f(n):\n    return n", "import asyncio\ny = await asyncio.gather(f(1), f(2))"]

FAILING = [
    "import os\nclass Bad:\n    def __setstate__(self, state):\n"
    "        if not os.path.exists('well'): raise ValueError('not now')\n"
    "        self.__dict__.update(state)",
    "rows = [1, 2]",
    "b = Bad()\nb.rows = rows",
    "rows.append(3)",
]


def run(folder: Path, cells: list[str], *after: str) -> tuple[str, list[str]]:
    """The value of the last expression, and what nbckpt said of all cells."""
    said, value = [], ""
    with Kernel(folder) as kernel:
        kernel.run("%load_ext nbckpt\n%nbckpt auto skip")
        for number, cell in enumerate(cells):
            ran = kernel.run(cell, cell_id=f"c{number}")
            assert ran.ok, ran.error
            said += ran.notices
        for cell in after:
            ran = kernel.run(cell)
            assert ran.ok, ran.error
            said += ran.notices
            value = ran.result or value
    return value, said


@pytest.mark.slow
def test_a_cell_that_waits_while_a_task_goes_on_runs(tmp_path: Path) -> None:
    assert run(tmp_path, TASK, "y")[0] == "1"

    value, said = run(tmp_path, [*TASK[:2], "1", TASK[3]], "y")

    assert value == "0"
    assert not any("restored 'cell-c3'" in line for line in said)


@pytest.mark.slow
def test_a_cell_that_waits_for_its_own_tasks_is_restored(tmp_path: Path) -> None:
    run(tmp_path, ALONE, "y")

    value, said = run(tmp_path, ALONE, "y")

    assert value == "[1, 2]"
    assert any("restored 'cell-c1'" in line for line in said)


WORKER = """
import asyncio
running = set()
async def work():
    await asyncio.sleep(60)
async def asked():
    task = asyncio.create_task(work())
    running.add(task)
    task.add_done_callback(running.discard)
    return 7
"""


@pytest.mark.slow
def test_a_cell_in_which_a_library_began_work_of_its_own_is_restored(tmp_path: Path) -> None:
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "asking.py").write_text(WORKER)
    cells = [
        "import sys; sys.path.insert(0, 'site-packages')\nimport asking",
        "y = await asking.asked()",
    ]
    run(tmp_path, cells, "y")

    value, said = run(tmp_path, cells, "y")

    assert value == "7"
    assert any("restored 'cell-c1'" in line for line in said), said


@pytest.mark.slow
def test_a_cell_that_has_its_own_set_of_tasks_emptied_later_runs(tmp_path: Path) -> None:
    cells = [
        "import asyncio\ntasks = set()",
        "t = asyncio.create_task(asyncio.sleep(60))\ntasks.add(t)\n"
        "t.add_done_callback(tasks.discard)\ny = 7",
    ]
    run(tmp_path, cells, "y")

    said = run(tmp_path, cells, "y")[1]

    assert not any("restored 'cell-c1'" in line for line in said), said


@pytest.mark.slow
def test_what_a_resume_could_not_bring_back_is_made_before_a_cell_reads_it(tmp_path: Path) -> None:
    run(tmp_path, FAILING)

    value, said = run(tmp_path, [], "%resume", "rows")

    assert value == "[1, 2, 3]", said


@pytest.mark.slow
def test_what_a_task_changes_while_a_later_cell_waits_is_kept(tmp_path: Path) -> None:
    large = "log = [str(i) for i in range(300_000)]"  # more than a glance looks at
    job = (
        "import asyncio\nasync def job():\n    await asyncio.sleep(0.01)\n    log.append(n)\nn = 7"
    )
    cells = [large, job, "t = asyncio.create_task(job())", "await asyncio.sleep(0.2)"]

    value, _ = run(tmp_path, cells, "log.append(8)", "%rewind cell-c3", "log[300_000:]")

    assert value == "[7]"


@pytest.mark.slow
def test_what_a_task_changes_between_two_cells_is_kept(tmp_path: Path) -> None:
    large = "log = [str(i) for i in range(300_000)]"
    job = "import asyncio\nasync def job(to):\n    await asyncio.sleep(0)\n    to.append(7)"
    cells = [large, job, "t = asyncio.create_task(job(log))", "1"]

    value, _ = run(tmp_path, cells, "log.append(8)", "%rewind cell-c3", "log[300_000:]")

    assert value == "[7]"


LARGE = "import asyncio, threading, time\nx = ['' for i in range(300_000)]"
INNER = "async def inner(v):\n    await asyncio.sleep(0.3)\n    v[0] = 'new'\n"
CHANGES = "def change(*_):\n    time.sleep(0.1)\n    x[0] = 'new'\n"
AFTER = "asyncio.get_running_loop().call_later(0.3,"

BESIDE = {
    "what a task waits for": (
        f"{INNER}async def outer():\n    await held.pop()",
        "held = [inner(x)]",
    ),
    "a generator": (
        "async def all(v):\n    await asyncio.sleep(0.3)\n    v[0] = 'new'\n    yield 1\n"
        "async def outer():\n    async for _ in held.pop(): pass",
        "held = [all(x)]",
    ),
    "a queue": (
        "q = asyncio.Queue()\nasync def outer():\n    (await q.get())[0] = 'new'",
        f"h = {AFTER} q.put_nowait, x)",
    ),
    "a timer": (CHANGES, f"h = {AFTER} change)"),
    "a timer of a method": ("", f"h = {AFTER} x.__setitem__, 0, 'new')"),
    "what follows a task": (
        CHANGES,
        "h = asyncio.ensure_future(asyncio.sleep(0.3)); h.add_done_callback(change)",
    ),
    "what follows a future": (
        f"{CHANGES}f = asyncio.Future(); f.add_done_callback(change)\n"
        "async def outer():\n    await asyncio.sleep(0.3); f.set_result(1)",
        "0",
    ),
    "a thread": (f"import time\n{CHANGES}", "t = threading.Thread(target=change); t.start()"),
    "a thread with arguments": (
        "def change(v):\n    time.sleep(0.3)\n    v[0] = 'new'\n",
        "t = threading.Thread(target=change, args=(x,)); t.start()",
    ),
    "a timer of a coroutine": (INNER, f"h = {AFTER} asyncio.ensure_future, inner(x))"),
    "a timer in a context": (
        "import contextvars, time",
        f"h = {AFTER} contextvars.copy_context().run, lambda: x.__setitem__(0, 'new'))",
    ),
    "a timer of tornado": (
        f"import time\nfrom tornado.ioloop import IOLoop\n{CHANGES}",
        "h = IOLoop.current().call_later(0.3, change)",
    ),
    "a reader": (
        "import os\nsource, sink = os.pipe()\ndef read():\n    os.read(source, 1); x[0] = 'new'\n"
        "def write():\n    time.sleep(0.3); os.write(sink, b'a')",
        "asyncio.get_running_loop().add_reader(source, read); threading.Thread(target=write).start()",
    ),
    "a part of a variable": (
        "y = [x]\nx = y[0]",
        f"h = {AFTER} y[0].__setitem__, 0, 'new')",
    ),
    "an executor": (CHANGES, "h = asyncio.get_running_loop().run_in_executor(None, change)"),
}


@pytest.mark.slow
@pytest.mark.parametrize("between", [False, True], ids=["while a cell waits", "between cells"])
@pytest.mark.parametrize("name", BESIDE)
def test_what_goes_on_beside_a_later_cell_is_kept(tmp_path: Path, name: str, between: bool) -> None:
    defines, starts = BESIDE[name]
    if "outer" in defines:
        starts = f"{starts}; t = asyncio.create_task(outer())"
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\n%nbckpt auto on")
        for number, cell in enumerate([LARGE, defines, f"{starts};", "w = 1"]):
            assert kernel.run(cell, cell_id=f"c{number}").ok
        if between:
            time.sleep(0.6)
        kernel.run("z = 1" if between else "await asyncio.sleep(0.6); z = 1", cell_id="c4")
        assert kernel.run("x[0]").result == "'new'"
        kernel.run("x = 0")
        kernel.run("%rewind cell-c4")

        assert kernel.run("x[0]").result == "'new'"


@pytest.mark.slow
def test_cells_that_nothing_goes_on_beside_are_not_looked_at_for_it(tmp_path: Path) -> None:
    """A thread of a pool that waits for work, and a task that is over, touch nothing."""
    pool = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\n%nbckpt auto on")
        kernel.run(f"{LARGE}\n{pool}pool.submit(x.append, 1).result()")
        kernel.run("t = asyncio.create_task(asyncio.sleep(0)); await t")
        kernel.run("shell = get_ipython()")

        beside = kernel.run(
            "from nbckpt.capture.background_work import at_work\nat_work(globals()), "
            "[m for m in shell.magics_manager.registry.values() if hasattr(m, '_cells')][0]"
            "._cells._background.names"
        )

    assert beside.result == "([], frozenset())", beside.error


def test_the_looks_at_threads_hold_nothing_of_these(tmp_path: Path) -> None:
    starts = (
        "import gc, threading, weakref\ngc.disable()\nrefs = []; end = threading.Event()\n"
        "class Large: pass\ndef work():\n    held = Large(); refs.append(weakref.ref(held))\n"
        "    end.wait()\nt = threading.Thread(target=work); t.start()"
    )
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\n%nbckpt auto on")
        for cell in (starts, "1", "2", "end.set(); t.join()"):
            assert kernel.run(cell).ok

        assert kernel.run("refs[0]()").result is None


@pytest.mark.slow
def test_what_cannot_be_looked_at_ends_no_cell(tmp_path: Path) -> None:
    odd = (
        "import asyncio\nclass Future:\n    __module__ = None\n    def __call__(self): pass\n"
        "h = asyncio.get_running_loop().call_later(60, Future())"
    )
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\n%nbckpt auto on")
        ran = [kernel.run(cell) for cell in (odd, "1")]

    assert [(r.ok, r.error, r.stderr) for r in ran] == [(True, "", "")] * 2
