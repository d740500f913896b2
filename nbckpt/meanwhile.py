"""What of a notebook runs by itself while one of its cells waits."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping

from nbckpt.analysis.nodes import nodes_of


def tasks_met(tree: ast.Module, namespace: Mapping[str, object]) -> tuple[str, ...]:
    """Why a cell that awaits cannot be restored: tasks of the notebook go on meanwhile.

    Which cell started them is no part of what the cell reads.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not any(isinstance(node, _WAITS) for node in nodes_of(tree)):
        return ()
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return ()
    coroutines = (task.get_coro() for task in asyncio.all_tasks(loop))
    frames = (getattr(coroutine, "cr_frame", None) for coroutine in coroutines)
    names = sorted(f.f_code.co_name for f in frames if f is not None and _is_of(f, namespace))
    return (f"the task {names[0]!r} goes on while it waits",) if names else ()


def _is_of(frame: object, namespace: Mapping[str, object]) -> bool:
    return getattr(frame, "f_globals", None) is namespace


_WAITS = (ast.Await, ast.AsyncFor, ast.AsyncWith)
