"""Environments of their own for the versions of the table, made once and kept."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.utils import canonicalize_name

from tests.llm.beside import NOWHERE
from tests.running import SOURCE, environment

SUITES = ("tests/fidelity", "tests/test_traps.py")

LONGEST_S = 3600
"""Of one test; the first of the traps waits until all have run."""


class Missing(Exception):
    """A Python that is not installed here, or for which a package is not published."""


class Versions(NamedTuple):
    """An environment with versions of its own."""

    python: Path

    def notebooks(self, suites: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Some suites, with those of their tests that start kernels and kill them."""
        options = ["-q", "-rs", "-p", "no:cacheprovider", "-n2", f"--timeout={LONGEST_S}"]
        marked = ["-m", "not long and not exhaustive and not versions and not browser"]
        # Of Python 3.13, about how IPython 7 reads times from its database.
        quiet = ["-W", "ignore:Parsing dates:DeprecationWarning"]
        # ipykernel 6.17 answers no cell whose error has no text, and runs nothing that waits.
        mute = "test_an_error_without_a_text_fails_its_cell_and_no_later_one"
        return subprocess.run(
            [
                self.python,
                "-m",
                "pytest",
                *options,
                *marked,
                *quiet,
                f"--deselect=tests/jupyter/test_cells.py::{mute}",
                *suites,
            ],
            capture_output=True,
            text=True,
            cwd=SOURCE,
            env=environment(),
        )

    def would_install(self, requirements: Sequence[str]) -> dict[str, str]:
        """Distribution → version of all that pip would install for some requirements."""
        pip = [self.python, "-m", "pip", "install", "--quiet", "--dry-run", "--report", "-"]
        done = subprocess.run([*pip, *requirements], capture_output=True, text=True, check=True)
        found = [one["metadata"] for one in json.loads(done.stdout)["install"]]
        return {canonicalize_name(one["name"]): one["version"] for one in found}

    def paranoid(self) -> subprocess.CompletedProcess[str]:
        """The suites, run there in paranoid mode."""
        options = ["-q", "-rs", "-p", "no:cacheprovider", "-n0", f"--timeout={LONGEST_S}"]
        return subprocess.run(
            [self.python, "-m", "pytest", *options, *SUITES],
            capture_output=True,
            text=True,
            cwd=SOURCE,
            env={**environment(), "NBCKPT_VERIFY": "1"},
        )


def environment_of(
    folder: Path, python: str, requirements: Sequence[str], *, is_renewed: bool = False
) -> Versions:
    """The environment with `requirements` on a version of Python, made in `folder` if need be.

    Parameters
    ----------
    is_renewed
        Whether one that is there is brought up to date, as far as a package index answers.

    Raises
    ------
    Missing
        If this Python is not here, or one of the requirements is not published for it.
    """
    base = next(_pythons(python), None)
    if base is None:
        message = f"Python {python} is not installed"
        raise Missing(message)
    wanted = json.dumps([sorted(requirements), python])
    made = folder / f"{python}-{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"
    if made.exists():
        if is_renewed:
            _install(made, requirements, "--upgrade", "--upgrade-strategy=eager")
        return Versions(made / "bin" / "python")
    new = Path(tempfile.mkdtemp(dir=folder))
    try:
        subprocess.run([base, "-m", "venv", "--clear", new], check=True)
        if why := _install(new, requirements):
            raise Missing(why)
        new.rename(made)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return Versions(made / "bin" / "python")


def _install(folder: Path, requirements: Sequence[str], *options: str) -> str:
    """Install into an environment; why nothing could be, if no index has it all."""
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
    done = subprocess.run(
        [*pip, "--only-binary=:all:", *options, *requirements], capture_output=True, text=True
    )
    if done.returncode and any(text in done.stderr for text in NOWHERE):
        return "no package index has " + done.stderr.strip().splitlines()[-1]
    assert done.returncode == 0, done.stderr
    return ""


def _pythons(version: str) -> Iterator[str]:
    """The interpreters of a version of Python that run here: this one, on the path, of pyenv."""
    name = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = sorted(pyenv.glob(f"versions/{version}.*/bin/{name}"), reverse=True)
    tell = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    for python in (sys.executable, shutil.which(name), *map(str, kept)):
        if python is None:
            continue
        done = subprocess.run([python, "-c", tell], capture_output=True, text=True)
        if done.stdout.strip() == version:
            yield python


def first_of(
    folder: Path, pythons: Sequence[str], requirements: Sequence[str], *, is_renewed: bool = False
) -> Versions:
    """The environment on the first Python that has all `requirements`; skips the test without."""
    reasons = []
    for python in pythons:
        try:
            return environment_of(folder, python, requirements, is_renewed=is_renewed)
        except Missing as missing:
            reasons.append(str(missing))
    pytest.skip("; ".join(reasons))
