"""While no cell runs, what a thread or a callback changed is found, kept and told."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from nbckpt.session.session import Session
from nbckpt.session.verification_sweep import NAME
from nbckpt.steps.current_session import session as current
from nbckpt.storage.store import Store
from tests.jupyter.test_cells import run
from tests.kernels import Kernel, Ran

IDLE_S = 0.3
NOTHING = "%nbckpt auto off"

LATER = """
import asyncio, threading, numpy as np
items, array, plain = [1], np.zeros(50_000), [0]
def change():
    items.append(2)
    array[7] = 1
"""
BY = {
    "a thread": "threading.Timer(0.2, change).start()",
    "a callback of the loop": "_ = asyncio.get_running_loop().call_later(0.2, change)",
}

pytestmark = pytest.mark.changes_unseen


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    """A kernel that counts as idle after a moment, with nbckpt loaded."""
    monkeypatch.setenv("NBCKPT_IDLE_S", str(IDLE_S))
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%nbckpt auto on")
        yield kernel


def said(ran: Ran) -> str:
    """All that a cell said, in one line, without colours."""
    text = "\n".join([*ran.notices, ran.stdout, ran.stderr, ran.error])
    return " ".join(re.sub(r"\x1b\[[\d;]*m", "", text).split())


def kept_in(folder: Path, name: str, ref: str) -> Any:
    """A variable as another process finds it in the store."""
    from nbckpt.session.checkpoint_view import Look

    store = Store.open(folder / ".nbckpt", create=False)
    session = Session(store, {})
    value = Look(session, session.get(ref)).values[name]
    store.close()
    return value


def idle() -> None:
    """Time for the kernel to find itself idle, and to look."""
    time.sleep(IDLE_S + 0.7)


def until_kept(folder: Path, most_s: float = 30) -> None:
    """Return when a sweep has kept something."""
    deadline = time.monotonic() + most_s
    while time.monotonic() < deadline:
        store = Store.open(folder / ".nbckpt", create=False)
        store.refresh()
        names = [record["name"] for record in store.records("checkpoint")]
        store.close()
        if NAME in names:
            return
        time.sleep(0.1)
    message = f"nothing was kept within {most_s} s"
    raise AssertionError(message)


@pytest.mark.slow
@pytest.mark.parametrize("way", BY)
def test_what_changes_behind_the_cells_is_found_kept_and_told_once(
    kernel: Kernel, tmp_path: Path, way: str
) -> None:
    kernel.run(f"%%checkpoint made\n{LATER}")
    kernel.run(BY[way])
    until_kept(tmp_path)

    found = kept_in(tmp_path, "items", "main"), kept_in(tmp_path, "array", "main")
    told, again = said(kernel.run(NOTHING)), said(kernel.run(NOTHING))
    log = said(kernel.run("%nbckpt log"))
    kernel.run("%rewind made")
    before = kernel.value("(items, array.sum())")
    kernel.run("%rewind -")
    after = kernel.value("(items, array.sum(), plain)")

    assert found[0] == [1, 2]
    assert found[1].sum() == 1
    assert told == (
        "nbckpt: 'array', 'items' were changed by something other than a cell (a thread or a "
        "callback); kept as 'changed-while-idle'"
    )
    assert again == ""
    assert "#automatic" in log
    assert before == "([1], np.float64(0.0))"
    assert after == "([1, 2], np.float64(1.0), [0])"


@pytest.mark.slow
def test_what_a_widgets_callback_changes_is_found(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(
        "%%checkpoint made\nfrom comm import create_comm\nclicks = []\n"
        "def clicked(message):\n    clicks.append(message['content']['data'])"
    )
    kernel.run("button = create_comm(target_name='button'); button.on_msg(clicked)")
    comm = kernel.value("button.comm_id").strip("'")
    idle()
    content = {"comm_id": comm, "data": {"n": 1}}
    kernel.client.shell_channel.send(kernel.client.session.msg("comm_msg", content))
    until_kept(tmp_path)

    assert kept_in(tmp_path, "clicks", "changed-while-idle") == [{"n": 1}]
    assert "'clicks' was changed" in said(kernel.run(NOTHING))


@pytest.mark.slow
def test_a_variable_that_a_thread_binds_and_one_that_it_deletes_are_found(
    kernel: Kernel, tmp_path: Path
) -> None:
    kernel.run("%%checkpoint made\nimport threading\nold = [1]\ndef act(space):\n"
               "    space['new'] = [5]\n    del space['old']")  # fmt: skip
    kernel.run("threading.Timer(0.2, act, (globals(),)).start()")
    until_kept(tmp_path)
    told = said(kernel.run(NOTHING))

    assert kept_in(tmp_path, "new", "changed-while-idle") == [5]
    assert "'new', 'old' were changed" in told
    assert "-old" in said(kernel.run("%nbckpt log"))


@pytest.mark.slow
def test_where_nothing_changed_nothing_is_kept_or_said(kernel: Kernel) -> None:
    kernel.run(f"%%checkpoint made\n{LATER}\ntext, nested = {{'a', 'b'}}, {{'k': [items, plain]}}")
    kernel.run("plain.append(1)")
    kernel.run("n = len(items)")
    idle()

    said_then = said(kernel.run(NOTHING))
    log = said(kernel.run("%nbckpt log"))

    assert said_then == ""
    assert "changed-while-idle" not in log


@pytest.mark.slow
def test_what_came_back_in_another_process_is_what_was_kept(kernel: Kernel, tmp_path: Path) -> None:
    made = (
        "import numpy as np, matplotlib; matplotlib.use('agg')\nfrom matplotlib import pyplot\n"
        "class Kind:\n    def __init__(self):\n        self.tags = {'a', 'b', 'c', 'd', 'e'}\n"
        "kind = Kind(); words = {f'word {n}' for n in range(50)}; array = np.ones(10)\n"
        "def size(of=frozenset(words)): return len(of)\n"
        "figure, axes = pyplot.subplots(); _ = axes.plot([1, 2])"
    )
    kernel.run(made, cell_id="made")
    with Kernel(tmp_path) as other:
        other.run("%load_ext nbckpt")
        other.run("%nbckpt auto skip")
        restored = other.run(made, cell_id="made")
        idle()
        said_then = said(other.run("%nbckpt status"))
        log = said(other.run("%nbckpt log"))

    assert "restored" in said(restored)
    assert "changed by" not in said_then
    assert "changed-while-idle" not in log


@pytest.mark.slow
def test_a_cell_that_waits_on_the_loop_is_not_looked_at(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(f"%%checkpoint made\n{LATER}")

    ran = kernel.run(f"change()\nawait asyncio.sleep({IDLE_S * 4})")

    assert ran.ok
    with pytest.raises(KeyError):
        kept_in(tmp_path, "items", "changed-while-idle")


@pytest.mark.slow
def test_tables_of_the_head_are_written_while_nothing_runs(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run("import pandas as pd\ndf = pd.DataFrame({'x': [1, 2]})")
    kernel.run("df['x'] *= 10\n__import__('nbckpt').wait()")
    tables = tmp_path / ".nbckpt" / "tables"
    at_once = len(list(tables.glob("*.parquet")))
    deadline = time.monotonic() + 30
    while not (written := list(tables.glob("*.parquet"))) and time.monotonic() < deadline:
        time.sleep(0.1)

    assert at_once == 0
    assert len(written) == 1


@pytest.mark.slow
def test_a_cell_of_a_subshell_is_not_looked_at_while_it_runs(
    kernel: Kernel, tmp_path: Path
) -> None:
    kernel.run(f"%%checkpoint made\n{LATER}")
    session, control = kernel.client.session, kernel.client.control_channel
    control.send(session.msg("create_subshell_request", {}))
    subshell = control.get_msg(timeout=30)["content"]["subshell_id"]
    code = f"import time\nchange(); time.sleep({IDLE_S * 5})\nhalf = 1"
    message = session.msg("execute_request", {"code": code, "silent": False, "store_history": True})
    message["header"]["subshell_id"] = subshell
    kernel.client.shell_channel.send(message)
    idle()

    during = said(kernel.run("%nbckpt log"))
    ended = kernel.collect(message["header"]["msg_id"])
    kernel.run("__import__('nbckpt').wait()")  # `auto on` does not wait for the disk

    assert ended.ok, ended.error
    assert NAME not in during
    assert kept_in(tmp_path, "items", "main") == [1, 2]


@pytest.mark.slow
def test_a_shell_without_a_loop_looks_when_it_is_asked(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    # Too long to be glanced at before the cell that asks.
    run(shell, "%%checkpoint made\nheld = [1] * 50_000; same = [2]")
    run(shell, "%nbckpt check --memory")
    before = capsys.readouterr().out
    shell.user_ns["held"].append(2)

    run(shell, "%nbckpt check --memory")
    told = capsys.readouterr().out
    run(shell, "%rewind made")

    assert "all that is kept is as it was kept" in before
    assert "kept now as 'changed-while-idle': held" in told
    assert shell.user_ns["held"] == [1] * 50_000
    assert not run(shell, "%nbckpt check all").success


def test_what_was_changed_between_two_cells_is_no_doing_of_the_second(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%nbckpt auto on")
    run(shell, "import numpy as np\nitems = [1]; holder = {'a': items}; row = np.zeros(5)")
    run(shell, "first = 1")
    exec("items.append(2); row[0] = 7", shell.user_ns)
    run(shell, "second = 2")
    made = nbckpt.history()[0]
    run(shell, "items.append(3); row[1] = 9")

    nbckpt.rewind(made.id)

    assert shell.user_ns["items"] == [1, 2]
    assert shell.user_ns["holder"]["a"] is shell.user_ns["items"]
    assert shell.user_ns["row"].tolist() == [7, 0, 0, 0, 0]
    assert current().get(made.id).bound == ("second",)
    assert "'holder', 'items', 'row' were changed by something" in capsys.readouterr().err


COUNTED = """
import nbckpt.jupyter.idling
nbckpt.jupyter.idling.READY_S = 1
from nbckpt.capture.observation.observer import Observer
looks, look = [], Observer.look
def counting(self):
    looks.append(1)
    look(self)
Observer.look = counting
"""


@pytest.mark.slow
def test_the_libraries_are_looked_at_in_a_pause_and_not_between_cells_that_come_at_once(
    tmp_path: Path,
) -> None:
    with Kernel(tmp_path) as kernel:
        for cell in (COUNTED, "%load_ext nbckpt", "import time\ntime.sleep(1.5)"):
            kernel.run(cell)
        at_once = kernel.run("print(len(looks))")
        time.sleep(3)
        later = kernel.run("print(len(looks))")

    assert (at_once.stdout.strip(), later.stdout.strip()) == ("0", "1")


LOADED = """
import time, nbckpt.jupyter.idling as idling
idling.ANSWERED_S = 1
parts, loaded = idling.preloading.parts, []
def counting():
    for part in parts():
        loaded.append('part')
        yield
    loaded.append('all')
idling.preloading.parts = counting
"""


@pytest.mark.slow
def test_the_code_of_steps_is_loaded_in_a_pause_and_not_between_cells_that_come_at_once(
    tmp_path: Path,
) -> None:
    with Kernel(tmp_path) as kernel:
        for cell in (LOADED, "%load_ext nbckpt", "time.sleep(1.5)"):
            kernel.run(cell)
        at_once = kernel.run("print(loaded)")
        time.sleep(4)
        later = kernel.run("print(loaded[-1])")

    assert (at_once.stdout.strip(), later.stdout.strip()) == ("[]", "all")


@pytest.mark.slow
def test_interrupts_of_a_kernel_at_rest_leave_nothing_half_loaded(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        for _ in range(40):
            time.sleep(0.02)
            kernel.interrupt()
        time.sleep(2)
        kernel.run("%nbckpt auto on")
        kept = kernel.run("a = [1]")
        cells = kernel.value("[c.cell.source for c in __import__('nbckpt').history()]")

    assert kept.ok
    assert cells == "['a = [1]']"
