"""Agents that work at once in one step, and ask some things that are equal: each keeps its answers.

The delays before each call are random, so that a rerun asks in another order than the run before.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.notebooks import define
from tests.running import environment

AGENTS = """
import asyncio, openai, random, time, threading
from concurrent.futures import ThreadPoolExecutor

def messages(*said):
    return dict(model="m", messages=[{"role": "user", "content": text} for text in said])

class Agent:
    def __init__(self, n, seed):
        self.n, self.chance, self.history = n, random.Random(f"{seed} {n}"), [f"task of {n}"]

    def wait(self):
        return self.chance.uniform(0, 0.02)

    def asks(self):  # what it asks next depends on all that it was told
        for _ in range(3):
            yield self.history
            yield ["judge"]  # equal to what others ask, and to what it has asked
            yield ["plan", "judge"]

    def run(self, client):
        for said in self.asks():
            time.sleep(self.wait())
            answer = client.chat.completions.create(**messages(*said))
            self.history.append(answer.choices[0].message.content)
        return self.history

    async def go(self, client):
        for said in self.asks():
            await asyncio.sleep(self.wait())
            answer = await client.chat.completions.create(**messages(*said))
            self.history.append(answer.choices[0].message.content)
        return self.history

async def in_tasks(agents):
    async with openai.AsyncOpenAI(max_retries=0) as client:
        return await asyncio.gather(*(agent.go(client) for agent in agents))

def tasks(agents):
    return asyncio.run(in_tasks(agents))

def threads(agents):
    with openai.OpenAI(max_retries=0) as client:
        made = [threading.Thread(target=agent.run, args=[client]) for agent in agents]
        for thread in made: thread.start()
        for thread in made: thread.join()
    return [agent.history for agent in agents]

def pool(agents):
    with openai.OpenAI(max_retries=0) as client, ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda agent: agent.run(client), agents))
"""

STEP = """
with nbckpt.checkpoint("agents", rerun=True) as step:
    if step.todo:
        made = {how}([Agent(n, {seed}) for n in range({agents})])
"""

WAYS = ["tasks", "threads", "pool"]
CALLS = 9


def made_by(folder: Path, how: str, seed: int, agents: int) -> Any:
    """The answers that the agents got, in a new session."""
    store = Store.open(folder)
    session = current_session.begin(Session(store, {"__name__": "__main__"}, notebook="test"))
    try:
        source = STEP.format(how=how, seed=seed, agents=agents)
        define(f"import nbckpt\n{AGENTS}\n{source}", session.namespace)
        return session.namespace["made"]
    finally:
        current_session.end()
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS)
def test_a_rerun_in_any_order_gives_each_what_it_had_and_pays_nothing(
    tmp_path: Path, provider: Provider, how: str
) -> None:
    for seed in range(3):
        folder, before = tmp_path / f"store-{seed}", provider.answered
        made = made_by(folder, how, seed, agents=4)
        answers = [text for history in made for text in history[1:]]
        assert len(set(answers)) == len(answers) == 4 * CALLS

        for again in range(3):
            assert made_by(folder, how, 100 * seed + again + 50, agents=4) == made

        assert provider.answered - before == 4 * CALLS


KILLED = """
import json, os, signal, sys
import nbckpt
nbckpt.open(".nbckpt", namespace=globals())
{agents}
def told(texts):
    with open("told.jsonl", "a") as file:
        file.write(json.dumps(texts) + "\\n")
seen, most = [], int(sys.argv[1])
append = list.append
class History(list):
    def append(self, text):
        super().append(text)
        told([self[0], text])
        seen.append(text)
        if len(seen) == most:
            os.kill(os.getpid(), signal.SIGKILL)
made = [Agent(n, int(sys.argv[2])) for n in range(4)]
for agent in made:
    agent.history = History(agent.history)
with nbckpt.checkpoint("agents", rerun=True) as step:
    if step.todo:
        made = {how}(made)
nbckpt.wait()
print(json.dumps(made))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS)
def test_after_kills_each_goes_on_with_what_it_had(
    tmp_path: Path, provider: Provider, how: str
) -> None:
    chance = random.Random(3)
    (tmp_path / "script.py").write_text(KILLED.format(agents=AGENTS, how=how))
    kills = 3
    for n in range(kills + 1):
        most = chance.randint(8, 20) if n < kills else 1000
        done = subprocess.run(
            [sys.executable, "script.py", str(most), str(n)],
            cwd=tmp_path,
            env={**environment(), **provider.environment()},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (-9 if n < kills else 0), done.stderr
    made = json.loads(done.stdout.splitlines()[-1])

    had: dict[str, list[str]] = {history[0]: history[1:] for history in made}
    answers = [text for history in made for text in history[1:]]
    assert len(set(answers)) == 4 * CALLS
    for line in (tmp_path / "told.jsonl").read_text().splitlines():
        agent, text = json.loads(line)
        assert text in had[agent], "an agent had an answer that is another's now, or lost"
    in_flight = 2 if how == "pool" else 4
    assert provider.answered <= 4 * CALLS + kills * in_flight
