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
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import urlopen

from nbckpt.storage.store import Store
from tests.kernels import Kernel, KernelDiedError
from tests.running import environment

DOCUMENTS = 50

SETUP = """
import openai
documents = [f"Document {{i}}: the river rises at {{i * 7}} m." for i in range({documents})]
def messages(i):
    return [{{"role": "user", "content": "Sum up in a line. " + documents[i]}}]
def see(i, text):
    with open("seen.jsonl", "a") as file:
        file.write(__import__("json").dumps([i, text]) + "\\n")
    return text
"""

ONE_BY_ONE = """%%checkpoint summaries
client = openai.OpenAI(max_retries=0)
answers = []
for i in range(len(documents)):
    said = client.chat.completions.create(model="gpt-5-mini", messages=messages(i))
    answers.append(see(i, said.choices[0].message.content))
"""

STREAMED = """%%checkpoint summaries
client = openai.OpenAI(max_retries=0)
answers = []
for i in range(len(documents)):
    stream = client.chat.completions.create(model="gpt-5-mini", messages=messages(i), stream=True)
    text = "".join(each.choices[0].delta.content or "" for each in stream)
    answers.append(see(i, text))
"""

AT_ONCE = """%%checkpoint summaries
import asyncio
client = openai.AsyncOpenAI(max_retries=0)
places = asyncio.Semaphore({in_flight})
async def ask(i):
    async with places:
        said = await client.chat.completions.create(model="gpt-5-mini", messages=messages(i))
        return see(i, said.choices[0].message.content)
answers = await asyncio.gather(*[ask(i) for i in range(len(documents))])
"""


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
    most_again
        How many requests may be in flight, and so be paid again, at a kill.
    """

    folder: Path
    provider: ProviderProcess
    cell: str
    documents: int = DOCUMENTS
    most_again: int = 1
    kills: int = 0
    answers: list[str] = field(default_factory=list)

    def attempt(self, kill_after_s: float | None) -> bool:
        """Run all cells; whether the kernel lived to the end."""
        paths = {"OPENAI_BASE_URL": f"{self.provider.url}/v1", "OPENAI_API_KEY": "offline"}
        with Kernel(self.folder) as kernel:
            kernel.run(f"%load_ext nbckpt\n__import__('os').environ.update({paths!r})")
            ran = kernel.run(SETUP.format(documents=self.documents))
            assert ran.ok, ran.error
            timer = threading.Timer(kill_after_s or 1e9, kernel.kill)
            timer.daemon = True
            timer.start()
            try:
                ran = kernel.run(self.cell, cell_id="summaries")
                timer.cancel()
                assert ran.ok, ran.error
                self.answers = (
                    json.loads(
                        json.loads(
                            kernel.value("__import__('json').dumps(answers)")
                            .replace("'", '"', 0)
                            .join(['"', '"'])
                        )
                    )
                    if False
                    else eval(kernel.value("answers"))
                )
            except KernelDiedError:
                self.kills += 1
                return False
            finally:
                timer.cancel()
        return True

    def seen(self) -> dict[int, set[str]]:
        """What the notebook saw of each document's answer, over all kernels."""
        path = self.folder / "seen.jsonl"
        texts: dict[int, set[str]] = defaultdict(set)
        for line in path.read_text().splitlines() if path.exists() else ():
            number, text = json.loads(line)
            texts[number].add(text)
        return texts
