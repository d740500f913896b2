"""Build the widget's one file and JupyterLab's sidebar as part of `pip install`, where Node is.

Without Node 20.19 or newer, or without a registry to ask, the Python side is installed alone and
says so; `NBCKPT_REQUIRE_LABEXTENSION=1` makes that an error (set it where releases are built).
A source distribution carries the built files and needs no Node.
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
SIDEBAR = Path("nbckpt/labextension")
SHARED = "share/jupyter/labextensions/nbckpt"
OLDEST_NODE = (20, 19)
OLDEST = ".".join(map(str, OLDEST_NODE))


class LabextensionHook(BuildHookInterface[Any]):
    """Makes widget and sidebar when they are missing or older than what they are made from."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build before hatch collects the files.

        Raises
        ------
        RuntimeError
            If nothing could be built and `NBCKPT_REQUIRE_LABEXTENSION` is set.
        """
        root = Path(self.root)
        refusal = build(root / "labextension", root)
        if self.target_name == "wheel" and (root / SIDEBAR).exists():
            # Where JupyterLab looks; an editable wheel carries it too.
            build_data["shared_data"][str(root / SIDEBAR)] = SHARED
        if not refusal:
            return
        what = (
            "kept an older timeline"
            if (root / BUILT).exists()
            else "installed without %timeline and sidebar"
        )
        message = f"{what}: {refusal}"
        if os.environ.get("NBCKPT_REQUIRE_LABEXTENSION") == "1":
            raise RuntimeError(message)
        self.app.display_warning(message)


def build(source: Path, root: Path) -> str:
    """Why what is built in `root` is not up to date with `source`; empty when it is."""
    if is_current(source, root):
        return ""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return f"Node {OLDEST} or newer is not installed"
    if node_version(node) < OLDEST_NODE:
        return f"{node} is older than Node {OLDEST}"
    try:
        install(npm, source)
        quietly([npm, "run", "build"], source)
    except (OSError, subprocess.SubprocessError) as error:
        return f"npm did not succeed ({last_words(error)})"
    return ""


def is_current(source: Path, root: Path) -> bool:
    """Whether what is built in `root` names the digest of what is in `source` now."""
    if not (root / BUILT).exists() or not (root / SIDEBAR / "package.json").exists():
        return False
    with (root / BUILT).open(encoding="utf-8") as file:
        return file.readline().strip() == f"// sources {sources_digest(source)}"


def sources_digest(source: Path) -> str:
    """Digest of all that the bundles depend on; `sourcesDigest` in build.mjs is its twin."""
    names = ["../nbckpt/version.py", "build.mjs", "install.json", "package.json"]
    names.append("package-lock.json")
    names += [
        path.relative_to(source).as_posix()
        for folder in ("schema", "src", "style")
        for path in (source / folder).rglob("*")
        if path.is_file() and "__tests__" not in path.parts
    ]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(f"{name}\n".encode())
        digest.update((source / name).read_bytes())
    return digest.hexdigest()


def install(npm: str, source: Path) -> None:
    """Fetch the bundlers alone, unless those of the lock file are there.

    The linters and JupyterLab's types are `devDependencies`: packages that no user needs.
    """
    if has_bundlers(source):
        return
    retries = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=30000"]
    quietly([npm, "ci", "--omit=dev", "--prefer-offline", *retries], source)


def has_bundlers(source: Path) -> bool:
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


def node_version(node: str) -> tuple[int, int]:
    """Major and minor version of `node`, zeros if it does not say."""
    try:
        done = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return 0, 0
    found = re.match(r"v(\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


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
