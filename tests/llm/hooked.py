"""An environment with this nbckpt, and with the line that its wheel brings or without."""

from __future__ import annotations

import shutil
import sys
import venv
from pathlib import Path

from tests.running import SOURCE

HOOK = Path(SOURCE) / "nbckpt" / "llm" / "child_processes" / "nbckpt.pth"


def python_in(folder: Path, *, has_hook: bool) -> Path:
    """A Python that finds all that this one does."""
    venv.EnvBuilder(symlinks=True).create(folder)
    packages = packages_in(folder)
    found = [path for path in sys.path if path.endswith("-packages")]
    (packages / "a.pth").write_text("\n".join([SOURCE, *found]))
    if has_hook:
        shutil.copy(HOOK, packages)
    return folder / "bin" / "python"


def packages_in(folder: Path) -> Path:
    """Where the packages of an environment are."""
    (packages,) = (folder / "lib").glob("*/site-packages")
    return packages
