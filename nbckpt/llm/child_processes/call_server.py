"""Where child processes find this one: a socket that only its user can reach, and tickets.

It is opened as the first process is started in a step, and ends with the session.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING
from weakref import WeakSet

from nbckpt.llm import current, scope
from nbckpt.llm.child_processes.child_connection import ChildConnection
from nbckpt.llm.child_processes.ipc_frames import ParentAddress
from nbckpt.runtime.interrupts import result_of

if TYPE_CHECKING:
    from multiprocessing.connection import Listener

_LONGEST = 90
"""Bytes of a folder's path, of which the address of a socket has to have room."""
_BACKLOG = 128
"""Processes that may wait to be let in."""
_OPENING_S = 10.0
_PREFIX = "nbckpt-calls-"
_SOCKET = "socket"
_LEFT_S = 60.0
"""Age from which nobody is about to listen at a socket at which nobody does."""


class CallServer:
    """Lets children in, and knows the step for which each was started.

    Attributes
    ----------
    aware, unaware
        Ids of processes that fork others for as long as they live: those that were told of this
        server as they were started, and those that were there before.
    """

    def __init__(self) -> None:
        self.aware: set[int] = set()
        self.unaware: set[int] = set()
        self._key = secrets.token_bytes(32)
        self._tickets: dict[str, scope.Place] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._children: WeakSet[ChildConnection] = WeakSet()
        self._remove: Callable[[], object] | None = None
        self._listener: Listener | None = None
        self._is_over = False
        opened: Future[str] = Future()
        # What it opens and makes is not of the cell that runs.
        threading.Thread(
            target=self._listen, args=[opened], name="nbckpt-children", daemon=True
        ).start()
        self._address = result_of(opened, _OPENING_S)

    def address_for(self, place: scope.Place) -> ParentAddress:
        """What a process is told that is started in `place`."""
        return ParentAddress(self._address, self._key, self._ticket(place))

    def end(self) -> None:
        """Let nobody in any more, and answer nobody."""
        from multiprocessing.connection import Client

        self._is_over = True
        for child in list(self._children):
            child.close()
        with suppress(OSError):
            Client(self._address).close()  # who waits for the next child learns of it

    def forget(self) -> None:
        """In a forked process: leave all of it to the process that has it."""
        if self._listener is not None:
            with suppress(OSError):
                self._listener.close()
        for child in list(self._children):
            child.forget()

    def _ticket(self, place: scope.Place) -> str:
        with self._lock:
            entered = {n: scope.still_entered(p) for n, p in self._tickets.items()}
            self._tickets = {n: p for n, p in entered.items() if p is not None}
            for number, known in self._tickets.items():
                if known is place:
                    return number
            number = str(next(self._numbers))
            self._tickets[number] = place
            return number

    def _place_of(self, ticket: str) -> scope.Place:
        """Settings for what a process asks now; for a step that was left, those around it."""
        place = self._tickets.get(ticket)
        found = None if place is None else scope.of_thread_begun_in(place)
        return scope.here() if found is None else found

    def _listen(self, opened: Future[str]) -> None:
        try:
            listener, address = self._opened()
        except BaseException as problem:  # whoever waits tells of it
            opened.set_exception(problem)
            return
        self._listener = listener
        opened.set_result(address)
        while not self._is_over:
            try:
                child = ChildConnection(listener.accept(), self._key, self._place_of)
            except OSError:  # it went before it was let in
                continue
            self._children.add(child)
            threading.Thread(target=child.serve, name="nbckpt-child", daemon=True).start()
        listener.close()
        if self._remove is not None:
            self._remove()

    def _opened(self) -> tuple[Listener, str]:
        from multiprocessing.connection import Listener
        from multiprocessing.util import Finalize

        if sys.platform == "win32":
            listener = Listener(family="AF_PIPE", backlog=_BACKLOG)
            return listener, str(listener.address)
        folder = tempfile.gettempdir()
        is_long = len(os.fsencode(folder)) > _LONGEST
        around = "/tmp" if is_long else folder
        _remove_left(Path(around))
        folder = tempfile.mkdtemp(prefix=_PREFIX, dir=around)
        # At the end of this process at the latest, and of no forked one.
        self._remove = Finalize(self, rmtree, args=[folder, True], exitpriority=-1)
        address = str(Path(folder) / _SOCKET)
        return Listener(address, family="AF_UNIX", backlog=_BACKLOG), address


def _remove_left(folder: Path) -> None:
    """Remove what processes have left that were killed: sockets at which nobody listens."""
    for place in folder.glob(f"{_PREFIX}*/{_SOCKET}"):
        with suppress(OSError), socket.socket(socket.AF_UNIX) as asking:
            if time.time() - place.stat().st_mtime < _LEFT_S:
                continue
            asking.settimeout(1.0)
            try:
                asking.connect(str(place))
            except ConnectionRefusedError:
                rmtree(place.parent, ignore_errors=True)


_servers: list[CallServer] = []
_opening = threading.Lock()


def server() -> CallServer:
    """The server of this process, opened if there is none.

    Raises
    ------
    OSError, TimeoutError
        If none can be opened.
    """
    with _opening:
        if not _servers:
            _servers.append(CallServer())
            current.when_ended(_end)
        return _servers[0]


def _end() -> None:
    while _servers:
        _servers.pop().end()


def _begin_again_in_child() -> None:
    global _opening  # noqa: PLW0603  # another thread may have held it as this process was forked
    _opening = threading.Lock()
    while _servers:
        _servers.pop().forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again_in_child)
