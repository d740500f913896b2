"""`nbckpt.map` in an ordinary cell, and in a script outside of blocks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nbckpt.steps.calls.item_results import KIND
from nbckpt.testing import Provider
from tests.kernels import Kernel, KernelDiedError
from tests.llm.surviving import output_of_second_run
from tests.llm.test_notebook import SETUP
from tests.steps.calls.conftest import Notebook

SQUARES = """
def square(n):
    ran(n)
    if n == {bad}: raise ValueError(n)
    return [n * n]
"""


@pytest.mark.parametrize("workers", [1, 3])
def test_items_without_a_result_run_alone(notebook: Notebook, workers: int) -> None:
    code = f"{SQUARES}\nmade = nbckpt.map(square, range(4), workers={workers}, errors='collect')"
    notebook.cell(code.replace("{bad}", "2"))
    assert [f.index for f in notebook.value("made")[1]] == [2]
    assert sorted(notebook.ran) == ["0", "1", "2", "3"]
    notebook.restart()

    notebook.cell(code.replace("{bad}", "2"))

    assert notebook.ran == ["2"]
    assert notebook.value("made")[0] == [[0], [1], None, [9]]


def test_a_function_that_is_awaited(notebook: Notebook) -> None:
    code = "async def one(n):\n    ran(n)\n    return n + 1\n"
    code += "async def go(): return await nbckpt.map(one, range(3), workers=3)\nmade = asyncio.run(go())"
    notebook.cell(code)
    notebook.restart()
    notebook.cell(code)

    assert notebook.value("made") == [1, 2, 3]
    assert sorted(notebook.ran) == ["0", "1", "2"]


def test_maps_of_two_tasks_at_once_are_found_again_in_any_order(notebook: Notebook) -> None:
    code = """
async def first(n):
    await asyncio.sleep({} * n)
    ran(n); return n, nbckpt.uuid()
async def second(n):
    await asyncio.sleep({} * n)
    ran(n); return n, nbckpt.uuid()
async def go(): return await asyncio.gather(
    nbckpt.map(first, range(3), workers=2), nbckpt.map(second, range(2), workers=2),
    nbckpt.map(second, range(3)))
made = asyncio.run(go())
"""
    notebook.cell(code.format(0.01, 0.03))
    made = notebook.value("made")
    assert len(notebook.ran) == 8
    notebook.restart()

    notebook.cell(code.format(0.01, 0.03))

    assert notebook.value("made") == made
    assert notebook.ran == []
    steps = {record["step"] for record in notebook.session.store.records(KIND)}
    assert steps == {"map first", "map second"}


def test_equal_items_of_two_maps_are_samples(notebook: Notebook) -> None:
    code = "import random\ndef draw(n): return random.SystemRandom().random()\n"
    code += "made = [nbckpt.map(draw, [1, 1]), nbckpt.map(draw, [1])]"
    notebook.cell(code)
    made = notebook.value("made")
    notebook.restart()
    notebook.cell(code)

    assert notebook.value("made") == made
    assert len({*made[0], *made[1]}) == 3


@pytest.mark.filterwarnings("ignore:step 'map outer' runs 'outer' for all items")
def test_calls_of_steps_and_values_belong_to_their_items(notebook: Notebook) -> None:
    code = (
        "@nbckpt.step\ndef inner(n):\n    ran(n)\n    return n\n"
        "def outer(n): return [inner(n), nbckpt.uuid()]\n"
        "made = nbckpt.map(outer, range(3), workers={})"
    )
    notebook.cell(code.format(3))
    made = notebook.value("made")
    notebook.restart()

    notebook.cell(code.format(1).replace("return [inner", "n = n; return [inner"))

    assert notebook.value("made") == made
    assert sorted(notebook.ran) == ["0", "1", "2"]


def test_nothing_is_left_of_it_when_it_has_ended(notebook: Notebook) -> None:
    from nbckpt.llm import scope
    from nbckpt.steps.calls.occurrences import running_step

    with pytest.raises(ValueError, match="2"):
        notebook.cell(f"{SQUARES.replace('{bad}', '2')}\nnbckpt.map(square, range(4))")

    assert running_step(notebook.session) is None
    assert scope.here().scope is None


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4])
def test_a_cell_whose_kernel_is_killed_pays_for_no_answer_twice(
    tmp_path: Path, provider: Provider, workers: int
) -> None:
    provider.slow(first_s=0.05)
    cell = f"answers = nbckpt.map(lambda n: ask(f'{{n}} {{nbckpt.now()}}'), range(20), workers={workers})"
    for dies in (True, False):
        with Kernel(tmp_path) as kernel:
            assert kernel.run("%load_ext nbckpt\nimport nbckpt").ok
            assert kernel.run(SETUP).ok
            asked = kernel.send(cell)
            if dies:
                deadline = time.monotonic() + 60
                while provider.answered < 8 and time.monotonic() < deadline:
                    time.sleep(0.005)
                kernel.kill()
                with pytest.raises(KernelDiedError):
                    kernel.collect(asked)
                continue
            ran = kernel.collect(asked)
            assert ran.ok, ran.error
            assert kernel.value("len(set(answers))") == "20"

    assert 20 <= provider.answered <= 20 + workers


@pytest.mark.slow
def test_a_script_that_is_killed_pays_the_rest_alone(provider: Provider, tmp_path: Path) -> None:
    script = (
        "import nbckpt, os, signal\nnbckpt.open('.nbckpt', namespace=globals())\n"
        f"{SETUP}\ndef asked(n):\n    if n == 5 and not os.path.exists('go'):\n"
        "        open('go', 'w').close(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return ask(n)\nprint(len(set(nbckpt.map(asked, range(10)))))\nnbckpt.wait()"
    )
    told = output_of_second_run(script, tmp_path, provider)

    assert told.split()[-1] == "10"
    assert provider.answered == 10
