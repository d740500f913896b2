"""File systems that are small, full or read-only, for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, *arguments: str) -> Iterator[Path]:
    """A file system at `folder`; skips the test where mounting is not allowed."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *arguments, str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mount is refused here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        if subprocess.run(["umount", str(folder)], capture_output=True).returncode:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
