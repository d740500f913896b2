"""`%timeline`: the widget, or the same as text where no widget can be shown."""

from __future__ import annotations

from html import escape

from nbckpt import report
from nbckpt.errors import UsageError
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.magics.commands import NEWEST, WIDTH


def show(cells: Cells) -> None:
    """Show the timeline of a notebook below the running cell."""
    try:
        from nbckpt.jupyter.widget import show as show_widget

        show_widget(cells)
    except ImportError as problem:
        _show_text(cells, f"the widget needs a package that is missing: {problem}")
    except UsageError as problem:
        _show_text(cells, str(problem))


def _show_text(cells: Cells, why: str) -> None:
    session = cells.session
    session.refresh()
    text = report.log_text(
        session.timeline,
        None,
        session.position,
        limit=NEWEST,
        writing=session.writing.unfinished,
        width=WIDTH,
    )
    data = {"text/plain": f"{text}\n{why}", "text/html": f"<pre>{escape(text)}</pre>{escape(why)}"}
    cells.shell.display_pub.publish(data, {"nbckpt": {"timeline": "text"}})
