"""Widgets whose messages are answered while a cell runs, and leave that cell alone."""

from __future__ import annotations

import anywidget
from IPython.core.interactiveshell import InteractiveShell


class QuietWidget(anywidget.AnyWidget):
    """A widget that can be asked on the thread of a subshell."""

    is_nbckpts_own = True

    def open(self) -> None:
        """Open the comm."""
        super().open()
        # Its own way round a message tells IPython that something was executed. On the thread of
        # a subshell that would show, and close, the figures of a cell that is drawing them.
        self.comm.handle_msg = self._handle_msg
        self.comm.on_close(lambda _: self.close())
        self._let_messages_say_where_they_go()

    def _send(self, msg: object, buffers: object = None) -> None:
        super()._send(msg, buffers=buffers)
        self._let_messages_say_where_they_go()

    def _let_messages_say_where_they_go(self) -> None:
        # ipykernel 7.4 hands the next message to the shell that published last on the comm, so
        # that it would wait for the running cell. Each message says itself which shell it is for.
        if self.comm is not None:
            self.comm.__dict__.pop("_reply_subshell_id", None)


def cell_id_of(shell: InteractiveShell) -> str:
    """The front end's id of the running cell; empty if it tells none."""
    get_parent = getattr(shell, "get_parent", None)  # of kernels alone
    message = (get_parent and get_parent()) or {}
    return str(message.get("metadata", {}).get("cellId") or "")
