"""Runs of a notebook by nbclient, in a kernel that has no nbckpt."""

from __future__ import annotations

import ast
import asyncio
import logging
import os
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

from tests.bench.notebooks.documents import Shown, shown

DIGESTS = Path(__file__).with_name("variable_digests.py")
ASK = f"__import__('runpy').run_path({str(DIGESTS)!r})['answer']()"
"""An expression whose value in a kernel is the digests of its variables."""
CPU = "__import__('time').process_time()"

_QUIET = logging.getLogger("tests.bench.notebooks.quiet")
_QUIET.disabled = True


@dataclass
class PlainRun:
    """What came of a run without nbckpt.

    Attributes
    ----------
    shown
        What each cell shows, as far as the run came.
    variables
        Digests at the end.
    middle
        Digests after the cells that were asked for.
    took_s
        Seconds of each cell.
    cpu_s
        Seconds of the processor that the kernel took for all cells.
    error
        What ended the run early.
    """

    shown: list[Shown] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    middle: dict[int, dict[str, str]] = field(default_factory=dict)
    took_s: list[float] = field(default_factory=list)
    cpu_s: float = 0.0
    error: str = ""


def run_plainly(
    notebook: Any,
    folder: Path,
    *,
    seed: int,
    stops: Collection[int] = (),
    limit_s: float = 600,
) -> PlainRun:
    """A run in `folder`; after the cells `stops` the variables are looked at.

    With another `seed` the order of sets is another: what depends on it differs between two runs.
    """
    return asyncio.run(_run(nbformat.from_dict(notebook), folder, seed, stops, limit_s))


async def _run(
    notebook: Any, folder: Path, seed: int, stops: Collection[int], limit_s: float
) -> PlainRun:
    run = PlainRun()
    client: Any = NotebookClient(notebook, timeout=limit_s, coalesce_streams=True)
    client.log = _QUIET
    client.create_kernel_manager().log = _QUIET
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    await client.async_start_new_kernel(cwd=str(folder), env=environment)
    await client.async_start_new_kernel_client()
    try:
        begun_at = float(await ask(client, CPU))
        for number, cell in enumerate(notebook.cells):
            began = time.perf_counter()
            client.kc.session.metadata = {"cellId": cell.id}  # as JupyterLab and `nbckpt run` do
            try:
                await client.async_execute_cell(cell, number)
            except CellExecutionError as error:
                run.error = f"cell {number}: {error.ename}: {error.evalue}"[:300]
            except (DeadKernelError, TimeoutError) as error:
                run.error = f"cell {number}: {type(error).__name__}"
                return run
            run.took_s.append(time.perf_counter() - began)
            run.shown.append(shown(cell))
            if run.error:
                break
            if number in stops:
                run.middle[number] = await ask(client)
        run.cpu_s = float(await ask(client, CPU)) - begun_at
        # A later cell may have updated what an earlier one displays.
        run.shown = [shown(cell) for cell in notebook.cells[: len(run.shown)]]
        run.variables = await ask(client)
    finally:
        await client.km.shutdown_kernel(now=True)
        client.kc.stop_channels()
    return run


async def ask(client: Any, expression: str = ASK) -> Any:
    """The value of an expression in a kernel; by default the digests of its variables."""
    request = client.kc.execute(
        "", silent=True, store_history=False, user_expressions={"answer": expression}
    )
    reply = (await client.async_wait_for_reply(request))["content"]
    answer = reply["user_expressions"]["answer"]
    if answer["status"] != "ok":
        return {"?": f"?no answer: {answer.get('ename')}: {answer.get('evalue')}"}
    found: dict[str, str] = ast.literal_eval(answer["data"]["text/plain"])
    return found
