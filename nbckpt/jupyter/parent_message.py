"""The message that asked for the running cell, as far as a kernel tells it."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any


def request_of(shell: Any) -> Mapping[str, Any]:
    """The message that asked for the running cell; empty outside of ipykernel."""
    get_parent = getattr(shell, "get_parent", None)  # xeus has a kernel, and does not tell
    return (get_parent and get_parent()) or {}


def cell_id_of(shell: Any) -> str:
    """The front end's id of the running cell; empty if it tells none."""
    return str(request_of(shell).get("metadata", {}).get("cellId") or "")


def running_cell(shell: Any) -> SimpleNamespace | None:
    """The cell that a kernel runs, as IPython would tell of it; None of a silent request."""
    message = request_of(shell)
    content, metadata = message.get("content") or {}, message.get("metadata") or {}
    if content.get("silent", True):
        return None
    return SimpleNamespace(raw_cell=content.get("code", ""), cell_id=metadata.get("cellId"))
