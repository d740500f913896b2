"""Environments with other versions of the SDKs beside the tests' own, made once and kept."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.llm.hooked import HOOK
from tests.running import SOURCE, environment

NOWHERE = ("No matching distribution found", "Could not find a version", "connection")
"""What pip says where no index answers."""


class Beside(NamedTuple):
    """An environment that has some packages in other versions, and the rest from this one."""

    python: Path

    def run(self, code: str, **variables: str) -> str:
        """What a script says there."""
        return self._told(["-c", code], variables)

    def passes(self, *arguments: str) -> str:
        """The last line of tests that were run there and passed, all of their cases."""
        switched_off = ("-p", "no:cacheprovider", "-p", "no:unraisableexception", "-n0")
        which = ("-m", "not long and not versions")
        said = ("-m", "pytest", "-q", *switched_off, *which, *arguments)
        return self._told(said, {}).splitlines()[-1]

    def _told(self, arguments: tuple[str, ...] | list[str], variables: dict[str, str]) -> str:
        done = subprocess.run(
            [self.python, *arguments],
            capture_output=True,
            text=True,
            cwd=SOURCE,
            env={**environment(), "LITELLM_LOCAL_MODEL_COST_MAP": "True", **variables},
        )
        assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
        return done.stdout.strip()


def beside(folder: Path, *requirements: str) -> Beside:
    """The environment with `requirements`, made in `folder` if it is not there.

    What this environment has and they allow is not installed again: so it takes seconds. Skips
    the test where no package index answers.
    """
    wanted = json.dumps([requirements, sys.version, sys.prefix, HOOK.read_text()])
    made = folder / hashlib.sha256(wanted.encode()).hexdigest()[:16]
    if not made.exists():
        new = Path(tempfile.mkdtemp(dir=folder))
        try:
            _make(new, requirements)
            new.rename(made)  # several workers may make it at once
        except OSError:
            if not made.exists():
                raise
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return Beside(made / "bin" / "python")


def _make(folder: Path, requirements: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    own = folder / "lib" / version / "site-packages"
    (own / "others.pth").write_text("\n".join(filter(_has_packages, sys.path)))
    shutil.copy(HOOK, own)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--timeout=20"]
    options = ["--quiet", "--retries=1", "--no-compile", "--only-binary=:all:"]
    done = subprocess.run(
        [*pip, "install", *options, *requirements], capture_output=True, text=True
    )
    if done.returncode and any(text in done.stderr for text in NOWHERE):
        pytest.skip(f"no package index answers for {', '.join(requirements)}")
    assert done.returncode == 0, done.stderr


def _has_packages(folder: str) -> bool:
    """True if packages are installed into a folder of ``sys.path``."""
    return Path(folder).name == "site-packages"
