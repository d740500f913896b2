"""The timeline as text, for an output area that shows no widget."""

from __future__ import annotations

from nbckpt.session.session import Session

WIDTH = 110
"""Characters that an output area has room for."""
NEWEST = 100
"""Checkpoints that are shown where nobody asked for more."""


def timeline_text(session: Session) -> dict[str, str]:
    """The newest checkpoints of all branches, by media type."""
    from html import escape

    from nbckpt.reports.log import log_text
    from nbckpt.session.history.costs import ledger_of

    text = log_text(
        session.timeline,
        None,
        session.position.id,
        limit=NEWEST,
        writing=session.writes.unfinished,
        ledger=ledger_of(session.store, session.timeline),
        width=WIDTH,
    )
    return {"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"}
