"""Have the stranger make a store, in a process and with a key of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from nbckpt.testing import Provider
from tests.running import environment


def make(folder: Path, provider: Provider) -> None:
    """The stranger's store is in `folder`, and nothing of what it leaves behind when it runs."""
    own = {"NBCKPT_STORE": str(folder / ".nbckpt"), "NBCKPT_HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.session.trust.stranger", str(folder)],
        env={**environment(), **provider.environment(), **own},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for mark in (folder / "marks").iterdir():
        mark.unlink()
