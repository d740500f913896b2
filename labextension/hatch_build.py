"""Build the timeline's one JavaScript file as part of `pip install`, where Node is.

Without Node 20 or newer, or without a registry to ask, the Python side is installed alone and
says so; `NBCKPT_REQUIRE_LABEXTENSION=1` makes that an error (set it where releases are built).
A source distribution carries the built file and needs no Node.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = Path("nbckpt/jupyter/static/timeline.js")
OLDEST_NODE = 20


class LabextensionHook(BuildHookInterface[Any]):
    """Makes `timeline.js` when it is missing or older than what it is made from."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build before hatch collects the files.

        Raises
        ------
        RuntimeError
            If nothing could be built and `NBCKPT_REQUIRE_LABEXTENSION` is set.
        """
        root = Path(self.root)
        refusal = build(root / "labextension", root / BUILT)
        if not refusal:
            return
        what = (
            "kept an older timeline" if (root / BUILT).exists() else "installed without %timeline"
        )
        message = f"{what}: {refusal}"
        if os.environ.get("NBCKPT_REQUIRE_LABEXTENSION") == "1":
            raise RuntimeError(message)
        self.app.display_warning(message)


def build(source: Path, built: Path) -> str:
    """Why `built` is not up to date with `source`; empty when it is."""
    if is_current(source, built):
        return ""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return f"Node {OLDEST_NODE} or newer is not installed"
    if node_version(node) < OLDEST_NODE:
        return f"{node} is older than Node {OLDEST_NODE}"
    try:
        install(npm, source)
        quietly([npm, "run", "build"], source)
    except (OSError, subprocess.SubprocessError) as error:
        return f"npm did not succeed ({last_words(error)})"
    return ""


def is_current(source: Path, built: Path) -> bool:
    """Whether `built` names the digest of what is in `source` now."""
    if not built.exists():
        return False
    with built.open(encoding="utf-8") as file:
        return file.readline().strip() == f"// sources {sources_digest(source)}"


def sources_digest(source: Path) -> str:
    """Digest of all that the bundle depends on; `sourcesDigest` in build.mjs is its twin."""
    paths = [source / "build.mjs", source / "package-lock.json"]
    paths += [
        path
        for path in (source / "src").rglob("*")
        if path.is_file() and "__tests__" not in path.parts
    ]
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(source).as_posix(), path) for path in paths):
        digest.update(f"{name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def install(npm: str, source: Path) -> None:
    """Fetch the bundler alone, unless the one of the lock file is there.

    The linters and types are `devDependencies`: eighty packages that no user needs.
    """
    if has_bundler(source):
        return
    retries = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=30000"]
    quietly([npm, "ci", "--omit=dev", "--prefer-offline", *retries], source)


def has_bundler(source: Path) -> bool:
    """Whether what the build needs is there in the version of the lock file."""
    there = source / "node_modules" / ".package-lock.json"
    if not there.exists():
        return False
    wanted = json.loads((source / "package-lock.json").read_text())["packages"]
    found = json.loads(there.read_text())["packages"]
    return all(
        found.get(name, {}).get("version") == package["version"]
        for name, package in wanted.items()
        if name and not package.get("dev") and not package.get("optional")
    )


def node_version(node: str) -> int:
    """Major version of `node`, 0 if it does not say."""
    try:
        done = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.match(r"v(\d+)", done.stdout)
    return int(found[1]) if found else 0


def quietly(command: list[str], folder: Path) -> None:
    """Run `command` with its output kept for the error."""
    subprocess.run(
        command,
        cwd=folder,
        check=True,
        timeout=300,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def last_words(error: Exception) -> str:
    """The line of `error` that tells most."""
    said = [
        line for line in str(getattr(error, "output", "") or error).splitlines() if line.strip()
    ]
    telling = [line for line in said if "error" in line.lower()] or said
    return telling[0].strip() if telling else type(error).__name__
