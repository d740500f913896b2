"""Version control for a live notebook: its memory, its money and its time.

In a notebook, ``%load_ext nbckpt``; in a script, ``nbckpt.open(".nbckpt", namespace=globals())``.
"""

from __future__ import annotations

from nbckpt.version import __version__

# Not that of `typing`: `python -m nbckpt` loads this with the folder where one stands on the path.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nbckpt.errors import BudgetError, RefusedError, ReplayError, UnansweredError
    from nbckpt.llm.scope import recording
    from nbckpt.session.session import Session
    from nbckpt.steps.approvals import Approval, approve, approve_async
    from nbckpt.steps.block import checkpoint
    from nbckpt.steps.calls import resolve, step
    from nbckpt.steps.items import map, track  # noqa: A004
    from nbckpt.steps.recorded_values import now, random, uuid
    from nbckpt.steps.retry_block import recover
    from nbckpt.verbs import (
        answer,
        approvals,
        budget,
        diff,
        event,
        export,
        fork,
        get,
        history,
        note,
        open,  # noqa: A004
        prune,
        reducer,
        rerun,
        restore,
        resume,
        rewind,
        sql,
        switch,
        tag,
        trust,
        update,
        wait,
    )

__all__ = [
    "Approval",
    "BudgetError",
    "RefusedError",
    "ReplayError",
    "Session",
    "UnansweredError",
    "__version__",
    "answer",
    "approvals",
    "approve",
    "approve_async",
    "budget",
    "checkpoint",
    "diff",
    "event",
    "export",
    "fork",
    "get",
    "history",
    "map",
    "note",
    "now",
    "open",
    "prune",
    "random",
    "recording",
    "recover",
    "reducer",
    "rerun",
    "resolve",
    "restore",
    "resume",
    "rewind",
    "sql",
    "step",
    "switch",
    "tag",
    "track",
    "trust",
    "update",
    "uuid",
    "wait",
]

_HOMES = {
    "stored": "nbckpt.codecs.stored_names",
    "Session": "nbckpt.session.session",
    "checkpoint": "nbckpt.steps.block",
    "BudgetError": "nbckpt.errors",
    "Approval": "nbckpt.steps.approvals",
    "RefusedError": "nbckpt.errors",
    "ReplayError": "nbckpt.errors",
    "UnansweredError": "nbckpt.errors",
    "approve": "nbckpt.steps.approvals",
    "approve_async": "nbckpt.steps.approvals",
    "recording": "nbckpt.llm.scope",
    "recover": "nbckpt.steps.retry_block",
    "resolve": "nbckpt.steps.calls",
    "map": "nbckpt.steps.items",
    "now": "nbckpt.steps.recorded_values",
    "random": "nbckpt.steps.recorded_values",
    "uuid": "nbckpt.steps.recorded_values",
    "step": "nbckpt.steps.calls",
    "track": "nbckpt.steps.items",
}


def __getattr__(name: str) -> Any:
    if name not in __all__ and name not in _HOMES:
        message = f"module 'nbckpt' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    found = getattr(import_module(_HOMES.get(name, "nbckpt.verbs")), name)
    if name == "stored":  # each stream asks for it
        globals()[name] = found
    return found


def load_ipython_extension(shell: Any) -> None:
    """Bind a session to the notebook; what ``%load_ext nbckpt`` calls."""
    from nbckpt.runtime.gc_pause import uncollected

    with uncollected():
        from nbckpt.jupyter.shell import load

        load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Let go of the notebook; what ``%unload_ext nbckpt`` calls."""
    from nbckpt.jupyter.shell import unload

    unload(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where JupyterLab's sidebar was built; `jupyter-builder develop` links it from there."""
    return [{"src": "labextension", "dest": "nbckpt"}]
