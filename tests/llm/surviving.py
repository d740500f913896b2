"""Cells and scripts that are killed while they ask a provider, and run again."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbckpt.testing import Provider
from tests.kernels import Kernel, KernelDiedError
from tests.running import environment


@contextmanager
def survived(
    folder: Path,
    provider: Provider,
    cells: Sequence[str],
    cell: str,
    *,
    kills: int,
    answers: int,
) -> Iterator[Kernel]:
    """A kernel in which a cell has ended, after so many that were killed in it.

    Parameters
    ----------
    cells
        Run before it in each kernel.
    answers
        Given between two kills.
    """
    for n in range(kills + 1):
        with Kernel(folder) as kernel:
            for before in cells:
                assert kernel.run(before).ok
            asked = kernel.send(cell)
            if n == kills:
                ran = kernel.collect(asked)
                assert ran.ok, ran.error
                yield kernel
                return
            enough, deadline = provider.answered + answers, time.monotonic() + 60
            while provider.answered < enough and time.monotonic() < deadline:
                time.sleep(0.005)
            kernel.kill()
            with pytest.raises(KernelDiedError):
                kernel.collect(asked)


def output_of_second_run(script: str, folder: Path, provider: Provider) -> str:
    """What a script prints when it runs again: it kills itself in its first run."""
    path = folder / "script.py"
    path.write_text(script)
    ways = {"cwd": folder, "env": {**environment(), **provider.environment()}}
    command = [sys.executable, str(path)]

    died = subprocess.run(command, **ways, capture_output=True, check=False)
    ran = subprocess.run(command, **ways, capture_output=True, text=True, check=False)

    assert died.returncode == -9
    assert ran.stdout, ran.stderr
    return str(ran.stdout)
