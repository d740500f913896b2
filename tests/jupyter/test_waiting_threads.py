"""What a timer, or work that waits in a pool's queue, changes between cells is kept."""

from __future__ import annotations

import time
from typing import Any

import pytest

from nbckpt.capture.background_work import threads_at_work
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
