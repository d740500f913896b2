"""Both phases of a module's cases, run in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.fidelity import batch
from tests.running import environment

LIMIT_S = 240


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a module's cases.

    Attributes
    ----------
    problems
        Case → what is wrong, of those where something is.
    ran
        Cases that ran in both processes.
    """

    problems: dict[str, str]
    ran: frozenset[str]

    def problem_of(self, case: str) -> str:
        """What is wrong with a case; empty if nothing is."""
        if case in self.problems:
            return self.problems[case]
        return "" if case in self.ran else "it did not run"


def run(module: str, folder: Path, names: tuple[str, ...] = ()) -> Found:
    """Run a module's cases, or those of `names`, in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    problems: dict[str, str] = {}
    for seed, phase in enumerate(("keep", "back"), 1):
        ended = _process(phase, module, folder, names, str(seed))
        results = batch.read(folder / f"{phase}.jsonl")
        for case, found in results.items():
            if "problem" in found:
                problems[case] = f"{_WHERE[phase]}: {found['problem']}"
        if ended:
            problems.setdefault(*ended)
    kept = batch.read(folder / "keep.jsonl")
    brought = batch.read(folder / "back.jsonl")
    return Found(problems, frozenset(kept.keys() & brought.keys()))


def environment_of(seed: str) -> dict[str, str]:
    """The environment of a process that runs cases, with a seed for its hashes."""
    own = environment()
    own |= {"PYTHONHASHSEED": seed, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    return {**own, "PYTHONPATH": f"{Path(__file__).parents[2]}:{own['PYTHONPATH']}"}


_WHERE = {"keep": "in one process", "back": "in a second process"}


def _process(
    phase: str, module: str, folder: Path, names: tuple[str, ...], seed: str
) -> tuple[str, str] | None:
    """Run a phase; if it died: the case that it died of, and its last words."""
    own = environment_of(seed)
    command = [sys.executable, "-m", "tests.fidelity.batch", phase, module, str(folder), *names]
    said = folder / f"{phase}.err"
    with said.open("wb") as log:
        process = subprocess.Popen(
            command, env=own, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder
        )
        try:
            code = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = -9
    if code == 0:
        return None
    lines = said.read_text(errors="replace").splitlines()
    begun = [n for n, line in enumerate(lines) if line.startswith(f"{phase} ")]
    if not begun:
        return "", "\n".join(lines[-20:])
    case = lines[begun[-1]].removeprefix(f"{phase} ")
    return case, f"its process ended with {code}:\n" + "\n".join(lines[begun[-1] :][-20:])
