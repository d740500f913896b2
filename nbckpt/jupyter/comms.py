"""Messages between a page beside the notebook (the sidebar) and the kernel, both ways.

Three ways, each for one kind of thing. *Events* go from the kernel to all pages over one comm, that
the kernel opens when nbckpt is loaded. *Requests* are reads; each page has a comm of its own for
them, which a front end has answered on a subshell while a cell runs. *Writes* change the namespace:
they come as an `execute_request`, so that they have the main thread and their turn among the cells.

Notes
-----
Target of both comms: `TARGET`. The event comm's id begins with `EVENTS`, so that a page that was
opened later finds it by `comm_info_request`; it is opened with ``{version, protocol}``. A page
opens its own after it has seen it. When nbckpt is loaded again, a new event comm replaces the old.

Events: ``rows`` (all of them), ``changed`` (rows that are new or other than at revision `since`,
and ids that are `gone`), ``status``, ``marks``, ``approvals``
(the questions that wait), ``closed``. Requests: ``{id, op, args}``, answered
with ``{id, ok, result}`` or ``{id, ok, error, kind}``; ``hello`` gives all that events tell of.

A write is an `execute_request` of no code, with one user expression::

    __import__('nbckpt.jupyter.page_writes', fromlist=['written']).written('rewind', '{"ref": "a"}')

It binds nothing, is not a cell to IPython or to nbckpt, and its answer is the JSON of the reply's
`user_expressions`. A reply `aborted` says that a cell before it failed: nothing was done.

Nothing is ever sent over a page's own comm but answers: ipykernel 7.4 hands the next message of a
comm to the shell that sent last on it.
"""

from __future__ import annotations

import contextvars
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nbckpt.jupyter.comm_managers import comm_manager, create_comm
from nbckpt.jupyter.parent_message import running_cell
from nbckpt.version import __version__

if TYPE_CHECKING:
    from nbckpt.jupyter.cells import Cells
    from nbckpt.jupyter.pages import Pages

TARGET = "nbckpt"
PROTOCOL = 1
EVENTS = "nbckpt-events-"
_VERSIONS = {"version": __version__, "protocol": PROTOCOL}


class Comms:
    """The comms of one session. Where there is no kernel, there are none."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._events: Any = None
        self._pages: Pages | None = None
        # ipykernel 7.0 to 7.3 send nothing from a thread that has no cell's context.
        self._context = contextvars.copy_context()

    @property
    def _has_kernel(self) -> bool:
        return getattr(self._cells.shell, "kernel", None) is not None

    def attach(self) -> None:
        """Be there for pages, and tell those that are open."""
        if not self._has_kernel:
            return
        self._cells.loads = running_cell(self._cells.shell)
        comm_manager().register_target(TARGET, self._opened)
        self.announce()

    def announce(self) -> str | None:
        """Open a new event comm instead of the old one; its id, None where there is no kernel."""
        if not self._has_kernel:
            return None
        before = self._events
        comm_id = EVENTS + os.urandom(8).hex()
        self._events = create_comm(target_name=TARGET, comm_id=comm_id, data=dict(_VERSIONS))
        if before is not None:
            before.close()
        return comm_id

    def detach(self) -> None:
        """Tell the pages that nbckpt is there no more."""
        if self._events is None:
            return
        manager = comm_manager()
        targets = getattr(manager, "targets", {})  # xeus does not tell, and takes none away
        if targets.get(TARGET) == self._opened:
            manager.unregister_target(TARGET, self._opened)
        self.send({"event": "closed"})
        self._events.close()
        self._events = None

    def send(self, event: Mapping[str, Any]) -> None:
        """Tell all pages; from any thread."""
        if (events := self._events) is not None:
            events.send(dict(event))

    def _opened(self, comm: Any, message: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Answer a page from now on (the manager calls this, on the thread of its shell)."""
        from nbckpt.jupyter.pages import Pages

        if self._pages is None:
            self._pages = self._context.run(Pages, self._cells, self.send, _VERSIONS)
        self._pages.admit(comm)
