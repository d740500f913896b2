"""The kernel's half of `nbckpt rerun`: no front end is there, and the outcome is asked for."""

from __future__ import annotations

import json

from IPython.core.getipython import get_ipython

from nbckpt.jupyter.rerunning import rerun_async
from nbckpt.jupyter.shell import attached
from nbckpt.steps.rerun.rerun import as_record

_outcome: list[str] = []


async def rerun(branch: str, ref: str, fresh: bool, everything: bool) -> None:
    """Rerun the steps after `ref`, from `branch`; `outcome` gives the result."""
    shell = get_ipython()
    assert shell is not None
    cells = attached(shell).cells
    cells.session.position.branch = branch
    done = await rerun_async(
        cells.shell, cells, cells.session, ref, fresh=fresh, everything=everything, quiet=True
    )
    _outcome[:] = [json.dumps(as_record(done))]


def outcome() -> str:
    """Result of the rerun in this process, as JSON."""
    return _outcome[0]
