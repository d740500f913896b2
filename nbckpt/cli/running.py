"""`nbckpt run` and `demo`: notebooks that run unattended."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt.cli import parsing
from nbckpt.cli.showing import (
    DONE,
    INTERRUPTED,
    NOTEBOOK_FAILED,
    UNANSWERED,
    as_typed,
    print_json,
    refused,
    say,
    width,
)
from nbckpt.text.escape import on_a_line

if TYPE_CHECKING:
    from nbckpt.jupyter.runner.run import Run

_STATUS = {"interrupted": INTERRUPTED, "unanswered": UNANSWERED}

_RUN_AGAIN = """\
The kernel may die, or the machine: type the same command again, and every cell that was
finished is restored, and a loop in `step.track` goes on at the item that was not finished.

  nbckpt run train.ipynb -p epochs 20 -p model small"""


def add(verbs: Any) -> None:
    """Declare the verbs of this room."""
    run = parsing.verb(
        verbs, "run", _run, "run a notebook; started again, go on where it was", _RUN_AGAIN
    )
    run.add_argument("notebook", metavar="NOTEBOOK", type=Path)
    run.add_argument(
        "-o",
        "--out",
        metavar="OUT",
        type=Path,
        help="where the executed notebook goes: by default NAME.out.ipynb beside NOTEBOOK",
    )
    run.add_argument(
        "-p",
        "--parameter",
        metavar=("NAME", "VALUE"),
        nargs=2,
        action="append",
        default=[],
        help="set NAME after the cell tagged `parameters`: True, False, None, a number, or text; "
        "may be given again",
    )
    run.add_argument("--fresh", action="store_true", help="run every cell, whatever was kept")
    run.add_argument(
        "--approvals",
        choices=("wait", "fail"),
        help="what `nbckpt.approve` does without an answer: wait for one, or fail (exit status 4)",
    )
    parsing.takes_store(run, "by default NBCKPT_STORE, or .nbckpt beside NOTEBOOK")
    parsing.takes_json(run)
    demo = parsing.verb(
        verbs, "demo", _demo, "see a notebook's kernel killed, and go on where it was (20 s)"
    )
    demo.add_argument("--keep", metavar="DIR", type=Path, help="leave notebook and store in DIR")


def _run(arguments: argparse.Namespace) -> int:
    from nbckpt.jupyter.runner import parameters
    from nbckpt.jupyter.runner.progress import watching
    from nbckpt.jupyter.runner.run import run

    values = {name: parameters.typed(text) for name, text in arguments.parameter}
    with watching(sys.stderr) as watcher:
        done = run(
            arguments.notebook,
            out=arguments.out,
            values=values,
            fresh=arguments.fresh,
            store=arguments.store,
            approvals=arguments.approvals,
            watcher=watcher,
        )
    if arguments.json:
        print_json(done.as_json())
    else:
        _print_run(done)
    if done.problem:
        return refused(done.problem, _STATUS.get(done.ending, NOTEBOOK_FAILED))
    return DONE


def _print_run(done: Run) -> None:
    from nbckpt.timeline.cell_outcomes import summary_text, table

    say(table(done.cells, width=width()))
    say("")
    say(on_a_line(f"{summary_text(done.cells)} · {as_typed(done.out)}"))


def _demo(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from nbckpt.cli.demo import demo

    console = Console(highlight=False, markup=False, soft_wrap=True)
    demo(arguments.keep, console.print)
    return DONE
