"""Rerun: the recorded cells after a checkpoint once more.

What a change cannot have reached is restored, the rest runs, on a branch of its own.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from nbckpt.errors import UsageError
from nbckpt.runtime.interrupts import held
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.rerun.plan import Plan, plan
from nbckpt.steps.rerun.result import CellRun, Rerun, as_record
from nbckpt.steps.rerun.run import Rerunning, Runner

__all__ = [
    "CellRun", "Plan", "Rerun", "Runner", "as_record", "driven", "plan", "rerun", "rerun_with",
]  # fmt: skip


def rerun(
    session: Session,
    ref: str | None = None,
    *,
    fresh: bool = False,
    everything: bool = False,
    shell: Runner | None = None,
) -> Rerun:
    """Run the recorded cells after `ref` again; what a change cannot have reached is restored.

    It stops at the first error, which is told and not raised; the branch is kept, and the same
    call goes on from there.

    Parameters
    ----------
    ref
        By default where the session is.
    fresh
        Run everything, and ask models anew, too.
    everything
        Restore nothing.
    shell
        What runs the cells; by default the notebook's shell, else plain Python.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names no checkpoint.
    UsageError
        If nothing was recorded after it.
    StoreError
        If what is there now cannot be kept: nothing was changed.
    """
    from nbckpt.steps.rerun.plain_python import Plainly

    own = session.state(StepState).runner
    runner = shell or (Plainly(session) if own is None else own())
    with held():
        return driven(rerun_with(session, runner, ref, fresh=fresh, everything=everything))


def driven(work: Coroutine[Any, Any, Rerun]) -> Rerun:
    """The result of what never waits, though it is written as what may. Call it while `held`."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: Rerun = ended.value
        return result
    work.close()
    message = "a recorded cell waits for what only a running loop can give"
    raise RuntimeError(message)


async def rerun_with(
    session: Session,
    runner: Runner,
    ref: str | None = None,
    *,
    fresh: bool = False,
    everything: bool = False,
) -> Rerun:
    """`rerun`, for a caller that can wait for what the cells await."""
    steps = session.state(StepState)
    if steps.watch is not None:
        message = "a rerun is under way: wait until it has ended"
        raise UsageError(message)
    todo = plan(session, ref)
    session.restore_position(todo.start)
    pays_again = steps.pays_again
    try:
        steps.pays_again = fresh
        return await Rerunning(session, todo, runner, restores=not (fresh or everything)).run()
    finally:
        steps.pays_again = pays_again
