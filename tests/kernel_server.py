"""Starts kernels by forking: what each of them imports first is imported once.

A forked kernel is `ipykernel`'s own, in a process, session and folder of its own. Two servers take
turns, so that two kernels after each other have other hashes of texts, as processes do.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

_TURNS = itertools.count()
_SHARED = (
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.logger",
    "IPython.core.magics",
    "IPython.extensions.storemagic",
    "debugpy.server.api",
    "ipykernel.ipkernel",
    "ipykernel.kernelapp",
    "ipykernel.zmqshell",
    "nbckpt.capture.groups.groups",
    "nbckpt.capture.trials",
    "nbckpt.session.workspace.workspace",
    "nbckpt.steps.restore.effects",
    "nbckpt.storage.putting",
    "nbckpt.storage.reader",
    "nbckpt.jupyter.outputs",
    "nbckpt.jupyter.shell",
    "nbckpt.jupyter.step_notices",
    "nbckpt.capture.observation.attachments",
    "nbckpt.capture.observation.files",
    "nbckpt.capture.observation.held_elsewhere",
    "nbckpt.capture.observation.indirect_names",
    "nbckpt.capture.observation.shown_widgets",
    "nbckpt.steps.step",
)
"""What every kernel imports, and every notebook of the tests."""


class Forked:
    """A kernel's process, as `jupyter_client` handles one that it started itself."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Whether it has ended: None as long as it has not."""
        if self.returncode is None:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                self.returncode = 0
        return self.returncode

    def wait(self) -> int:
        """Return when it has ended."""
        while self.poll() is None:
            time.sleep(0.005)
        return 0

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)


def launch(cmd: Sequence[str], *, env: Mapping[str, str], cwd: str, **_: Any) -> Forked:
    """Start a kernel by the command of its specification."""
    server = _server(next(_TURNS) % 2)
    assert server.stdin is not None
    assert server.stdout is not None
    arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
    server.stdin.write(json.dumps([arguments, dict(env), cwd]) + "\n")
    server.stdin.flush()
    return Forked(int(server.stdout.readline()))


@functools.cache
def _server(_: int) -> subprocess.Popen[str]:
    """A process that forks, and ends when this one does."""
    command = [sys.executable, "-m", __name__]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    env["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else the debugger warns
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    )


def _serve() -> None:
    for module in _SHARED:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    while line := sys.stdin.readline():
        arguments, env, cwd = json.loads(line)
        if (child := os.fork()) == 0:
            _become_kernel(arguments, env, cwd)
            return  # and end as a process does
        with contextlib.suppress(OSError):  # it has done so itself, or ended
            os.setpgid(child, child)
        print(child, flush=True)


def _become_kernel(arguments: list[str], env: dict[str, str], cwd: str) -> None:
    """Be what ``python -m ipykernel_launcher`` would be."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.environ.clear()
    os.environ.update(env, JPY_PARENT_PID=str(os.getppid()))
    os.chdir(cwd)
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    own = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.path[:] = [*(path for path in before if path), *own]
    sys.argv = ["ipykernel_launcher.py", *arguments]
    random.seed()
    for name in [n for n in sys.modules if n.partition(".")[0] in ("__main__", "tests")]:
        del sys.modules[name]
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance()


if __name__ == "__main__":
    _serve()
