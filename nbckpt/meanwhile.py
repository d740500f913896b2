"""What of a notebook runs by itself while one of its cells waits."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import FrameType


def tasks_met(tree: ast.Module, namespace: Mapping[str, object]) -> tuple[str, ...]:
    """Why a cell that awaits cannot be restored: tasks of the notebook go on meanwhile.

    Which cell started them is no part of what the cell reads.
    """
    from nbckpt.analysis.nodes import nodes_of  # not what a resume needs

    if not any(isinstance(node, _WAITS) for node in nodes_of(tree)):
        return ()
    names = sorted(frame.f_code.co_name for frame in frames_of_tasks(namespace))
    return (f"the task {names[0]!r} goes on while it waits",) if names else ()


def frames_of_tasks(namespace: Mapping[str, object]) -> list[FrameType]:
    """Where the notebook's own coroutines stand that are tasks of the running loop."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return []
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return []
    coroutines = (task.get_coro() for task in asyncio.all_tasks(loop))
    frames = (getattr(coroutine, "cr_frame", None) for coroutine in coroutines)
    return [frame for frame in frames if frame is not None and _is_of(frame, namespace)]


def _is_of(frame: object, namespace: Mapping[str, object]) -> bool:
    return getattr(frame, "f_globals", None) is namespace


_WAITS = (ast.Await, ast.AsyncFor, ast.AsyncWith)
