"""Every state comes back as it was: in the kernel that made it, and in a new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.jupyter.states import CASES, Case

RUNNER = """
import json, os, sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
config = Config()
config.HistoryManager.enabled = False
os.chdir(sys.argv[1])
from tests.jupyter.states import CASES
outcome = {}
for number, case in enumerate(CASES):
    os.environ["NBCKPT_STORE"] = f"store-{number}"
    shell = InteractiveShell.instance(config=config)
    shell.colors = "nocolor"
    def run(source):
        result = shell.run_cell(source, store_history=True)
        result.raise_error()
    try:
        run("%load_ext nbckpt")
        if sys.argv[2] == "warm":
            run("%nbckpt auto on")
            for cell in case.setup:
                run(cell)
            run("%checkpoint here")
            for cell in case.mutate:
                run(cell)
            run("%rewind here")
        else:
            run("%resume") if sys.argv[2] == "resume" else run("%rewind here")
        for cell in case.after:
            run(cell)
        outcome[case.name] = bool(eval(case.check, shell.user_ns))
    except Exception as error:
        outcome[case.name] = f"{type(error).__name__}: {error}"
    shell.run_line_magic("unload_ext", "nbckpt")
    InteractiveShell.clear_instance()
print("OUTCOME " + json.dumps(outcome))
"""


def _run(folder: Path, phase: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, str(folder), phase],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path.cwd()), "IPYTHONDIR": str(folder / "ipython")},
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("OUTCOME ")]
    assert lines, done.stdout[-3000:] + done.stderr[-3000:]
    outcome: dict[str, Any] = json.loads(lines[-1][len("OUTCOME ") :])
    return outcome


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What came of every case, in the process that made it and in the next one."""
    folder = tmp_path_factory.mktemp("going-back")
    return {phase: _run(folder, phase) for phase in ("warm", "cold")}


@pytest.mark.sampled(3, by="case")
@pytest.mark.parametrize("phase", ["warm", "cold"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_state_is_as_it_was(
    outcomes: dict[str, dict[str, Any]], case: Case, phase: str
) -> None:
    assert outcomes[phase][case.name] is True
