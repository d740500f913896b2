"""`%timeline`: the timeline as a widget, in every front end that shows anywidgets.

The kernel's side of it. What is drawn is `static/timeline.js`, built from `labextension/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import traitlets
from IPython.display import display

from nbckpt.errors import UsageError
from nbckpt.jupyter.as_text import timeline_text
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.parent_message import cell_id_of
from nbckpt.jupyter.quiet import QuietWidget
from nbckpt.jupyter.views import Views
from nbckpt.reports.timeline_rows import Listed

CODE = Path(__file__).with_name("static") / "timeline.js"


def show(cells: Cells) -> None:
    """Show the timeline of a notebook under the running cell; it stays up to date.

    Raises
    ------
    UsageError
        If this installation has no view.
    """
    cell_id = cell_id_of(cells.shell)
    widget = TimelineWidget(Views.of(cells), _code(), cell_id)
    for other in [w for w in _shown if w is not widget and w.cell_id == cell_id != ""]:
        other.close()  # its output is gone: the cell that showed it has run again
    _shown[:] = [w for w in _shown if w.comm is not None] + [widget]
    display(widget)


def _code() -> str:
    try:
        return CODE.read_text(encoding="utf-8")
    except FileNotFoundError:
        message = (
            "the timeline was not built: install Node.js 20 or newer, then `pip install "
            "--force-reinstall --no-deps nbckpt`; `%nbckpt log` shows it as text"
        )
        raise UsageError(message) from None


class TimelineWidget(QuietWidget):
    """State in the front end's model, and the messages that it sends.

    Attributes
    ----------
    rows, status, older
        The data that are shown (`nbckpt.reports.timeline_rows`); never set by the front end.
    cell_id
        The front end's id of the cell that shows it.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    rows: traitlets.List[Any] = traitlets.List().tag(sync=True)
    status = traitlets.Dict().tag(sync=True)
    older = traitlets.Int().tag(sync=True)

    def __init__(self, views: Views, code: str, cell_id: str) -> None:
        self._views = views
        self.cell_id = cell_id
        listed, status = views.now()
        super().__init__(_esm=code, rows=listed.rows, status=status, older=listed.older)
        views.add(self)

    def show(self, listed: Listed, status: Mapping[str, Any]) -> None:
        """Send the front end what is new."""
        with self.hold_sync():
            self.rows, self.older = listed.rows, listed.older
            if {**self.status, "now": 0} != {**status, "now": 0}:
                self.status = dict(status)

    # -- the comm

    def close(self) -> None:
        """Close the comm, and be told of nothing more."""
        self._views.forget(self)
        super().close()

    def _handle_custom_msg(self, content: object, buffers: object) -> None:  # noqa: ARG002
        """Answer the front end; on the thread where its message came."""
        self._views.request(content, self.send)

    # -- where no widget can be shown

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        return {**data, **timeline_text(self._views.cells.session)}, metadata


_shown: list[TimelineWidget] = []
"""Those that are open, as their front ends are not asked whether they still show them."""
