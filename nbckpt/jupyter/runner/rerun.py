"""Rerun without a front end: the recorded cells run in a kernel of their own, and are kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt.config.settings import Settings
from nbckpt.config.settings_sources import STORE_VARIABLE
from nbckpt.errors import NotebookError
from nbckpt.jupyter.runner.execution import (
    LOAD,
    LOOK_S,
    SESSION,
    WAIT,
)
from nbckpt.jupyter.runner.kernel import Kernel
from nbckpt.reports.questions import told_by
from nbckpt.storage.store import Store

if TYPE_CHECKING:
    from nbckpt.session.session import Session


def rerun(
    session: Session,
    ref: str | None,
    *,
    fresh: bool = False,
    everything: bool = False,
    tell: Callable[[str], object],
) -> dict[str, Any]:
    """Rerun the cells after `ref` in a new kernel; the result as `nbckpt.rerun` has it.

    Parameters
    ----------
    session
        One that only looks; its position gives `ref` its meaning.
    ref
        By default the head of its branch.
    tell
        Called with a text for each question that waits: the question, and the way to answer it.

    Raises
    ------
    NotebookError
        If the kernel does not start, or dies.
    NbckptError
        If there is nothing to rerun.
    """
    from nbckpt.steps.rerun import rerun as rerunning

    target = session.get(ref or session.position.branch)
    rerunning.plan(session, target.id)  # says what is wrong before a kernel starts
    asked = (session.position.branch, target.id, fresh, everything)
    call = f"await {_INSIDE}.rerun{asked!r}"
    answer = asyncio.run(_answer(_kernel(session), call, session.store, tell))
    found: dict[str, Any] = json.loads(answer)
    return found


_INSIDE = "__import__('nbckpt.jupyter.headless', fromlist=['rerun'])"


async def _answer(kernel: Kernel, call: str, store: Store, tell: Callable[[str], object]) -> str:
    try:
        await kernel.start()
        try:
            own = str(await kernel.ask(LOAD, SESSION))
        except NotebookError as error:
            message = (
                f"nbckpt cannot be loaded in a kernel: {error}; "
                "is it installed in the environment of that kernel?"
            )
            raise NotebookError(message) from error
        meanwhile = asyncio.ensure_future(_follow(store, own, tell))
        answer = str(await kernel.ask(call, f"{_INSIDE}.outcome()"))
        meanwhile.cancel()
        await kernel.ask("", WAIT)
        return answer
    finally:
        await kernel.stop()


async def _follow(store: Store, session: str, tell: Callable[[str], object]) -> None:
    """Tell of each question that the kernel's session waits for."""
    while True:
        for record in store.refresh():
            if text := told_by(record, store, session):
                tell(text)
        await asyncio.sleep(LOOK_S)


def _kernel(session: Session) -> Kernel:
    import nbformat

    store = session.store.path.absolute()
    environment = {STORE_VARIABLE: str(store), "JPY_SESSION_NAME": session.notebook}
    folder = store.parent if store.name == Settings().store.name else Path.cwd()
    return Kernel(nbformat.v4.new_notebook(), folder, environment)


def text_of(done: dict[str, Any]) -> str:
    """The text of a rerun's record: each cell's outcome, for people."""
    return str(done["text"])
