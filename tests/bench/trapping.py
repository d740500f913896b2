"""Runs traps: each in a fork of one process that has imported what all of them need.

A fork has a shell, a store and globals of its own and starts in milliseconds, so that a hundred
traps take seconds. What a trap leaves behind, threads or broken exit hooks, ends with its fork.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench.shells import make_shell
from tests.bench.systems import SYSTEMS, System, system_named
from tests.bench.traps import TRAPS, Trap
from tests.bench.worker import ANSWER

Outcome = dict[str, Any]
WHY_CHARACTERS = 200
RACES = frozenset(
    {"thread-joined", "thread-between-cells", "thread-in-an-array", "task-between-cells"}
)
"""Something other than a cell changes variables, at a time of its own: `NBCKPT_VERIFY` may tell."""


def main() -> None:
    """Run traps on one system, live and in a fresh process; print the outcomes as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--system", required=True, choices=SYSTEMS)
    parser.add_argument("--traps", nargs="*", choices=TRAPS, default=list(TRAPS))
    parser.add_argument("--timeout-s", type=float, default=30)
    parser.add_argument("--honest", action="store_true", help="run no cell after the state")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    found = list(outcomes(arguments.system, arguments.traps, arguments.timeout_s, arguments.honest))
    print(ANSWER + json.dumps(found))


def outcomes(
    system: str, traps: Sequence[str], timeout_s: float, honest: bool = False
) -> Iterator[Outcome]:
    """What came of each trap and phase.

    With `honest`, nothing runs after the state, so that every answer has to be right with any
    system: it is the traps that this tests.
    """
    kind = system_named(system)
    for module in ("numpy", "pandas", "IPython.core.interactiveshell", *kind.modules):
        importlib.import_module(module)
    for name in traps:
        scratch = Path(tempfile.mkdtemp(prefix="nbckpt-trap-"))
        for phase in ("live", "cold") if kind.restores else ("live",):
            outcome = _in_a_fork(system, TRAPS[name], scratch, phase, timeout_s, honest)
            yield {"kind": "trap", "system": system, "trap": name, "phase": phase, **outcome}
        shutil.rmtree(scratch, ignore_errors=True)


def _in_a_fork(
    system: str, trap: Trap, scratch: Path, phase: str, timeout_s: float, honest: bool
) -> Outcome:
    answer = scratch / f"{phase}.json"
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _child(system, trap, scratch, phase, answer, honest)
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return json.loads(answer.read_text()) if answer.exists() else {"outcome": "crash"}
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return {"outcome": "hangs"}


def _child(system: str, trap: Trap, scratch: Path, phase: str, answer: Path, honest: bool) -> None:
    """Never returns: a fork must not go on in its parent's frames."""
    status = 1
    try:
        place = scratch / "place"
        place.mkdir(exist_ok=True)
        os.chdir(place)
        if trap.name in RACES:
            os.environ.pop("NBCKPT_VERIFY_LOG", None)
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            outcome = _play(system_named(system)(scratch / "store"), trap, phase, honest)
        answer.write_text(json.dumps(outcome))
        status = 0
    finally:
        os._exit(status)


def _play(system: System, trap: Trap, phase: str, honest: bool) -> Outcome:
    shell = make_shell(system.folder.parent)
    state = len(trap.setup) - 1
    outcome: Outcome = {}
    try:
        if phase == "live":
            outcome = _run_cells(system, shell, trap, honest)
            system.restore(state)
        else:
            system.start(shell)
            system.restore(state)
    except Exception as error:
        return {"outcome": "fails", "why": _text(error)}
    for source in trap.after:
        system.run_cell(source)
    try:
        is_right = bool(eval(trap.check, system.everything()))
    except Exception as error:
        return outcome | {"outcome": "wrong", "why": _text(error)}
    return outcome | {"outcome": "right" if is_right else "wrong"}


def _run_cells(system: System, shell: Any, trap: Trap, honest: bool) -> Outcome:
    outcome: Outcome = {}
    system.start(shell)
    for cell, source in enumerate(trap.setup + ([] if honest else trap.mutate)):
        error = system.run_cell(source)
        if error is not None:
            outcome["cell_error"] = _text(error)
        try:
            system.after_cell(cell, source)
        except Exception as problem:
            outcome.setdefault("checkpoint_error", _text(problem))
        system.mark(cell)
        time.sleep(trap.pause_s)
    system.finish()
    return outcome


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:WHY_CHARACTERS]


if __name__ == "__main__":
    main()
