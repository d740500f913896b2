"""Systems against workloads, one process each.

Rounds are the outer loop and the order of the systems is drawn anew in each, so that a slow minute
of the machine hits all of them. What was written is synced between two processes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.worker import ANSWER
from tests.bench.workloads import workload_named

ROOT = Path(__file__).parents[2]
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, and how long.

    Attributes
    ----------
    budget_s
        A notebook runs no cell after this; what ran still counts.
    timeout_s
        Of one process.
    once_above_s
        A system that takes longer than this on a workload is measured there in one round alone.
    """

    systems: Sequence[str]
    workloads: Sequence[str]
    scale: str = "m"
    rounds: int = 3
    budget_s: float = 300
    timeout_s: float = 900
    once_above_s: float = 60


def records_of(plan: Plan) -> Iterator[Record]:
    """One record for each round, workload and system, as soon as it is there."""
    slow: set[tuple[str, str]] = set()
    for number in range(plan.rounds):
        for workload in plan.workloads:
            systems = list(plan.systems)
            random.Random(f"{number}{workload}").shuffle(systems)
            for system in systems:
                if (system, workload) in slow:
                    continue
                record = _measured(plan, system, workload, weighs=number == 0)
                if "failed" in record["live"] or _total_s(record) > plan.once_above_s:
                    slow.add((system, workload))
                yield record | {"round": number}


def answer_of(command: Sequence[str], timeout_s: float) -> Any:
    """What a process of this benchmark answers; `failed` says why it did not."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not finished in {timeout_s:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith(ANSWER)]
    if not lines:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return {"failed": f"exit status {done.returncode}: {last[:200]}"}
    return json.loads(lines[-1].removeprefix(ANSWER))


def _measured(plan: Plan, system: str, workload: str, *, weighs: bool) -> Record:
    scratch = Path(tempfile.mkdtemp(prefix="nbckpt-bench-"))
    try:
        return _in_scratch(plan, system, workload, scratch, weighs=weighs)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.sync()


def _in_scratch(plan: Plan, system: str, workload: str, scratch: Path, *, weighs: bool) -> Record:
    def call(phase: str, folder: str, *more: str) -> dict[str, Any]:
        command = ["tests.bench.worker", phase, "--system", system, "--workload", workload]
        command += ["--scale", plan.scale, "--folder", str(scratch / folder / "store"), *more]
        answer: dict[str, Any] = answer_of(command, plan.timeout_s)
        return answer

    notebook = workload_named(workload, plan.scale)
    record: Record = {"kind": "run", "system": system, "workload": notebook.name}
    record |= {"about": notebook.about, "scale": plan.scale, "setup": len(notebook.setup)}
    live = record["live"] = call("live", "live", "--budget-s", str(plan.budget_s))
    record["cold"] = {}
    if live.get("restores"):
        os.sync()
        for label in ("last", "half way"):
            if label in live["restores"]:
                target = str(notebook.targets()[label])
                record["cold"][label] = call("cold", "live", "--target", target)
    if weighs and system == "nbckpt":
        record |= call("weigh", "weigh")
    return record


def _total_s(record: Record) -> float:
    live = record["live"]
    restores = [*live.get("restores", {}).values(), *record["cold"].values()]
    total_ms: float = sum(live["cells_ms"]) + sum(r.get("ms", 0) for r in restores)
    return total_ms / 1e3
