"""What did not come back, and what goes on while a cell waits."""

from __future__ import annotations

from pathlib import Path

from tests.kernels import Kernel

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


def test_a_cell_that_waits_while_a_task_goes_on_runs(tmp_path: Path) -> None:
    assert run(tmp_path, TASK, "y")[0] == "1"

    value, said = run(tmp_path, [*TASK[:2], "1", TASK[3]], "y")

    assert value == "0"
    assert not any("restored 'cell-c3'" in line for line in said)


def test_a_cell_that_waits_for_its_own_tasks_is_restored(tmp_path: Path) -> None:
    run(tmp_path, ALONE, "y")

    value, said = run(tmp_path, ALONE, "y")

    assert value == "[1, 2]"
    assert any("restored 'cell-c1'" in line for line in said)


def test_what_a_resume_could_not_bring_back_is_made_before_a_cell_reads_it(tmp_path: Path) -> None:
    run(tmp_path, FAILING)

    value, said = run(tmp_path, [], "%resume", "rows")

    assert value == "[1, 2, 3]", said


def test_what_a_task_changes_while_a_later_cell_waits_is_kept(tmp_path: Path) -> None:
    large = "log = [str(i) for i in range(300_000)]"  # more than a glance looks at
    job = (
        "import asyncio\nasync def job():\n    await asyncio.sleep(0.01)\n    log.append(n)\nn = 7"
    )
    cells = [large, job, "t = asyncio.create_task(job())", "await asyncio.sleep(0.2)"]

    value, _ = run(tmp_path, cells, "log.append(8)", "%rewind cell-c3", "log[300_000:]")

    assert value == "[7]"


def test_what_a_task_changes_between_two_cells_is_kept(tmp_path: Path) -> None:
    large = "log = [str(i) for i in range(300_000)]"
    job = "import asyncio\nasync def job(to):\n    await asyncio.sleep(0)\n    to.append(7)"
    cells = [large, job, "t = asyncio.create_task(job(log))", "1"]

    value, _ = run(tmp_path, cells, "log.append(8)", "%rewind cell-c3", "log[300_000:]")

    assert value == "[7]"
