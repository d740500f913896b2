"""The tools that hold the code together, as a contributor calls them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.tools

ROOT = Path(__file__).parent.parent
SCRIPTS = Path(sys.executable).parent


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "format", "--check", "."],
        ["ruff", "check", "."],
        ["mypy"],
        ["lint-imports"],
        ["lint-imports", "tests/acyclic.toml"],
    ],
    ids=" ".join,
)
def test_the_tool_is_content(command: list[str]) -> None:
    done = subprocess.run(
        [str(SCRIPTS / command[0]), *command[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
