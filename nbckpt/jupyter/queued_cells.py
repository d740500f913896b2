"""Cells that wait in the kernel's queue as it is told to end: none of them begins.

A front end that ends a kernel interrupts its cell and asks it to shut down. ipykernel drops the
cells behind an interrupted one as it answers. A shutdown closes the socket for that answer, from
another thread: where it comes first the cells are not dropped, and the next one runs until the
process is ended. A marked one would be kept, and be where the notebook goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from IPython.core.interactiveshell import InteractiveShell


class QueuedCells:
    """Decides for the kernel of a shell which requests it takes on.

    Notes
    -----
    ``should_handle`` and ``do_shutdown`` of ipykernel are there to be replaced. A shutdown request
    calls the latter first, before a socket is closed.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._kernel: Any = getattr(shell, "kernel", None)
        self._ends = False
        own = {"should_handle": self._should_handle, "do_shutdown": self._do_shutdown}
        self._own = own if all(hasattr(self._kernel, name) for name in own) else {}
        self._replaced = {name: getattr(self._kernel, name) for name in self._own}

    def attach(self) -> None:
        """Begin to decide."""
        for name, method in self._own.items():
            setattr(self._kernel, name, method)

    def detach(self) -> None:
        """Give the decision back; if another took it since, ours goes on within it."""
        for name, method in self._own.items():
            if getattr(self._kernel, name) == method:
                setattr(self._kernel, name, self._replaced[name])

    def _do_shutdown(self, restart: bool) -> Any:
        """What the kernel answers, now or awaited."""
        self._ends = True
        return self._replaced["do_shutdown"](restart)

    def _should_handle(self, stream: Any, message: dict[str, Any], idents: Sequence[bytes]) -> Any:
        """False for a cell once the kernel is to end; else what the kernel says, now or awaited."""
        if self._ends and message["header"]["msg_type"] == "execute_request":
            return False
        return self._replaced["should_handle"](stream, message, idents)
