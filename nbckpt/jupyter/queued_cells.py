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
    """Decides for the kernel of a shell which requests it takes on; a shell in a terminal has none.

    Notes
    -----
    ``Kernel.should_handle`` is there to be replaced; ``exit_now`` is what a shutdown request and
    ``exit()`` set first, before a socket is closed.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._kernel: Any = getattr(shell, "kernel", None)
        self._decides = getattr(self._kernel, "should_handle", None)

    def attach(self) -> None:
        """Begin to decide."""
        if self._decides is not None:
            self._kernel.should_handle = self._should_handle

    def detach(self) -> None:
        """Give the decision back; if another took it since, ours goes on with it."""
        if getattr(self._kernel, "should_handle", None) == self._should_handle:
            self._kernel.should_handle = self._decides

    def _should_handle(self, stream: Any, message: dict[str, Any], idents: Sequence[bytes]) -> Any:
        """False for a cell once the kernel is to end; else what the kernel says, now or awaited."""
        if self._shell.exit_now and message["header"]["msg_type"] == "execute_request":
            return False
        assert self._decides is not None
        return self._decides(stream, message, idents)
