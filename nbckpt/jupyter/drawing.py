"""`%timeline`: the widget, or the same as text where no widget can be shown."""

from __future__ import annotations

from html import escape

from nbckpt.errors import UsageError
from nbckpt.jupyter.as_text import timeline_text
from nbckpt.jupyter.cells import Cells


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
    cells.session.refresh()
    text = timeline_text(cells.session)
    data = {
        "text/plain": f"{text['text/plain']}\n{why}",
        "text/html": f"{text['text/html']}{escape(why)}",
    }
    cells.shell.display_pub.publish(data, {"nbckpt": {"timeline": "text"}})
