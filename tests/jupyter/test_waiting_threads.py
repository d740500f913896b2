"""What a timer, or work that waits in a pool's queue, changes between cells is kept."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nbckpt.capture.background_threads import threads_at_work
from tests.notebooks import resumed, run

SETUP = """
import threading
from concurrent.futures import ThreadPoolExecutor
class P:
    def __init__(self, n): self.n = n
objects = [P(n) for n in range(3000)]
done = []
def job(): objects[0].n = 1000
"""
WAYS = {
    "a timer": ("t = threading.Timer(0.3, job); t.start()", "t.join()"),
    "a timer's argument": ("t = threading.Timer(0.3, lambda f: f(), [job]); t.start()", "t.join()"),
    "a pool": (
        "pool = ThreadPoolExecutor(1); go = threading.Event()\n"
        "first = pool.submit(go.wait, 60); second = pool.submit(job)",
        "go.set(); second.result()",
    ),
    "a map of a pool": (
        "pool = ThreadPoolExecutor(1); go = threading.Event()\n"
        "first = pool.submit(go.wait, 60); rest = pool.map(lambda n: job(), [1, 2])",
        "go.set(); pool.shutdown(wait=True)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_what_waiting_work_changes_is_kept(auto: Any, way: str) -> None:
    begins, ends = WAYS[way]
    run(auto, SETUP)
    run(auto, begins)
    run(auto, ends)

    run(auto, "y = 1")

    assert resumed(auto)["objects"][0].n == 1000


UNSEEN = {
    "a callback for the end of a task that runs": (
        "pool = ThreadPoolExecutor(1); pool.submit(go.wait, 60).add_done_callback(lambda _: job()); 0"
    ),
    "what a task that runs calls": (
        "pool = ThreadPoolExecutor(1)\n"
        "pool.submit(list, map(lambda f: f(), [lambda: go.wait(60), job])); 0"
    ),
    "a function of C and a part of a variable": (
        "threading.Timer(0.4, setattr, (objects[0], 'n', 1000)).start()"
    ),
    "a method of C of a part of a variable": (
        "threading.Timer(0.4, table['a'].append, (1,)).start()"
    ),
    "a timer with a function of its own": """
class T(threading.Timer):
    def __init__(self, call): super().__init__(0.4, None); self.call = call
    def run(self): self.finished.wait(self.interval); self.call()
T(job).start()
""",
    "a thread that was given a part of a variable": """
def late(part): go.wait(60); part.n = 1000
threading.Thread(target=late, args=(objects[0],)).start()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("way", UNSEEN)
def test_what_a_library_does_later_with_what_it_was_given_is_kept(auto: Any, way: str) -> None:
    run(auto, SETUP + "from collections import deque\ngo = threading.Event()")
    run(auto, "table = {'a': deque(P(n) for n in range(3000))}")
    run(auto, UNSEEN[way])
    for _ in range(3):
        run(auto, "x = 1")
    auto.user_ns["go"].set()
    time.sleep(0.8)
    run(auto, "y = 1")
    run(auto, "pool = go = None")

    namespace = resumed(auto)
    assert namespace["objects"][0].n == 1000 or 1 in namespace["table"]["a"]


BESIDE = """
kept = []
def register(rows): kept.append(rows)
def bump(*_):
    if kept: kept[0][0].n = 1000
"""
BY_MODULE = {
    "a timer": (
        "def f(): beside_threads.bump()\nthreading.Timer(0.4, f).start()",
        "time.sleep(0.8)",
    ),
    "a thread": (
        "def f(): time.sleep(0.4); beside_threads.bump()\nthreading.Thread(target=f).start()",
        "time.sleep(0.8)",
    ),
    "a callback": (
        "def f(*_): beside_threads.bump() if go else None\ngo = False\n"
        "ip = get_ipython(); ip.events.register('pre_run_cell', f)",
        "go = True",
    ),
    "a module's function as a callback": (
        "ip = get_ipython(); ip.events.register('post_run_cell', beside_threads.bump)",
        "go = True",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", BY_MODULE)
def test_what_a_module_changes_beside_the_cells_is_kept(
    auto: Any, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside_threads.py").write_text(BESIDE)
    monkeypatch.syspath_prepend(str(tmp_path))
    begins, ends = BY_MODULE[way]
    try:
        run(auto, SETUP + "import beside_threads, time")
        if "function" not in way:
            run(auto, "beside_threads.register(objects)")
        run(auto, begins)
        run(auto, "x = 1")
        if "function" in way:
            run(auto, "from beside_threads import register; register(objects)")
        run(auto, ends)
        run(auto, "y = 1")
        run(auto, "z = 1")

        assert resumed(auto)["objects"][0].n == 1000
    finally:
        sys.modules.pop("beside_threads", None)
        for event in ("pre_run_cell", "post_run_cell"):
            for call in list(auto.events.callbacks[event]):
                if getattr(call, "__name__", "") in ("f", "bump"):
                    auto.events.unregister(event, call)


@pytest.mark.slow
def test_a_timer_that_ends_while_nothing_runs(auto: Any) -> None:
    run(auto, SETUP)
    run(auto, "t = threading.Timer(0.3, job); t.start()")
    time.sleep(0.8)

    run(auto, "y = 1")

    assert resumed(auto)["objects"][0].n == 1000


def test_a_pool_with_nothing_to_do_is_at_no_work(auto: Any) -> None:
    run(auto, SETUP)
    run(
        auto,
        "pool = ThreadPoolExecutor(2); pool.submit(max, 1, 2).result(); t = threading.Timer(9, max)",
    )
    run(auto, "t.start(); t.cancel(); t.join()")

    assert threads_at_work(auto.user_ns) == []

    run(auto, "pool.shutdown()")


def test_what_lies_in_a_queue_of_a_thread_of_the_notebook_is_no_work(auto: Any) -> None:
    run(auto, SETUP)
    run(
        auto,
        "from queue import SimpleQueue; q = SimpleQueue(); q.put(3); q.put([job]); q.put(None)",
    )
    run(auto, "def idle(queue): done.append(1); gone.wait(60)\ngone = threading.Event()")
    run(auto, "i = threading.Thread(target=idle, args=(q,), daemon=True); i.start()")

    found = threads_at_work(auto.user_ns)

    assert [work.name for work in found] == ["idle"]
    assert "q" in found[0].holds
    auto.user_ns["gone"].set()
