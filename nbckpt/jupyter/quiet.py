"""Widgets whose messages are answered while a cell runs, and leave that cell alone."""

from __future__ import annotations

import anywidget

from nbckpt.fingerprint.user_names import Own


class QuietWidget(anywidget.AnyWidget, Own):
    """A widget that can be asked on the thread of a subshell."""

    _ipython_display_ = None
    """That of ipywidgets 7 shows no text where no widget can be shown."""

    def open(self) -> None:
        """Open the comm."""
        super().open()
        if not hasattr(self.comm, "handle_msg"):
            return  # the comms of xeus, which has no subshells
        # Its own way round a message tells IPython that something was executed. On the thread of
        # a subshell that would show, and close, the figures of a cell that is drawing them.
        self.comm.handle_msg = self._handle_msg
        self.comm.on_close(lambda _: self.close())
        # ipykernel 7.4 hands the next message to the shell that published last on the comm, so
        # that it would wait for the running cell. Each message says itself which shell it is for.
        self.comm.__dict__["_reply_subshell_for"] = _the_one_it_names


def _the_one_it_names(_: object, subshell_id: str | None) -> str | None:
    return subshell_id
