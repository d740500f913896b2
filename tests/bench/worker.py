"""One process: one system on one workload, live, cold or weighed. Its last line is its answer."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from tests.bench.shells import make_shell, peak_mb
from tests.bench.systems import SYSTEMS, System, system_named
from tests.bench.workloads import SCALES, Workload, workload_named

ANSWER = "@@ANSWER "
ERROR_CHARACTERS = 300


def main() -> None:
    """Do what the command line says, and print the answer as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("phase", choices=("live", "cold", "weigh"))
    parser.add_argument("--system", required=True, choices=SYSTEMS)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--scale", choices=SCALES, default="s")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--target", type=int, default=-1, help="cold: the cell to go to")
    parser.add_argument("--budget-s", type=float, default=0, help="live: run no cell after this")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    workload = workload_named(arguments.workload, arguments.scale)
    phase = {"live": live, "cold": cold, "weigh": weigh}[arguments.phase]
    answer = phase(arguments, workload)
    sys.stdout.flush()
    print(ANSWER + json.dumps(answer))


def live(arguments: argparse.Namespace, workload: Workload) -> dict[str, Any]:
    """Run the notebook, then go to each target; note the digests for the fresh process."""
    from tests.bench.namespaces import digests_of

    began = time.perf_counter()
    system, started_s = _start(arguments)
    answer: dict[str, Any] = {"start_ms": started_s * 1e3, "cells_ms": [], "errors": []}
    targets = workload.targets() if system.restores else {}
    want: dict[int, dict[str, str]] = {}
    for cell, source in enumerate(workload.cells):
        answer["cells_ms"].append(_run(system, cell, source, answer["errors"]) * 1e3)
        system.mark(cell)
        if cell in targets.values():
            want[cell] = digests_of(system.variables())
        if arguments.budget_s and time.perf_counter() - began > arguments.budget_s:
            answer["stopped_at"] = cell
            break
    finishing = time.perf_counter()
    system.finish()
    answer["finish_ms"] = (time.perf_counter() - finishing) * 1e3
    answer["bytes"] = system.stored_bytes()
    answer["peak_mb"] = peak_mb()
    _want_path(arguments).write_text(json.dumps(want))
    answer["restores"] = {
        label: _restored(system, cell, want[cell], workload)
        for label, cell in targets.items()
        if cell <= answer.get("stopped_at", cell)
    }
    return answer


def cold(arguments: argparse.Namespace, workload: Workload) -> dict[str, Any]:
    """Go to a target in a process that has imported what a first cell imports, and no more."""
    for module in workload.preloads:
        importlib.import_module(module)
    wanted = json.loads(_want_path(arguments).read_text())[str(arguments.target)]
    try:
        system, started_s = _start(arguments)
        answer = {"start_ms": started_s * 1e3}
        return answer | _restored(system, arguments.target, wanted, workload)
    except Exception as error:
        return {"cell": arguments.target, "ok": False, "error": _text(error)}


def weigh(arguments: argparse.Namespace, workload: Workload) -> dict[str, Any]:
    """Bytes on disk after each cell, everything written: too slow to be timed as well."""
    system, _ = _start(arguments)
    bytes_after = []
    for cell, source in enumerate(workload.cells):
        _run(system, cell, source, [])
        system.mark(cell)
        system.finish()
        bytes_after.append(system.stored_bytes())
    before = [0, *bytes_after]
    return {"cells_bytes": [b - a for a, b in zip(before, bytes_after, strict=False)]}


def _start(arguments: argparse.Namespace) -> tuple[System, float]:
    shell = make_shell(arguments.folder.parent)
    began = time.perf_counter()
    system = system_named(arguments.system)(arguments.folder)
    with contextlib.redirect_stdout(io.StringIO()):
        system.start(shell)
    return system, time.perf_counter() - began


def _run(system: System, cell: int, source: str, errors: list[list[Any]]) -> float:
    """Seconds that a cell and what the system does after it take."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        began = time.perf_counter()
        error = system.run_cell(source)
        try:
            system.after_cell(cell, source)
        except Exception as problem:
            errors.append([cell, f"checkpoint: {_text(problem)}"])
        took_s = time.perf_counter() - began
    if error is not None:
        errors.append([cell, _text(error)])
    elif any(complaint in shown.getvalue() for complaint in system.complaints):
        last = [x for x in shown.getvalue().splitlines() if x.strip()][-1]
        errors.append([cell, f"hook: {last}"[:ERROR_CHARACTERS]])
    return took_s


def _restored(
    system: System, cell: int, wanted: dict[str, str], workload: Workload
) -> dict[str, Any]:
    gc.collect()
    answer: dict[str, Any] = {"cell": cell}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            began = time.perf_counter()
            system.restore(cell)
            answer["ms"] = (time.perf_counter() - began) * 1e3
        answer |= _verdict(system, wanted, workload)
    except Exception as error:
        answer |= {"ok": False, "error": _text(error)}
    return answer


def _verdict(system: System, wanted: dict[str, str], workload: Workload) -> dict[str, Any]:
    from tests.bench.namespaces import broken, difference, digests_of

    variables = system.variables()
    found = difference(wanted, digests_of(variables))
    found["broken"] = broken(workload.invariants, variables)
    return {"ok": not any(found.values()), **{k: v for k, v in found.items() if v}}


def _want_path(arguments: argparse.Namespace) -> Path:
    folder: Path = arguments.folder
    return folder.with_name(folder.name + ".want.json")


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS]


if __name__ == "__main__":
    main()
