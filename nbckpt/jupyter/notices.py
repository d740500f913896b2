"""The quiet lines that nbckpt says under a cell."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.text.commands import in_notebook
from nbckpt.text.escape import legible, on_a_line
from nbckpt.text.units import duration_text

if TYPE_CHECKING:
    from nbckpt.session.session import Session

_STYLE = "color: var(--jp-ui-font-color2, gray); font-size: 90%"


def say(shell: InteractiveShell, text: str, **facts: object) -> None:
    """Show one quiet line; `facts` go with it for programs, as metadata under ``nbckpt``."""
    text = on_a_line(in_notebook(text))
    data = {"text/plain": text, "text/html": f'<span style="{_STYLE}">{_escaped(text)}</span>'}
    shell.display_pub.publish(data, {"nbckpt": facts})


def _escaped(text: str) -> str:
    """The text as HTML; `html.escape` would bring a millisecond of entities along."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def warn(text: str) -> None:
    """Say on stderr what went wrong; the cell's own result stands."""
    print(f"nbckpt: {on_a_line(in_notebook(text))}", file=sys.stderr)


def notify_defect(session: Session, what: str, defect: BaseException) -> None:
    """Say on stderr what went wrong by a defect in nbckpt, and note it in the journal."""
    warn(f"{what}, by a defect in nbckpt:")
    traceback.print_exception(defect)
    session.writes.owe_event("hook_failed", where=what, error=type(defect).__name__)


def notify(text: str, verbatim: str = "") -> None:
    """Print lines that answer a magic; what a record holds does not steer a terminal.

    Parameters
    ----------
    verbatim
        Text behind `text` in which no command is rewritten.
    """
    print(legible(in_notebook(text) + verbatim, colours=True))


def restored_text(name: str, took_s: float, duration_s: float) -> str:
    """Notice that a cell was restored, with the time that it took and the time saved."""
    saved = duration_s - took_s
    gain = f", {duration_text(saved)} saved" if saved > 0.05 else ""
    return f"restored {name!r} in {duration_text(took_s)}{gain}"
