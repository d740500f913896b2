"""JupyterLab and Notebook 7, each as a server of its own on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType

import pytest

ANNOUNCEMENTS = "@jupyterlab/apputils-extension:announcements"
BUILT = Path(__file__).parent.parent.parent / "nbckpt" / "labextension"
# For what is the page's own and the same in both: in Notebook 7 with the long tests.
lab_first = pytest.mark.parametrize(
    "application",
    ["lab", pytest.param("notebook", marks=pytest.mark.long)],
    indirect=True,
)
FOLDERS = ("root", "config/labconfig", "data", "runtime", "ipython", "settings", "workspaces")


class Application:
    """A server; use it as a context manager. Its kernels end with it.

    Attributes
    ----------
    name
        `lab` or `notebook`.
    root
        The folder of its notebooks.
    """

    def __init__(self, name: str, home: Path) -> None:
        self.name = name
        self.root = home / "root"
        self._home = home
        self._token = secrets.token_hex(16)
        self._log = home / "server.log"
        self._url = ""
        self._process: subprocess.Popen[bytes]

    def __enter__(self) -> Application:
        for folder in FOLDERS:
            (self._home / folder).mkdir(parents=True, exist_ok=True)
        # Nobody is asked whether they want news.
        config = json.dumps({"disabledExtensions": {ANNOUNCEMENTS: True}})
        # The sidebar of this checkout, whatever an installation copied once.
        extensions = self._home / "built" / "labextensions"
        extensions.mkdir(parents=True, exist_ok=True)
        (extensions / "nbckpt").symlink_to(BUILT)
        (self._home / "config/labconfig/page_config.json").write_text(config)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "jupyterlab" if self.name == "lab" else "notebook",
                    "--no-browser",
                    "--allow-root",
                    "--ServerApp.ip=127.0.0.1",
                    "--ServerApp.port=0",
                    f"--IdentityProvider.token={self._token}",
                    f"--ServerApp.root_dir={self.root}",
                    "--expose-app-in-browser",
                ],
                env=self._environment(),
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._url = self._wait_for_address(60)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for kernel in self._ask("GET", "kernels"):
            self._ask("DELETE", f"kernels/{kernel['id']}")
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _environment(self) -> dict[str, str]:
        home = self._home
        paths = [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]
        return {
            **{k: v for k, v in os.environ.items() if k != "NBCKPT_STORE"},  # of another test
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            "IPYTHONDIR": str(home / "ipython"),
            "JUPYTER_PATH": str(home / "built"),
            "JUPYTER_PREFER_ENV_PATH": "1",
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        }

    def _wait_for_address(self, timeout_s: float) -> str:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            text = self._log.read_text(errors="replace")
            found = re.search(r"http://127\.0\.0\.1:\d+", text)
            if found and self._answers(found[0]):
                return found[0]
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        self._process.kill()
        self._process.wait()
        message = f"{self.name} did not start: {self._log.read_text(errors='replace')[-3000:]}"
        raise RuntimeError(message)

    def _answers(self, url: str) -> bool:
        """True if somebody listens there: a loaded machine tells the address long before."""
        address = f"{url}/api/status?token={self._token}"
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=20):
            return True
        return False

    def _ask(self, method: str, path: str) -> list[dict[str, str]]:
        headers = {"Authorization": f"token {self._token}"}
        request = urllib.request.Request(f"{self._url}/api/{path}", headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as response:
            text = response.read()
        return json.loads(text) if text else []

    def notebook(self, name: str) -> str:
        """Address of a new notebook."""
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        content = {
            "cells": [],
            "metadata": {"kernelspec": kernel},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.root / name).write_text(json.dumps(content))
        where = f"lab/tree/{name}?reset&" if self.name == "lab" else f"notebooks/{name}?"
        return f"{self._url}/{where}token={self._token}"

    def settings(self, plugin: str, **choices: object) -> None:
        """Settings of a plugin, `PACKAGE:NAME`, for pages that are opened from now on."""
        package, _, name = plugin.partition(":")
        file = self._home / "settings" / package / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(choices))
