"""Verbs whose cells run in a kernel or console of their own: run, demo; rerun and resume."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.cli.showing import INTERRUPTED, as_typed
from nbckpt.cli.terminal import TerminalCall
from nbckpt.errors import BranchNotFoundError
from nbckpt.text.escape import on_a_line
from nbckpt.verbs.arguments import JSON, TERMINAL_ONLY, Door, argument, flag
from nbckpt.verbs.calls import DONE, NOTEBOOK_FAILED, UNANSWERED, Answer, Call
from nbckpt.verbs.other_notebooks import require_own_branch, require_own_ref
from nbckpt.verbs.registry import at, declare

if TYPE_CHECKING:
    from nbckpt.jupyter.runner.run import Run

_STATUS = {"interrupted": INTERRUPTED, "unanswered": UNANSWERED}


@declare(
    "run",
    "run a notebook; started again, go on where it was",
    argument("notebook", metavar="NOTEBOOK", type=Path),
    argument(
        "-o",
        "--out",
        metavar="OUT",
        type=Path,
        help="where the executed notebook goes: by default NAME.out.ipynb beside NOTEBOOK",
    ),
    argument(
        "-p",
        "--parameter",
        metavar=("NAME", "VALUE"),
        nargs=2,
        action="append",
        default=[],
        help="set NAME after the cell tagged `parameters`: True, False, None, a number, or text; "
        "may be given again",
    ),
    flag("--fresh", help="run every cell, whatever was kept"),
    argument(
        "--approvals",
        choices=("wait", "fail"),
        help="what `nbckpt.approve` does without an answer: wait for one, or fail (exit status 4)",
    ),
    argument(
        "--store",
        metavar="PATH",
        type=Path,
        help="the store: by default NBCKPT_STORE, or .nbckpt beside NOTEBOOK",
    ),
    JSON,
    doors=TERMINAL_ONLY,
    more="""\
The kernel may die, or the machine: type the same command again, and every cell that was
finished is restored, and a loop in `step.track` goes on at the item that was not finished.

  nbckpt run train.ipynb -p epochs 20 -p model small""",
)
def _run(call: Call) -> Answer:
    from nbckpt.jupyter.runner import parameters
    from nbckpt.jupyter.runner.progress import watching
    from nbckpt.jupyter.runner.run import run

    asked = call.arguments
    values = {name: parameters.typed(text) for name, text in asked.parameter}
    with watching(sys.stderr) as watcher:
        done = run(
            asked.notebook,
            out=asked.out,
            values=values,
            fresh=asked.fresh,
            store=asked.store,
            approvals=asked.approvals,
            watcher=watcher,
        )
    status = _STATUS.get(done.ending, NOTEBOOK_FAILED) if done.problem else DONE
    return Answer(lambda: _run_text(done, call), done.as_json, status, done.problem or "")


def _run_text(done: Run, call: Call) -> str:
    from nbckpt.timeline.cell_outcomes import summary_text, table

    summary = on_a_line(f"{summary_text(done.cells)} · {as_typed(done.out)}")
    return f"{table(done.cells, width=call.width)}\n\n{summary}"


@declare(
    "demo",
    "see a notebook's kernel killed, and go on where it was (20 s)",
    argument("--keep", metavar="DIR", type=Path, help="leave notebook and store in DIR"),
    doors=TERMINAL_ONLY,
)
def _demo(call: Call) -> Answer:
    from rich.console import Console

    from nbckpt.cli.demo import demo

    console = Console(highlight=False, markup=False, soft_wrap=True)
    demo(call.arguments.keep, console.print)
    return Answer()


@at(Door.TERMINAL, "rerun")
def _rerun(call: Call) -> Answer:
    from nbckpt.jupyter.runner import rerun as headless

    asked = call.arguments
    require_own_ref(call, asked.ref)
    done = headless.rerun(
        call.session, asked.ref, fresh=asked.fresh, everything=asked.all, tell=call.warn
    )
    status = NOTEBOOK_FAILED if done["error"] else DONE
    return Answer(lambda: headless.text_of(done), lambda: done, status)


@at(Door.TERMINAL, "resume")
def _resume(call: TerminalCall) -> Answer:
    from nbckpt.jupyter.console import console
    from nbckpt.timeline.references import unknown_branch

    session, asked = call.session, call.arguments
    require_own_branch(call, asked.branch)
    branch = asked.branch or session.position.branch
    if session.timeline.head(branch) is None:
        raise BranchNotFoundError(unknown_branch(session.timeline, branch))
    place, notebook = session.store.path, session.notebook
    call.close()
    status = console(place, branch, notebook=notebook, fallback=asked.fallback, code=asked.code)
    return Answer(status=status)
