"""The founding case: a notebook that asks a model about many documents, killed again and again.

The provider lives in a process of its own, so that its count outlives every kernel. What the
notebook saw of an answer it writes to a file at once: an answer that was seen and is another
after a kill was seen before it was durable.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.request import urlopen

from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.kernels import Kernel, KernelDiedError
from tests.running import environment

DOCUMENTS = 50

SETUP = """
import nbckpt
import openai
documents = [f"Document {{i}}: the river rises at {{i * 7}} m." for i in range({documents})]
def messages(i):
    return [{{"role": "user", "content": "Sum up in a line. " + documents[i]}}]
def see(i, text):
    with open("seen.jsonl", "a") as file:
        file.write(__import__("json").dumps([i, text]) + "\\n")
    return text
"""

CLIENT = """
client = openai.{kind}(max_retries=0)
def said(i, **options):
    asked = dict(model="gpt-5-mini", messages=messages(i), **options)
    return client.chat.completions.create(**asked)
def ask(i):
    return see(i, said(i).choices[0].message.content)
answers = []
"""

ONE_BY_ONE = """%%checkpoint summaries
for i in range(len(documents)):
    answers.append(ask(i))
"""

STREAMED = """%%checkpoint summaries
for i in range(len(documents)):
    stream = said(i, stream=True)
    text = "".join(each.choices[0].delta.content or "" for each in stream)
    answers.append(see(i, text))
"""

SAMPLED = """%%checkpoint summaries
for i in range(len(documents)):
    answers.append(see(i, said(0, temperature=1).choices[0].message.content))
"""

ASKED_ASYNC = """
async def ask(i):
    return see(i, (await said(i)).choices[0].message.content)
"""

AT_ONCE = """%%checkpoint summaries
import asyncio
places = asyncio.Semaphore({in_flight})
async def ask(i):
    async with places:
        return see(i, (await said(i)).choices[0].message.content)
answers = await asyncio.gather(*[ask(i) for i in range(len(documents))])
"""

MAPPED = """%%checkpoint summaries
answers = nbckpt.map(ask, range(len(documents)), workers={in_flight})
"""

MAPPED_ASYNC = f"""%%checkpoint summaries
{ASKED_ASYNC}
answers = await nbckpt.map(ask, range(len(documents)), workers={{in_flight}})
"""

IN_THREADS = """%%checkpoint summaries
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor({in_flight}) as pool:
    answers = list(pool.map(ask, range(len(documents))))
"""

TRACKED = """
with nbckpt.checkpoint("summaries", vars=["answers"]) as step:
    for i in step.track(range(len(documents))):
        answers.append(ask(i))
"""

STEPS_IN_THREADS = """
from concurrent.futures import ThreadPoolExecutor
kept = nbckpt.step(ask)
with ThreadPoolExecutor({in_flight}) as pool:
    answers = list(pool.map(kept, range(len(documents))))
"""


class Way(NamedTuple):
    """One way to ask about all documents.

    Attributes
    ----------
    cell
        Its code.
    in_flight
        How many requests may be in flight, and so be paid again, at a kill.
    kind
        The client that it uses.
    """

    cell: str
    in_flight: int = 1
    kind: str = "OpenAI"


def _way(cell: str, in_flight: int, kind: str = "OpenAI") -> Way:
    return Way(cell.format(in_flight=in_flight), in_flight, kind)


WAYS = {
    "one by one": Way(ONE_BY_ONE),
    "streamed": Way(STREAMED),
    "samples": Way(SAMPLED),
    "twenty at once": _way(AT_ONCE, 20, "AsyncOpenAI"),
    "map": _way(MAPPED, 4),
    "async map": _way(MAPPED_ASYNC, 8, "AsyncOpenAI"),
    "threads": _way(IN_THREADS, 4),
    "track": Way(TRACKED),
    "steps in threads": _way(STEPS_IN_THREADS, 4),
}


WRITE = "open('answers.json', 'w').write(__import__('json').dumps(answers))"


class ProviderProcess:
    """A provider in a process of its own; use it as a context manager."""

    def __init__(self, *options: str) -> None:
        self._options = options

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "nbckpt.testing.provider", *self._options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment())
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().decode().strip()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    def stats(self) -> dict[str, Any]:
        """What it has counted."""
        with urlopen(f"{self.url}/_stats") as response:
            counted: dict[str, Any] = json.load(response)
        return counted


@dataclass
class Founding:
    """One notebook from its beginning to its end, over as many kernels as it takes.

    Attributes
    ----------
    way
        How it asks about all documents.
    again
        How many requests were paid again, at most: those in flight at all the kills.
    """

    folder: Path
    provider: ProviderProcess
    way: Way
    documents: int = DOCUMENTS
    kills: int = 0

    @property
    def again(self) -> int:
        return self.kills * self.way.in_flight

    def killed(self, chance: random.Random, times: int) -> None:
        """Run to the end; killed about so often on the way, at random instants."""
        step = max(1, 2 * self.documents // times)
        while not self.attempt(answers=chance.randint(0, step), later_s=chance.uniform(0, 0.04)):
            self.check()
            assert self.provider.stats()["answered"] <= self.documents + self.again

    def attempt(self, *, answers: int | None, later_s: float = 0.0) -> bool:
        """Run all cells in a kernel; whether it lived to the end.

        Parameters
        ----------
        answers
            The kernel is killed when so many more requests were answered; None = never.
        later_s
            And so much later.
        """
        paths = {"OPENAI_BASE_URL": f"{self.provider.url}/v1", "OPENAI_API_KEY": "offline"}
        with Kernel(self.folder) as kernel:
            for setup in (
                f"%load_ext nbckpt\n__import__('os').environ.update({paths!r})",
                SETUP.format(documents=self.documents),
                CLIENT.format(kind=self.way.kind),
            ):
                ran = kernel.run(setup)
                assert ran.ok, ran.error
            done = threading.Event()
            killer = threading.Thread(target=self._kill, args=[kernel, answers, later_s, done])
            killer.start()
            try:
                ran = kernel.run(self.way.cell, cell_id="summaries")
                assert ran.ok, ran.error
                kernel.run(WRITE)
            except KernelDiedError:
                self.kills += 1
                return False
            finally:
                done.set()
                killer.join()
        # Killed between the cell's end and here, it has lived long enough.
        return (self.folder / "answers.json").exists()

    def _kill(
        self, kernel: Kernel, answers: int | None, later_s: float, done: threading.Event
    ) -> None:
        if answers is None:
            return
        wanted = self.provider.stats()["answered"] + answers
        while not done.wait(0.002):
            if self.provider.stats()["answered"] >= wanted:
                if not done.wait(later_s):
                    kernel.kill()
                return

    def check(self) -> None:
        """What must hold after every death."""
        changed = {number: texts for number, texts in self.seen().items() if len(texts) > 1}
        assert not changed, f"answers were seen before they were durable: {changed}"
        store = Store.open(self.folder / ".nbckpt", create=False)
        assert check(store.path).ok, check(store.path).problems
        store.close()

    def check_end(self) -> None:
        """What must hold when the notebook has run to its end."""
        self.check()
        answers = json.loads((self.folder / "answers.json").read_text())
        assert [{answer} for answer in answers] == [self.seen()[n] for n in range(self.documents)]
        assert len(set(answers)) == self.documents
        answered = self.provider.stats()["answered"]
        assert self.documents <= answered <= self.documents + self.again
        print(f"{answered} answers paid for {self.documents} documents, {self.kills} kills")

    def seen(self) -> dict[int, set[str]]:
        """What the notebook saw of each document's answer, over all kernels."""
        path = self.folder / "seen.jsonl"
        texts: dict[int, set[str]] = defaultdict(set)
        for line in path.read_text().splitlines() if path.exists() else ():
            number, text = json.loads(line)
            texts[number].add(text)
        return texts
