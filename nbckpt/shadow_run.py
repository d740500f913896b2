"""A step that is about to be restored, run as well: in a copy of this process, to be compared.

The copy is a fork, so its variables are those that are there, what cannot be kept included, and
nothing that it does to them is seen here. What it could do outside is taken from it before the
code runs: it opens no file and no socket, what is open leads nowhere, and it starts nothing. Code
that wants any of this is stopped, and nothing is told of it. Nor is anything of a variable that two
copies do not make alike: the code asks for the time, or draws numbers.

Where this cannot be had (no Linux, memory that is shared with other processes, code that is long,
awaits, or calls nbckpt) the step is restored without it.
"""

from __future__ import annotations
import __future__

import _thread
import ast
import io
import json
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from nbckpt.audit import Stale
from nbckpt.digests import Digest
from nbckpt.keys import is_users_name
from nbckpt.model import Checkpoint
from nbckpt.selection import Selection
from nbckpt.values import ValueDigester

if TYPE_CHECKING:
    from nbckpt.session import Session

LONGEST_S = 20.0
"""A step that took longer is not run for this."""

PATIENCE_S = 10.0
"""What a copy may take beside the time that its code has: locks of threads may hold it for ever."""

NO_FORKS = frozenset({"polars", "torch", "duckdb", "jax", "tensorflow"})
"""Libraries whose threads a fork leaves behind: calls into them may never return."""

_STARTING = ("subprocess.", "socket.", "ctypes.", "sqlite3.", "shutil.", "urllib.", "_thread.")
_ACTING = frozenset(
    {"open", "import", "os.system", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.kill",
     "os.killpg", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink",
     "os.truncate", "os.chmod", "os.chown", "os.utime", "os.spawn", "os.startfile", "mmap.__new__",
     "signal.pthread_kill", "builtins.input", "os.listdir", "os.scandir", "tempfile.mkstemp"}
)  # fmt: skip
_READ_ONLY = os.O_RDONLY


@dataclass(frozen=True)
class ShadowRun:
    """What a step makes of the variables when it runs.

    Attributes
    ----------
    digests
        Of each variable afterwards; of those alone that two runs make alike.
    untold
        Names of those that they do not.
    """

    digests: Mapping[str, Digest]
    untold: frozenset[str]

    def compare(self, session: Session, checkpoint: Checkpoint, selection: Selection) -> None:
        """Report the variables that are not, now that a step was restored, what a run gives.

        Raises
        ------
        StaleCaptureError
            If there are some, and the setting says so.
        """
        live = digests_of_all(session)
        left_out = {r.variable for r in checkpoint.refused} | {*checkpoint.omitted} | self.untold
        names = {n for n in {*live, *self.digests} - left_out if selection.has(n)}
        inputs = ", ".join(checkpoint.key.inputs) if checkpoint.key else ""
        rule = f"its code and what it reads ({inputs or 'nothing'}) counted as the same"
        stale = [
            Stale(name, self._path(name, live), rule, checkpoint.name)
            for name in sorted(names)
            if live.get(name) != self.digests.get(name)
        ]
        session.audit.report(stale, "%nbckpt why tells more; a run of the cell mends it")

    def _path(self, name: str, live: Mapping[str, Digest]) -> str:
        if name not in live:
            return f"{name}, which is missing"
        return name if name in self.digests else f"{name}, which is left over"


class _Stopped(BaseException):
    """The code wanted what a copy must not do."""


def shadow_of(session: Session, checkpoint: Checkpoint, tree: ast.Module) -> ShadowRun | None:
    """What the code of a step does to the variables as they are now; None if that is not told.

    Parameters
    ----------
    checkpoint
        What is to be restored instead.
    """
    try:
        found = _shadow_of(session, checkpoint, tree)
    except Exception as defect:  # a check breaks no restore
        session.audit.tell_defect(defect)
        return None
    session.audit.shadows[found if isinstance(found, str) else "compared"] += 1
    return None if isinstance(found, str) else found


def _shadow_of(session: Session, checkpoint: Checkpoint, tree: ast.Module) -> ShadowRun | str:
    """The run, or why there is none."""
    if why := _why_not(session, checkpoint, session.reach(tree)):
        return why
    try:
        flags = _future_flags(session.namespace)
        code = compile(tree, "<shadow run>", "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return "it awaits"
    timeout_s = PATIENCE_S + 3 * checkpoint.duration_s
    runs = []
    for _ in range(2):
        run = _in_a_copy(lambda: _after_running(session, code), timeout_s)
        if "why" in run:
            return str(run["why"])
        runs.append(run["digests"])
    one, other = runs
    same = {name: digest for name, digest in one.items() if other.get(name) == digest}
    return ShadowRun(same, frozenset({*one, *other} - same.keys()))


def _why_not(session: Session, checkpoint: Checkpoint, loads: frozenset[str] | None) -> str:
    if not hasattr(os, "fork") or not Path("/proc/self/fd").is_dir():
        return "this system does not copy processes"
    if checkpoint.duration_s > LONGEST_S:
        return "it takes long"
    if loads is None:
        return "it can touch any name"
    namespace = session.namespace
    homes = {_package_of(namespace[n]) for n in loads if n in namespace}
    if "nbckpt" in homes:
        return "it calls nbckpt"
    if found := sorted(homes & NO_FORKS):
        return f"it uses {found[0]}"
    if _shares_memory():
        return "this process shares memory with others"
    return ""


def _future_flags(namespace: Mapping[str, object]) -> int:
    """Those of `from __future__ import …`, which a shell applies to all cells below."""
    return sum(
        {v.compiler_flag for v in list(namespace.values()) if type(v) is __future__._Feature}  # noqa: SLF001
    )


def _package_of(value: object) -> str:
    kind = type(value)
    if getattr(kind, "is_nbckpts_own", False):
        return "nbckpt"
    named = value if kind is type(sys) else None
    name = getattr(named, "__name__", "") or getattr(value, "__module__", "") or kind.__module__
    return str(name).partition(".")[0]


def _shares_memory() -> bool:
    """Whether something is mapped that others see written: a file, or memory with a name."""
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return True
    mapped = (line.split(None, 5) for line in maps.splitlines())
    return any(
        "w" in parts[1] and parts[1].endswith("s") and not parts[5].startswith("/dev/zero")
        for parts in mapped
        if len(parts) > 5  # it has a name
    )


# -- the copy -------------------------------------------------------------------------------


def _in_a_copy(work: Callable[[], dict[str, Any]], timeout_s: float) -> dict[str, Any]:
    """What `work` returns in a fork of this process, or ``why`` there is nothing."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which the copy does not have
        child = os.fork()
    if child == 0:
        _be_a_copy(work, writing)
    os.close(writing)
    try:
        data = _read_all(reading, timeout_s)
    finally:
        os.close(reading)
        if data_is_missing := _is_running(child):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if data is None or (data_is_missing and not data):
        return {"why": "it did not end in time"}
    try:
        answer = json.loads(data)
    except ValueError:
        return {"why": "the copy died"}
    assert isinstance(answer, dict)
    return answer


def _is_running(child: int) -> bool:
    """Whether a copy runs a moment after it answered; else it is waited for."""
    until = time.monotonic() + 1
    while time.monotonic() < until:
        ended, _ = os.waitpid(child, os.WNOHANG)
        if ended:
            return False
        time.sleep(0.001)
    return True


def _read_all(descriptor: int, timeout_s: float) -> bytes | None:
    until = time.monotonic() + timeout_s
    pieces: list[bytes] = []
    while (left_s := until - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], left_s)[0]:
            break
        if not (piece := os.read(descriptor, 1 << 16)):
            return b"".join(pieces)
        pieces.append(piece)
    return None


def _be_a_copy(work: Callable[[], dict[str, Any]], writing: int) -> NoReturn:
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        _cut_off(writing)
        try:
            answer = work()
        except _Stopped as stopped:
            answer = {"why": f"it wants {stopped}"}
        except BaseException as error:  # whatever the user's code raises
            answer = {"why": f"it raises {type(error).__name__}"}
        data = json.dumps(answer).encode()
        while data:
            data = data[os.write(writing, data) :]
        status = 0
    finally:
        os._exit(status)  # nothing of this process's is flushed, closed or finalized


def _cut_off(but: int) -> None:
    """Have all that is open lead nowhere, except files that are only read: these are read apart."""
    import fcntl
    import stat

    null = os.open(os.devnull, os.O_RDWR)
    for name in Path("/proc/self/fd").iterdir():
        descriptor = int(name.name)
        if descriptor in (but, null):
            continue
        try:
            mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
            if mode != _READ_ONLY or not stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.dup2(null, descriptor)
                continue
            own = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
            os.lseek(own, os.lseek(descriptor, 0, os.SEEK_CUR), os.SEEK_SET)
            os.dup2(own, descriptor)
            os.close(own)
        except OSError:  # it was the folder's own
            continue


class _Watch:
    """Stops code that wants to act outside."""

    def __init__(self) -> None:
        self.is_on = False
        self.seen = ""

    def __call__(self, event: str, _: object) -> None:
        if self.is_on and (event in _ACTING or event.startswith(_STARTING)):
            self.seen = event
            raise _Stopped(event)


def _after_running(session: Session, code: Any) -> dict[str, Any]:
    """In the copy: run the code, and digest all variables."""
    import resource

    namespace = session.namespace
    watch = _Watch()
    sys.addaudithook(watch)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    _start_no_threads(watch)
    watch.is_on = True
    try:
        exec(code, namespace)
        if len(sys._current_frames()) > 1:  # noqa: SLF001  # also those that `threading` missed
            return {"why": "it starts threads"}
    finally:
        watch.is_on = False
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if watch.seen:  # and the code caught it
        return {"why": f"it wants {watch.seen}"}
    return {"digests": digests_of_all(session)}


def _start_no_threads(watch: _Watch) -> None:
    """Have a thread be what is watched for: not every Python raises an event of it."""

    def start(*_: object, **__: object) -> NoReturn:
        watch("_thread.start_new_thread", ())
        raise _Stopped

    for module in (_thread, threading):
        for name in ("start_new_thread", "start_new", "start_joinable_thread"):
            for own in (name, f"_{name}"):
                if hasattr(module, own):
                    setattr(module, own, start)


def digests_of_all(session: Session) -> dict[str, Digest]:
    """Digests of all variables of the user of which all can be told."""
    namespace = session.namespace
    found = {}
    for name in filter(is_users_name, session.capturer.user_names()):
        examined = ValueDigester(namespace).examine(namespace[name])
        if not examined.exhausted:
            found[name] = examined.digest
    return found
