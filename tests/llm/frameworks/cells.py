"""Ways of one framework as cells of a notebook: ``python -m tests.llm.frameworks.cells FRAMEWORK``.

It runs in the framework's environment, in an event loop, as a kernel's cells do. Each cell of the
first run raises an error when it has its answer, and the process kills itself behind the last one:
so the second run has no checkpoint to restore, and asks for everything again.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.llm.frameworks.ways import LIMITS, WAYS

CELL = """%%checkpoint {name}
answer = ways[{name!r}]()
answers[{name!r}] = await answer if is_awaitable(answer) else answer
end()
"""


class Ended(Exception):
    """The end of a cell of the first run."""


def shell_in(folder: Path) -> Any:
    """A shell whose store is in `folder`."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    os.environ["NBCKPT_STORE"] = str(folder / ".nbckpt")
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "nbckpt")
    return shell


def came() -> int:
    """Number of requests that the provider has seen."""
    with urlopen(os.environ["PROVIDER"] + "/_requests") as response:
        return len(json.load(response))


def hosts_asked() -> set[str]:
    """The names that are looked up from now on, without those of this machine."""
    hosts: set[str] = set()

    def note(event: str, details: tuple[Any, ...]) -> None:
        if event == "socket.getaddrinfo":
            name = details[0].decode() if isinstance(details[0], bytes) else str(details[0])
            hosts.update({name} - {"127.0.0.1", "localhost", "None"})

    sys.addaudithook(note)
    return hosts


async def main(framework: str, folder: Path, run: str) -> None:
    """Run all ways as cells, and write what each gave, and how many requests it sent."""
    hosts = hosts_asked()
    importlib.import_module(f"tests.llm.frameworks.{framework}_ways")
    chosen = os.environ.get("WAYS", "").split() or list(WAYS)
    answers: dict[str, Any] = {}
    told: dict[str, Any] = {}
    shell = shell_in(folder)

    def end() -> None:
        if run == "first":
            raise Ended

    names = {"ways": WAYS, "answers": answers, "is_awaitable": inspect.isawaitable, "end": end}
    shell.push(names)
    for name in chosen:
        before = came()
        source = CELL.format(name=name)
        result = await shell.run_cell_async(
            source, store_history=True, transformed_cell=shell.transform_cell(source), cell_id=name
        )
        error = result.error_before_exec or result.error_in_exec
        is_end = isinstance(error, Ended)
        why = "" if error is None or is_end else "".join(traceback.format_exception(error)[-3:])
        given = {"answer": answers.get(name), "limit": LIMITS.get(name, "")}
        told[name] = {**given, "sent": came() - before, "error": why}
    Path(folder, f"{run}.json").write_text(json.dumps({"ways": told, "hosts": sorted(hosts)}))
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
