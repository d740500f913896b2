"""The variable that a process gets as a step starts it, and which processes make nothing of it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import site
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbckpt.llm import scope, unseen_traffic
from nbckpt.llm.child_processes.call_server import server

HOOK = "nbckpt.pth"
"""The file by which each Python of an environment looks for the variable as it starts."""
_PYTHON = re.compile(
    r"(python|pypy)[\d.]*w?|i?python\d|uvx?|conda|(micro)?mamba|pixi|poetry|pipenv"
)
_VERSION = re.compile(r"\d+\.\d+")
_COMMANDS = ("args", "argv", "command")
"""Arguments in which a command stands."""
_ASSIGNED = re.compile(r"\w+=")
_NO_SITE = re.compile(r"-[A-Za-z]*S")


def of_command(arguments: Mapping[str, Any]) -> str | None:
    """What a command is told of this process; None if nothing is.

    Parameters
    ----------
    arguments
        Those of `subprocess.Popen`, `ptyprocess.PtyProcess.spawn` or `os.system`, by name.
    """
    place = scope.here()
    if place.scope is None:
        return None
    words = _words(arguments)
    env = arguments.get("env")
    if words and (program := _program(words[0])) and not _has_hook(words, env):
        unseen_traffic.process_started(program)
    return str(server().address_for(place))


def of_process(process: Any) -> str | None:
    """What a process of `multiprocessing` or loky is told of this one; None if nothing is.

    One that is forked goes on with what its parent knows.
    """
    place, method = scope.here(), _method_of(process)
    if place.scope is None or method == "fork":
        return None
    told = server()
    forking = _fork_server() if method == "forkserver" else None
    if forking is not None and forking not in told.aware:
        told.unaware.add(forking)
    if not _has_hook([_executable(method)], None) or forking in told.unaware:
        unseen_traffic.process_started(method)
    return str(told.address_for(place))


def note_process(process: Any) -> None:
    """Note which process forks others from now on, if the start has begun one."""
    forking = _fork_server() if _method_of(process) == "forkserver" else None
    if forking is not None and forking not in server().unaware:
        server().aware.add(forking)


def _method_of(process: Any) -> str:
    method = getattr(process, "_start_method", None)
    return str(method or sys.modules["multiprocessing"].get_start_method())


def _fork_server() -> int | None:
    module = sys.modules.get("multiprocessing.forkserver")
    pid: int | None = getattr(getattr(module, "_forkserver", None), "_forkserver_pid", None)
    return pid


def _executable(method: str) -> str:
    spawning = sys.modules.get("multiprocessing.spawn")
    if spawning is None or method.startswith("loky"):
        return sys.executable
    return os.fsdecode(spawning.get_executable())


def _words(arguments: Mapping[str, Any]) -> list[str]:
    """The words of a command; of one for a shell, those of its first command."""
    given: Any = next((arguments[name] for name in _COMMANDS if name in arguments), ())
    program, is_for_shell = arguments.get("executable"), bool(arguments.get("shell"))
    is_for_shell |= "command" in arguments
    is_text = isinstance(given, str | bytes | os.PathLike)
    words = [os.fsdecode(word) for word in ([given] if is_text else given)]
    if program is not None and not is_for_shell:
        words[:1] = [os.fsdecode(program)]
    if is_for_shell or (len(words) > 2 and words[1] == "-c" and _is_shell(words[0])):
        return _split(words[0] if is_for_shell else words[2])
    return words


def _is_shell(program: str) -> bool:
    return Path(program).name in ("sh", "bash", "zsh", "dash")


def _split(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    first = next((n for n, word in enumerate(words) if not _ASSIGNED.match(word)), len(words))
    return words[first:]


def _program(word: str) -> str:
    """Name of a program that may run Python; empty for others."""
    name = Path(word).name.removesuffix(".exe")
    return name if _PYTHON.fullmatch(name) else ""


def _has_hook(words: Sequence[str], env: Mapping[Any, Any] | None) -> bool:
    """True if a Python looks for the variable as it starts."""
    path = None if env is None else env.get("PATH")
    found = shutil.which(words[0], path=path) or words[0]
    for word in words[1:]:
        if not word.startswith("-") or word in ("-c", "-m"):
            break
        if _NO_SITE.fullmatch(word):
            return False
    version = _VERSION.search(Path(found).name)
    if version and version[0] != f"{sys.version_info.major}.{sys.version_info.minor}":
        return False
    folders = {Path(sys.executable or "").parent, Path(sys.prefix, "bin")}
    return Path(found).absolute().parent in folders and _is_installed()


def _is_installed() -> bool:
    """True if the hook lies where Python looks for it: not in each folder of `sys.path`."""
    folders = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return any((Path(folder) / HOOK).exists() for folder in folders)
