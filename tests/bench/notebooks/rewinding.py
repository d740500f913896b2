"""A kernel that resumes what a run left, and rewinds to a checkpoint in the middle of it."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.bench.notebooks.plain_runs import _QUIET, ask

LOAD = "get_ipython().run_line_magic('load_ext', 'nbckpt')"


def resumed_and_rewound(
    folder: Path, store: Path, name: str
) -> tuple[dict[str, str], dict[str, str], str]:
    """The variables after `%resume`, and after `%rewind NAME`; what went wrong.

    Without a name only the first.
    """
    return asyncio.run(_moved(folder, store, name))


async def _moved(
    folder: Path, store: Path, name: str
) -> tuple[dict[str, str], dict[str, str], str]:
    sources = [LOAD, "%resume", *([f"%rewind {name}"] if name else [])]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    client: Any = NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=300)
    client.log = _QUIET
    client.create_kernel_manager().log = _QUIET
    environment = {**os.environ, "NBCKPT_STORE": str(store)}
    await client.async_start_new_kernel(cwd=str(folder), env=environment)
    await client.async_start_new_kernel_client()
    found: list[dict[str, str]] = []
    try:
        for number, cell in enumerate(cells):
            try:
                await client.async_execute_cell(cell, number)
            except CellExecutionError as error:
                # Of a cell that was not reached again, the checkpoint is on an older branch.
                told = re.search(r"use its id (\w+)", str(error.evalue))
                if told is None:
                    raise
                cell.source = f"%rewind {told[1]}"
                await client.async_execute_cell(cell, number)
            found.append(await ask(client))
    except Exception as error:  # whatever it is, it is what is told
        found += [{}] * (3 - len(found))
        return found[1], found[2], f"{cells[number].source}: {error}"[-400:]
    finally:
        await client.km.shutdown_kernel(now=True)
        client.kc.stop_channels()
    return found[1], found[2] if name else {}, ""
