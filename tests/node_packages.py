"""The packages that the TypeScript is checked with; an installation brings the bundlers alone."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "labextension"
_NEEDED = ("typescript", "eslint", "@jupyterlab/notebook", "axe-core")


def npm() -> str:
    """npm, with the packages of the lock file in place."""
    found = shutil.which("npm")
    assert found, "install Node 20 or newer, or set NBCKPT_NO_NODE=1 to go without these tests"
    with (Path(tempfile.gettempdir()) / "nbckpt-npm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # processes of one run
        if not all((SOURCE / "node_modules" / name).exists() for name in _NEEDED):
            subprocess.run([found, "ci"], cwd=SOURCE, check=True, capture_output=True, timeout=280)
    return found
