"""Writes that a page beside the notebook asks for: done between cells, and answered as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython

from nbckpt.errors import UsageError
from nbckpt.fingerprint.user_names import Own
from nbckpt.jupyter.page_requests import refusal, writes
from nbckpt.jupyter.pages import SHAPE
from nbckpt.jupyter.shell import attached
from nbckpt.jupyter.views import Views

if TYPE_CHECKING:
    from nbckpt.jupyter.page_requests import Answer


class Written(Own):
    """The answer to a write, as JSON to who asked for it."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.answer = answer

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"application/json": dict(self.answer), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return "<done>" if self.answer.get("ok") else f"<not done: {self.answer.get('error')}>"


def written(op: str, args: str) -> Written:
    """Do what a page asks for, now: no cell runs.

    Parameters
    ----------
    op
        What; one of `nbckpt.jupyter.page_requests.writes`, or ``announce``.
    args
        Its arguments, as JSON.
    """
    return Written(_write(op, args))


def _write(op: str, text: str) -> Answer:
    shell: Any = get_ipython()
    try:
        extension = attached(shell)
        args = json.loads(text)
        if not isinstance(args, Mapping):
            raise UsageError(SHAPE)
        if op == "announce":
            return {"ok": True, "result": {"comm_id": extension.comms.announce()}}
        if op not in writes():
            known = ", ".join(sorted(writes()))
            message = f"{op!r} is nothing that changes a notebook: {known} are"
            raise UsageError(message)
    except (UsageError, ValueError) as problem:
        return refusal(str(problem), UsageError.__name__)
    return Views.of(extension.cells).write(op, args)
