"""*Run All* again in the same kernel and in new ones, compared with what plain kernels do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.kernels import Kernel, Ran

pytestmark = pytest.mark.sampled(7)

ASYNC = "import asyncio\nlog = []\n"
PLT = "import matplotlib.pyplot as plt\n"

NOTEBOOKS = {
    "a result that is a variable": ["x = [1]\nx", "Out[2] is x, _ is x, Out[2] == x"],
    "a variable in a result": ["x = [1]\n(x, 5)", "Out[2][0] is x"],
    "a result that is changed": ["x = [1]\nx", "x.append(2)\nlen(Out[2]), len(x)"],
    "a result of a frame": [
        "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\ndf",
        "df['b'] = 3\nlist(Out[2].columns), Out[2] is df",
    ],
    "a part of a result": [
        "d = {'a': [1]}\nd",
        "x = d['a']\nx",
        "Out[2] is d, Out[3] is x",
        "d['b'] = 1; len(Out[2])",
    ],
    "a result that is bound": ["[1, 2]", "x = Out[2]", "x is Out[2]", "x.append(1); Out[2]"],
    "the last result that is bound": ["[1, 2]", "x = _", "x is Out[2]", "x.append(1); Out[2]"],
    "parts of a result that are bound": ["(1, [2])", "x, y = Out[2]", "y.append(3)", "Out[2]"],
    "a result in a list that is bound": ["[4]", "x = [Out[2]]", "x[0].append(5)", "Out[2]"],
    "two results that are bound": ["[1, 2]", "[3]", "a = _", "c = _3", "c is a, c is Out[3]"],
    "a result with another name": [
        "x = [1]\nx",
        "y = x; del x",
        "y is Out[2]",
        "y.append(4); Out[2]",
    ],
    "a view of a result": [
        "import numpy as np\na = np.arange(5)\na",
        "b = a[1:]\nb",
        "a[1] = 77; Out[2].sum(), Out[3].sum(), b.sum()",
    ],
    "drawing switched off in a cell of its own": [
        "import matplotlib.pyplot as plt",
        "plt.ioff();",
        "plt.plot([1]);",
        "plt.isinteractive()",
    ],
    "a figure in a style": [
        f"{PLT}with plt.style.context('ggplot'):\n    plt.plot([1, 2]);",
        "plt.isinteractive()",
    ],
    "drawing switched off before the first figure": [
        f"{PLT}plt.ioff(); f = plt.figure(); plt.ion();",
        "plt.isinteractive()",
    ],
    "a figure after one that was shown": [f"{PLT}plt.plot([1, 2]);", "plt.plot([3, 4]);", "1"],
    "drawing switched off by a function": [
        f"{PLT}def off(): plt.ioff()",
        "off()",
        "plt.plot([1]);",
        "plt.isinteractive()",
    ],
    "drawing switched off by a setting": [
        PLT,
        "plt.rcParams['interactive'] = False",
        "plt.plot([1]);",
        "plt.isinteractive()",
    ],
    "drawing switched off and on": [
        "import matplotlib.pyplot as Q",
        "Q.ioff();",
        "Q.ion();",
        "Q.plot([1]);",
        "Q.isinteractive()",
    ],
    "drawing switched off by other names": [
        "from matplotlib.pyplot import *\noff = ioff",
        "off();",
        "plot([1]);",
    ],
    "a timer": [
        ASYNC,
        "asyncio.get_running_loop().call_later(0.05, log.append, 1);",
        "await asyncio.sleep(0.3)",
        "log[:]",
    ],
    "a call of the loop": [
        ASYNC,
        "asyncio.get_running_loop().call_soon(log.append, 1);",
        "len(log)",
    ],
    "a timer that a cell waited for": [
        "import asyncio, time\nx = 0\ndef put():\n    global x\n    x = 5",
        "asyncio.get_running_loop().call_later(0.05, put);",
        "time.sleep(0.1)",
        "await asyncio.sleep(0.1)",
        "x",
    ],
    "a task": [
        f"{ASYNC}async def job(n):\n    await asyncio.sleep(0.01); log.append(n)",
        "t = asyncio.create_task(job(9))",
        "await asyncio.sleep(0.2)",
        "y = len(log)",
        "y",
    ],
    "a task that has no name": [
        f"{ASYNC}async def f(v): log.append(v)",
        "asyncio.ensure_future(f(3));",
        "len(log)",
    ],
    "a task that waits for an event": [
        f"{ASYNC}ev = asyncio.Event()\n"
        "async def w():\n    await ev.wait(); log.append('x')\nt = asyncio.create_task(w())",
        "ev.set()",
        "await asyncio.sleep(0.05)",
        "log[:]",
    ],
    "a queue with a worker": [
        f"{ASYNC}q = asyncio.Queue()\n"
        "async def work():\n    while True:\n"
        "        log.append(2 * await q.get()); q.task_done()\n"
        "t = asyncio.create_task(work())",
        "await q.put(3)",
        "await asyncio.wait_for(q.join(), 5)",
        "log[:]",
    ],
    "what output widgets take": [
        "import ipywidgets as w\na = w.Output()",
        "b = w.Output()",
        "with a:\n    print('in a')",
        "with b:\n    print('in b')\nprint('in none')",
        "len(a.outputs), a.msg_id",
    ],
    "a style that is set": [f"{PLT}plt.style.use('ggplot')", "plt.plot([1, 2]);", "1"],
}


def shown(ran: Ran) -> list[Any]:
    """What a cell showed, but what nbckpt said."""
    displays = [d["data"].get("text/plain") for d in ran.displays if "nbckpt" not in d["metadata"]]
    return [ran.ok, ran.result, ran.stdout, displays]


def played(folder: Path, cells: list[str], kernels: int, times: int, load: str) -> list[list[Any]]:
    folder.mkdir()
    found = []
    for _ in range(kernels):
        with Kernel(folder) as kernel:
            kernel.run(load)  # one cell, so that those that follow have the same numbers
            found += [
                shown(kernel.run(cell, cell_id=f"c{number}"))
                for _ in range(times)
                for number, cell in enumerate(cells)
            ]
    return found


WAYS = ((1, 3), (3, 1), (2, 2))
"""So many kernels after each other, and so many times all cells in each."""


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_all_cells_run_again_show_what_they_do_plainly(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    cells = NOTEBOOKS[name]
    load = "%load_ext nbckpt\n%nbckpt auto skip"
    most = max(times for _, times in WAYS)
    plain = played(tmp_path / "plain", cells, 1, most, "1")  # a new kernel begins as any other

    for kernels, times in WAYS:
        kept = played(tmp_path / f"{kernels} kernels", cells, kernels, times, load)

        assert (kernels, kept) == (kernels, plain[: times * len(cells)] * kernels)


def test_a_part_of_a_result_that_is_taken_again_is_that_part(tmp_path: Path) -> None:
    cells = ["d = {'a': [1]}\nd", "x = d['a']\nx", "x = d['a']\nx", "Out[2] is d, Out[3] is x"]
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\n%nbckpt auto skip")
        for cell, cell_id in zip(cells, ["c0", "c1", "c1", "c2"], strict=True):
            ran = kernel.run(cell, cell_id=cell_id)

    assert ran.result == "(True, True)"


@pytest.mark.slow
def test_a_word_that_others_use_too_says_nothing_of_drawing(tmp_path: Path) -> None:
    cells = ["import matplotlib.pyplot as plt", "context = 'a'; print('made')", "plt.plot([1]);"]
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\n%nbckpt auto skip")
        ran = [kernel.run(c, cell_id=f"c{n}") for _ in range(2) for n, c in enumerate(cells)]

    assert any("restored 'cell-c1'" in notice for notice in ran[4].notices)


@pytest.mark.slow
def test_what_a_frame_keeps_of_a_mean_is_no_change_to_a_result(tmp_path: Path) -> None:
    cells = [
        "import pandas as pd",
        "df = pd.DataFrame({'key': ['a', 'b', 'a'], 'data': [1.0, 2.0, 3.0]})\ndf",
        "grouped = df['data'].groupby(df['key'])\ngrouped",
        "grouped.mean()",
    ]
    for _ in range(2):
        with Kernel(tmp_path) as kernel:
            kernel.run("%load_ext nbckpt\n%nbckpt auto skip")
            ran = [kernel.run(cell, cell_id=f"c{n}") for n, cell in enumerate(cells)]

    assert any("restored 'cell-c3'" in notice for notice in ran[3].notices)
