"""Tracked loops: what tells items apart, what belongs to them, and loops that await."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import UsageError
from nbckpt.jupyter.shell import load, unload
from tests.kernels import Kernel, KernelDiedError
from tests.running import DIE_ONCE, NOTE, noted
from tests.steps.test_blocks import play, run

KEYED = """
class Doc:
    def __init__(self, n): self.n, self.read_at = n, time.time()
done = []
with nbckpt.checkpoint("loop", vars=["done"]) as step:
    if step.todo:
        for doc in step.track([Doc(n) for n in range(8)], key=lambda doc: doc.n):
            if doc.n == 5: die_at("", "")
            note(doc.n)
            done.append(doc.n)
print(done)
"""


@pytest.mark.slow
def test_items_that_differ_in_each_process_are_known_by_their_key(tmp_path: Path) -> None:
    died = play(tmp_path, KEYED, "die")
    assert died.returncode == -9, died.stderr

    again = play(tmp_path, KEYED)

    assert again.stdout == f"{list(range(8))}\n", again.stderr
    assert noted(tmp_path) == [str(n) for n in range(8)]


SAMPLED = """
import glob
@nbckpt.step
def draw(topic):
    note("drawn")
    return time.perf_counter_ns()
drawn = []
with nbckpt.checkpoint("loop", vars=["drawn"]) as step:
    if step.todo:
        for name in step.track(sorted(glob.glob("*.txt"))):
            draw("topic")
            drawn.append((name[0], draw("topic")))
            if name == "d.txt": die_at("", "")
print(drawn)
"""


@pytest.mark.slow
def test_equal_calls_of_steps_are_each_items_own_when_a_loop_goes_on(tmp_path: Path) -> None:
    for name in "bcdef":
        (tmp_path / f"{name}.txt").touch()
    died = play(tmp_path, SAMPLED, "die")
    assert died.returncode == -9, died.stderr
    assert len(noted(tmp_path)) == 6
    (tmp_path / "a.txt").touch()

    again = play(tmp_path, SAMPLED)

    drawn = eval(again.stdout)
    assert [name for name, _ in drawn] == ["b", "c", "a", "d", "e", "f"], again.stderr
    assert len({number for _, number in drawn}) == 6
    assert len(noted(tmp_path)) == 6 + 2 * 3  # of a, e and f: the calls of d were kept


EACH_ITEM = """
import dataclasses
from nbckpt.steps import current_session as current
session = current.session()
session.settings = dataclasses.replace(session.settings, track_share=1e9)
del session
"""

AWAITED = """
import asyncio
async def numbers():
    for n in range(8):
        await asyncio.sleep(0)
        yield n
done = []
with nbckpt.checkpoint("loop", vars=["done"]) as step:
    async for n in step.track({items}):
        await asyncio.sleep(0.02)
        if len(done) == 5: die_once()
        note(n)
        done.append(n)
        if {leave}: break
    for letter in step.track("ab"):
        done.append(letter)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "leave", "end"),
    [("numbers()", "False", 8), ("range(8)", "n == 6", 7)],
)
def test_an_async_loop_goes_on_where_it_was(
    tmp_path: Path, items: str, leave: str, end: int
) -> None:
    setup = f"%load_ext nbckpt\nimport nbckpt{EACH_ITEM}{DIE_ONCE}{NOTE}"
    body = AWAITED.format(items=items, leave=leave)
    with Kernel(tmp_path) as kernel:
        assert kernel.run(setup).ok
        with pytest.raises(KernelDiedError):
            kernel.run(body)
    with Kernel(tmp_path) as kernel:
        assert kernel.run(setup).ok
        ran = kernel.run(body)
        assert ran.ok, ran.error

        assert kernel.value("done") == str([*range(end), "a", "b"])
    assert noted(tmp_path) == [str(n) for n in range(end)]


def test_an_asynchronous_collection_asks_for_async_for(shell: Any) -> None:
    load(shell)
    shell.run_cell("import nbckpt\nasync def numbers():\n    yield 1")

    ran = run(
        shell, "with nbckpt.checkpoint('a') as step:\n    for n in step.track(numbers()): pass"
    )

    assert isinstance(ran.error_in_exec, UsageError)
    assert "async_generator is asynchronous: write `async for`" in str(ran.error_in_exec)
    unload(shell)


@pytest.mark.slow
def test_a_checkpoint_cell_tracks_and_maps_without_a_name_of_its_step(shell: Any) -> None:
    load(shell)
    shell.run_cell("import nbckpt")
    cell = (
        "%%checkpoint cell\ndone = []\nfor n in nbckpt.track([1, 2]):\n    done.append(n)\n"
        "out = nbckpt.map(lambda n: 3 * n, done, workers=2)"
    )
    assert run(shell, cell).success
    assert (shell.user_ns["done"], shell.user_ns["out"]) == ([1, 2], [3, 6])

    written_otherwise = run(shell, "%%checkpoint cell\nfor n in zip(nbckpt.track([1])): pass")

    assert "write `for … in nbckpt.track(zip([1])):`" in str(written_otherwise.error_before_exec)
    assert run(shell, "[n for n in nbckpt.track([1])]").result == [1]
    unload(shell)
