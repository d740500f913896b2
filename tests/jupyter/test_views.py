"""What views read and write beside cells, in one process."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from nbckpt.jupyter.throttle import EVERY_S, Throttle
from nbckpt.jupyter.turns import Turns
from nbckpt.jupyter.views import Views


def wait_until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.mark.slow
def test_what_other_threads_read_is_whole_and_disturbs_nobody(shell: Any) -> None:
    cells = shell._nbckpt_extension.cells
    session, views, stop, wrong = cells.session, Views.of(cells), threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            listed, _ = views.now()
            heads = {head for row in listed.rows for head in row["heads"]}
            if listed.rows and "main" not in heads:
                wrong.append(f"no head among {len(listed.rows)} rows")
            for row in listed.rows[-3:]:
                answer = views.panel.answer("details", {"ref": row["id"]})
                if not answer["ok"]:
                    wrong.append(answer["error"])

    threads = [threading.Thread(target=read) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for i in range(60):
            shell.user_ns["x"] = i
            session.checkpoint(f"n{i}")
            if i % 20 == 19:
                session.rewind("~3")
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        for thread in threads:
            thread.join()

    assert wrong == []
    assert len(session.timeline.checkpoints) >= 60


def test_without_a_kernel_a_write_is_done_at_once(shell: Any) -> None:
    shell.run_cell("%checkpoint a\nx = 1")
    shell.run_cell("x = 2\n%checkpoint b")
    replies: list[dict[str, Any]] = []
    views = Views.of(shell._nbckpt_extension.cells)
    shell.run_cell("pass")  # it was made outside a cell

    request = {"id": 1, "op": "rewind", "args": {"ref": "a"}}
    views.request(request, replies.append)

    assert [reply["ok"] for reply in replies if "ok" in reply] == [True]
    assert "x" not in shell.user_ns


def test_messages_of_another_protocol_are_left_alone(shell: Any) -> None:
    replies: list[object] = []

    Views.of(shell._nbckpt_extension.cells).request(["anywidget-command"], replies.append)

    assert replies == []


def test_a_defect_in_a_view_is_told_once_and_breaks_nothing(shell: Any) -> None:
    class Broken:
        def show(self, *_: object) -> None:
            message = "drawn on the wrong side"
            raise RuntimeError(message)

    cells = shell._nbckpt_extension.cells
    views, broken = Views.of(cells), Broken()
    views.add(broken)

    def told() -> list[str]:
        return [news for news in cells.session.writes.news if "wrong side" in news]

    cells.session.checkpoint("a")
    wait_until(told)
    cells.session.checkpoint("b")
    time.sleep(EVERY_S + 0.1)

    assert len(told()) == 1
    assert "%timeline no longer shows" in told()[0]


@pytest.mark.slow
def test_a_throttle_whose_work_was_long_once_is_not_late_for_it() -> None:
    seen: list[float] = []

    def work() -> None:
        sum(range(10_000_000))  # the first push imports what it needs
        seen.append(time.monotonic())

    throttle = Throttle(work)
    throttle.ask()
    wait_until(lambda: seen)
    throttle.ask()
    wait_until(lambda: len(seen) == 2)

    assert seen[1] - seen[0] < 3, "not twenty times as long as the first took"


@pytest.mark.slow
def test_a_throttle_works_for_the_last_who_asked() -> None:
    state, seen = [0], []
    throttle = Throttle(lambda: seen.append(state[0]))

    began = time.monotonic()
    for i in range(200):
        state[0] = i
        throttle.ask()
        time.sleep(0.002)
    wait_until(lambda: seen[-1:] == [199])

    assert seen[-1] == 199
    assert len(seen) <= 2 + (time.monotonic() - began) / EVERY_S


def test_a_cell_that_ends_while_views_are_made_does_not_run_for_ever(shell: Any) -> None:
    cell = object()
    running: list[object] = [cell]
    turns = Turns(shell, lambda: True, lambda: None, running=lambda: running[-1])
    assert turns.doing is not None

    running.append(None)  # its end was told before anybody listened
    assert turns.doing is None

    shell.run_cell("x = 1")
    assert turns.doing is None
    assert turns.moment == 1


def test_a_cell_that_runs_while_views_are_made_runs_until_its_end(shell: Any) -> None:
    cells = shell._nbckpt_extension.cells
    seen: list[Any] = []
    shell.push({"look": lambda: seen.append(Views.of(cells)._turns.doing)})

    shell.run_cell("look()\nget_ipython().run_cell('x = 1')\nlook()", store_history=True)

    assert [doing.what for doing in seen] == ["look()", "look()"]
    assert Views.of(cells)._turns.doing is None
