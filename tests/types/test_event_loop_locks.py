"""Locks, events and queues of asyncio that a cell has used: kept while no task waits for them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebooks import restart, run

CELLS = [
    "import asyncio\nplaces, lock = asyncio.Semaphore(2), asyncio.Lock()\n"
    "queue, event, condition = asyncio.Queue(2), asyncio.Event(), asyncio.Condition()",
    "async def one(n):\n    async with places, lock:\n        await asyncio.sleep(0.001)\n"
    "        await queue.put(n)\n        await queue.get()\n"
    "        async with condition: condition.notify_all()\n        event.set()\n    return n\n"
    "found = await asyncio.gather(*map(one, range(6)))",
    "more = await asyncio.gather(*map(one, range(4)))",
]


@pytest.mark.slow
def test_those_that_tasks_have_waited_for_are_kept_and_go_on(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [f"%%checkpoint c{number}\n{source}" for number, source in enumerate(CELLS)]
    for cell in cells:
        run(shell, cell)
    restart(shell)
    first = capsys.readouterr().out

    for cell in cells:
        run(shell, cell)

    said = capsys.readouterr().out
    assert "not kept" not in first
    assert [f"restored 'c{n}'" in said for n in range(len(cells))] == [True] * len(cells)
    run(shell, "again = await asyncio.gather(*map(one, range(4)))\nis_set = event.is_set()")
    assert (shell.user_ns["again"], shell.user_ns["is_set"]) == ([0, 1, 2, 3], True)


@pytest.mark.slow
def test_one_that_a_task_waits_for_is_refused_by_name(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(
        shell,
        "%%checkpoint waits\nimport asyncio\nlock = asyncio.Lock()\nawait lock.acquire()\n"
        "task = asyncio.ensure_future(lock.acquire())\nawait asyncio.sleep(0.01)",
    )

    assert "tasks wait for it" in capsys.readouterr().out
    run(shell, "lock.release(); _ = await task")


CLASSES = """
import asyncio
class Limiter(asyncio.Semaphore):
    def __init__(self, **members):
        super().__init__(5)
        vars(self).update(members)
class Slotted(asyncio.Queue):
    __slots__ = ("x",)
class Own(asyncio.Lock):
    def __init__(self):
        super().__init__()
        self.path, self.lines = "a", (line for line in "")
    def __getstate__(self):
        return {**vars(self), "lines": None}
"""


def slotted(x: int) -> str:
    return f"value = Slotted(); value.x = {x}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other", "use"),
    [
        (
            "value = Limiter(calls=10, period=60)",
            "value = Limiter(hits=10, period=60)",
            "sorted(vars(value))",
        ),
        (
            "value = Limiter(calls=10, hits=60)",
            "value = Limiter(hits=10, calls=60)",
            "value.calls",
        ),
        (slotted(1), slotted(2), "value.x"),
    ],
)
def test_names_and_slots_of_a_class_of_the_user_s_count(
    one: str, other: str, use: str, shell: Any
) -> None:
    run(shell, CLASSES)
    run(shell, one)
    run(shell, f"%%checkpoint used\nresult = {use}")
    restart(shell)
    run(shell, CLASSES)
    run(shell, other)
    run(shell, f"%%checkpoint used\nresult = {use}")

    run(shell, f"is_right = result == {use}")
    assert shell.user_ns["is_right"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "told"),
    [(slotted(1), "value.x"), ("value = Own()", "(value.path, value.lines, value.locked())")],
)
def test_what_a_class_of_the_user_s_holds_comes_back(
    made: str, told: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = {"value.x": 1}.get(told, ("a", None, False))
    run(shell, f"%%checkpoint made\n{CLASSES}{made}")
    restart(shell)
    capsys.readouterr()
    run(shell, f"%%checkpoint made\n{CLASSES}{made}")

    assert "restored 'made'" in capsys.readouterr().out
    run(shell, f"told = {told}")
    assert shell.user_ns["told"] == expected
