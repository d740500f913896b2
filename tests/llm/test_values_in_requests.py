"""Requests that hold the date or an id: equal again when their step runs again, and paid once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbckpt.testing import Provider
from tests.jupyter.test_cells import restart, run
from tests.llm.surviving import survived
from tests.llm.test_notebook import SETUP

LOOP = """%%checkpoint ask
answers = []
for n in nbckpt.track(range(20)):
    answers.append(ask(f"{n} at {nbckpt.now()}, id {nbckpt.uuid()}"))
    answers.append(ask(f"{n} at {nbckpt.now()}, by {nbckpt.random().random()}"))
"""
PLAIN = LOOP.replace("nbckpt.track(range(20))", "range(20)")
MAP = """%%checkpoint ask
def asked(n):
    first = ask(f"{n} at {nbckpt.now()}, id {nbckpt.uuid()}")
    return [first, ask(f"{n} at {nbckpt.now()}, by {nbckpt.random().random()}")]
answers = sum(nbckpt.map(asked, range(20), workers=4), [])
"""
TASKS = """%%checkpoint ask
import asyncio
client = httpx.AsyncClient(timeout=60)
async def ask_async(text):
    said = {"model": "m", "messages": [{"role": "user", "content": text}]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    return (await client.post(url, json=said)).json()["choices"][0]["message"]["content"]
async def asked(n):
    first = await ask_async(f"{n} at {nbckpt.now()}, id {nbckpt.uuid()}")
    return [first, await ask_async(f"{n} at {nbckpt.now()}, by {nbckpt.random().random()}")]
{how}
await client.aclose()
"""
GATHERED = "answers = sum(await asyncio.gather(*map(asked, range(20))), [])"
MAPPED = "answers = sum(await nbckpt.map(asked, range(20), workers=4), [])"
SHAPES = {
    "loop": (LOOP, 1),
    "plain loop": (PLAIN, 1),
    "map": (MAP, 4),
    "tasks": (TASKS.replace("{how}", GATHERED), 20),
    "map of tasks": (TASKS.replace("{how}", MAPPED), 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_kernel_that_is_killed_pays_for_no_answer_twice(
    tmp_path: Path, provider: Provider, shape: str
) -> None:
    cell, at_once = SHAPES[shape]
    provider.slow(first_s=0.05)
    begin, kills = ("%load_ext nbckpt\nimport nbckpt", SETUP), 2
    with survived(tmp_path, provider, begin, cell, kills=kills, answers=12) as kernel:
        assert kernel.value("len(set(answers))") == "40"

    # Those in flight when it died may have been answered to nobody.
    assert 40 <= provider.answered <= 40 + kills * at_once


@pytest.mark.slow
def test_a_cell_that_failed_pays_for_the_rest(shell: Any, provider: Provider) -> None:
    cell = (
        "%%checkpoint ask\nimport nbckpt\nanswers = []\nfor n in range(10):\n"
        "    if n == 5 and {}: raise ValueError\n    answers.append(ask(f'{{nbckpt.now()}} {{n}}'))"
    )
    for fails in (True, False):
        assert run(shell, SETUP).success
        assert run(shell, cell.format(fails)).success is not fails
        restart(shell)

    assert provider.answered == 10


@pytest.mark.slow
def test_samples_and_a_fresh_rerun(shell: Any, provider: Provider) -> None:
    run(shell, f"%%checkpoint start\n{SETUP}import nbckpt")
    run(shell, "%%checkpoint ask\nsamples = [ask(f'{nbckpt.now():%Y} again') for _ in range(5)]")
    run(shell, "%%checkpoint date\nanswer = ask(f'{nbckpt.now()}')")
    assert provider.answered == len(set(shell.user_ns["samples"])) + 1 == 6

    run(shell, "%rerun start")
    assert provider.answered == 6
    run(shell, "%rerun start --fresh")
    assert provider.answered == 12
    run(shell, "%rewind date")
    run(shell, "%%checkpoint date\nanswer = ask(f'{nbckpt.now()}').upper()")
    assert provider.answered == 12
