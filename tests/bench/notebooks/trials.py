"""All that is done with one notebook, and what came of it."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from nbckpt.jupyter.runner import ipynb
from tests.bench.notebooks.documents import Shown, difference, shown
from tests.bench.notebooks.plain_runs import PlainRun, run_plainly
from tests.bench.notebooks.rewinding import resumed_and_rewound
from tests.bench.notebooks.sources import edited, notebook_of

PHASES = ("again", "kills", "edit", "rewind")
FOLDER_BYTES = 50_000_000
ROOT = Path(__file__).parents[3]


@dataclass
class Finding:
    """One thing that differs from the plain runs."""

    phase: str
    kind: str  # output, variable, absent, ending, needless
    where: str
    what: str


@dataclass
class Trial:
    """What came of one notebook.

    Attributes
    ----------
    cells
        That hold code, as far as a plain run comes.
    restored
        Of them, those that the second run of the unchanged notebook restored.
    not_compared
        Variables that the digests cannot compare.
    plain_s, first_s, second_s
        Seconds of all cells: plainly, with nbckpt, with nbckpt again. Of several rounds the medians.
    plain_cpu_s, second_cpu_s
        Seconds of the processor, which tell more where a machine does other work, too.
    """

    name: str
    cells: int = 0
    restored: int = 0
    variables: int = 0
    not_compared: int = 0
    plain_s: float = 0.0
    first_s: float = 0.0
    second_s: float = 0.0
    plain_cpu_s: float = 0.0
    second_cpu_s: float = 0.0
    unusable: str = ""
    findings: list[Finding] = field(default_factory=list)

    def of_kind(self, *kinds: str) -> list[Finding]:
        """The findings of some kinds."""
        return [finding for finding in self.findings if finding.kind in kinds]


def tried(path: Path, phases: Collection[str], limit_s: float = 600, rounds: int = 1) -> Trial:
    """What comes of the notebook in a file."""
    trial = Trial(path.name)
    scratch = Path(tempfile.mkdtemp(prefix="nbckpt-real-"))
    try:
        Trying(path, scratch, trial, limit_s).run(phases, rounds)
    except ValueError as error:
        trial.unusable = str(error)[:200]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return trial


class Trying:
    """One notebook on its way through the phases, in one folder that is emptied between them."""

    def __init__(self, path: Path, scratch: Path, trial: Trial, limit_s: float) -> None:
        self.source = path.parent
        self.work = scratch / "work"
        self.scratch = scratch
        self.trial = trial
        self.limit_s = limit_s
        self.notebook = notebook_of(path)
        self.beside = _files_beside(path)
        self.plain: tuple[PlainRun, PlainRun] = (PlainRun(), PlainRun())
        self.in_place = PlainRun()
        self.middle = 0
        os.environ["NBCKPT_HOME"] = str(scratch / "home")

    def run(self, phases: Collection[str], rounds: int) -> None:
        """Go through the phases; the plain runs and the first come always.

        A plain run and one of "again" are timed as often as `rounds`, one after the other.
        """
        self.run_plainly()
        if self.trial.unusable:
            return
        first = self.start_afresh_and_run("first")
        self.trial.first_s = _seconds(first)
        if "again" in phases:
            again = self.kept_run("again")
            self.trial.second_s = _seconds(again)
            self.trial.second_cpu_s = again.get("cpu_s", 0.0)
            self.note_needless("again", again, range(len(self.notebook.cells)))
            self.trial.restored = sum(c["way"] == "restored" for c in again["cells"])
            self.time_again(rounds - 1)
        if "rewind" in phases:
            self.rewind()
        if "edit" in phases:
            self.edit()
        if "kills" in phases:
            self.kills()

    def time_again(self, rounds: int) -> None:
        """Time more plain runs and more of the restored notebook, by turns."""
        trial = self.trial
        times = [(trial.plain_s, trial.second_s, trial.plain_cpu_s, trial.second_cpu_s)]
        for _ in range(rounds):
            plain = run_plainly(self.notebook, self.work, seed=2, limit_s=self.limit_s)
            again = self.kept_run("again")
            busy_s = again.get("cpu_s", 0.0)
            times.append((sum(plain.took_s), _seconds(again), plain.cpu_s, busy_s))
        medians = map(statistics.median, zip(*times, strict=True))
        trial.plain_s, trial.second_s, trial.plain_cpu_s, trial.second_cpu_s = medians

    def run_plainly(self) -> None:
        """Run twice without nbckpt; what differs is not held against anybody."""
        self.empty()
        self.middle = max(0, len(self.notebook.cells) // 2 - 1)
        first = run_plainly(
            self.notebook, self.work, seed=1, stops=[self.middle], limit_s=self.limit_s
        )
        usable = len(first.shown) - bool(first.error)
        if first.error and usable < 4:
            self.trial.unusable = f"plain run: {first.error}"
            return
        self.notebook.cells = self.notebook.cells[:usable]
        self.middle = max(0, usable // 2 - 1)
        first.took_s = first.took_s[:usable]
        if first.error:
            first = self.fresh_plain_run(seed=1)
        second = self.fresh_plain_run(seed=2)
        if first.error or second.error:
            self.trial.unusable = f"plain run: {first.error or second.error}"
        self.plain = (first, second)
        self.in_place = run_plainly(self.notebook, self.work, seed=2, limit_s=self.limit_s)
        self.trial.cells = usable
        self.trial.plain_s = sum(second.took_s)
        self.trial.plain_cpu_s = second.cpu_s
        self.trial.variables = len(second.variables)
        self.trial.not_compared = sum(v.startswith("?") for v in second.variables.values())

    def fresh_plain_run(self, *, seed: int) -> PlainRun:
        """A plain run in a folder as it was at first."""
        self.empty()
        return run_plainly(
            self.notebook, self.work, seed=seed, stops=[self.middle], limit_s=self.limit_s
        )

    def empty(self) -> None:
        """Make the folder as it was at first, without a store."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        for file in self.beside:
            target = self.work / file.relative_to(self.source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)

    def start_afresh_and_run(self, phase: str) -> dict[str, Any]:
        """Run with nbckpt and an empty store."""
        self.empty()
        return self.kept_run(phase)

    def kept_run(
        self,
        phase: str,
        *,
        notebook: Any = None,
        truth: tuple[tuple[PlainRun, PlainRun], PlainRun | None] | None = None,
        death: tuple[int, float, str] | None = None,
    ) -> dict[str, Any]:
        """Run with nbckpt, and hold it against the plain runs unless it is to be killed."""
        document = nbformat.from_dict(self.notebook if notebook is None else notebook)
        path, answer = self.work / "notebook.ipynb", self.scratch / "answer.json"
        nbformat.write(document, path)
        answer.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.bench.notebooks.kept_run", str(path)]
        command += ["--answer", str(answer)]
        if death is not None:
            command += ["--death", str(death[0]), str(death[1]), death[2]]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=_environment() | {"PYTHONHASHSEED": "2" if phase == "again" else "1"},
            capture_output=True,
            text=True,
            timeout=10 * self.limit_s,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if not answer.exists():
            if death is None:
                self.note(phase, "ending", "runner", done.stderr.strip()[-400:])
            return {"ending": "killed", "cells": [], "variables": {}, "problem": ""}
        found: dict[str, Any] = json.loads(answer.read_text())
        if death is None:
            in_place = None if phase == "first" else self.in_place
            self.compare(phase, found, *(truth or (self.plain, in_place)))
        return found

    def compare(
        self,
        phase: str,
        found: dict[str, Any],
        truth: tuple[PlainRun, PlainRun],
        in_place: PlainRun | None,
    ) -> None:
        """Note what differs from two plain runs, and from one on the files that these left."""
        if found["ending"] != "done":
            self.note(phase, "ending", found["ending"], found["problem"][:400])
            return
        out = ipynb.read(self.work / "notebook.out.ipynb")
        got = [shown(cell) for cell in out.cells]
        for number, parts in enumerate(zip(got, truth[0].shown, truth[1].shown, strict=True)):
            other = in_place.shown[number : number + 1] if in_place else []
            if parts[0] not in other and (text := difference(*parts)):
                self.note(phase, "output", f"cell {number}", text)
        variables = found["variables"]
        if in_place:
            one = truth[0].variables
            variables = {
                n: one.get(n, d) if d == in_place.variables.get(n) else d
                for n, d in variables.items()
            }
        self.compare_variables(phase, variables, truth[0].variables, truth[1].variables)

    def compare_variables(
        self, phase: str, got: dict[str, str], one: dict[str, str], other: dict[str, str]
    ) -> None:
        """Note variables that differ where two plain runs agree."""
        for name, digest in one.items():
            if other.get(name) != digest or digest.startswith("?"):
                continue
            if name not in got:
                self.note(phase, "absent", name, digest.split()[0])
            elif got[name].startswith("?"):
                self.note(phase, "variable", name, f"{got[name]} instead of {digest}")
            elif got[name] != digest:
                self.note(phase, "variable", name, digest.split()[0])
        for name in got.keys() - one.keys() - other.keys() - {"?"}:
            self.note(phase, "variable", name, "is there, and should not be")

    def note_needless(self, phase: str, found: dict[str, Any], unchanged: range) -> None:
        """Note cells that ran though nothing had changed."""
        for number in unchanged:
            if self.is_other_in_place(number):
                continue
            if number < len(found["cells"]) and found["cells"][number]["way"] == "ran":
                why = "; ".join(found["cells"][number]["why"])
                source = self.notebook.cells[number].source.strip().splitlines()[0][:60]
                self.note(phase, "needless", f"cell {number} `{source}`", why[:300])

    def is_other_in_place(self, number: int) -> bool:
        """Whether a cell is empty, or does something else on the files that a run has left."""
        lines = map(str.strip, self.notebook.cells[number].source.splitlines())
        if all(not line or line.startswith("#") for line in lines):
            return True
        shown_then = self.plain[0].shown[number : number + 1]
        return shown_then != self.in_place.shown[number : number + 1] and (
            shown_then == self.plain[1].shown[number : number + 1]
        )

    def kills(self) -> None:
        """Kill a kernel, the run and its kernel, and a kernel again; then let it end."""
        self.empty()
        last = max(0, len(self.notebook.cells) - 1)
        for share, who in ((0.25, "kernel"), (0.5, "both"), (0.75, "kernel")):
            cell = min(last, int(share * len(self.notebook.cells)))
            after_s = 0.5 * self.plain[1].took_s[cell]
            self.kept_run("kills", death=(cell, after_s, who))
        self.kept_run("kills")

    def edit(self) -> None:
        """Change a constant in a cell near the middle, and run on the store of the first run."""
        for number in _from_the_middle(len(self.notebook.cells)):
            notebook = edited(self.notebook, number)
            if notebook is None:
                continue
            shutil.move(self.work, self.scratch / "kept")
            self.empty()
            runs = [
                run_plainly(notebook, self.work, seed=seed, limit_s=self.limit_s) for seed in (1, 2)
            ]
            in_place = run_plainly(notebook, self.work, seed=2, limit_s=self.limit_s)
            shutil.rmtree(self.work)
            shutil.move(self.scratch / "kept", self.work)
            if runs[0].error or runs[1].error:
                continue
            truth = (runs[0], runs[1]), in_place
            found = self.kept_run("edit", notebook=notebook, truth=truth)
            self.note_needless("edit", found, range(number))
            if found["ending"] == "done":
                self.resume_after_edit(found["variables"])
            return

    def resume_after_edit(self, there: dict[str, str]) -> None:
        """Resume in a new kernel what is partly of this run, and partly restored."""
        resumed, _, problem = resumed_and_rewound(self.work, self.work / ".nbckpt", "")
        if problem:
            self.note("edit", "ending", "kernel", problem)
        else:
            self.compare_variables("resume", resumed, there, there)

    def rewind(self) -> None:
        """Resume in a new kernel, and rewind to the cell in the middle."""
        store = self.work / ".nbckpt"
        name = f"cell-cell-{self.middle}"
        resumed, rewound, problem = resumed_and_rewound(self.work, store, name)
        if problem:
            self.note("rewind", "ending", "kernel", problem)
        one, other = self.plain
        if resumed:
            self.compare_variables("resume", resumed, one.variables, other.variables)
        if rewound and self.middle in one.middle and self.middle in other.middle:
            plain = one.middle[self.middle], other.middle[self.middle]
            self.compare_variables("rewind", rewound, *plain)

    def note(self, phase: str, kind: str, where: str, what: str) -> None:
        self.trial.findings.append(Finding(phase, kind, where, what))


def _seconds(found: dict[str, Any]) -> float:
    return float(sum(cell["took_s"] for cell in found["cells"]))


def _from_the_middle(count: int) -> Iterator[int]:
    """Up to four cells, the middle one first."""
    middle = count // 2
    near = [middle, middle - 1, middle + 1, middle - 2, middle + 2, middle - 3]
    yield from [number for number in near if 0 <= number < count - 1]


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path}


def _files_beside(path: Path) -> list[Path]:
    """What a notebook may read: the small files below its folder."""
    files = [
        p for p in path.parent.rglob("*") if p.is_file() and p.suffix not in (".ipynb", ".pyc")
    ]
    if sum(p.stat().st_size for p in files) > FOLDER_BYTES:
        return []
    return files


__all__ = ["PHASES", "Finding", "Shown", "Trial", "tried"]
