"""Messages of a step, for the person who looks at the notebook or runs the script."""

from __future__ import annotations

import warnings

from nbckpt.session.session import Session


def tell(session: Session, text: str) -> None:
    """Say something under the cell, where a shell tells of cells, else as a warning."""
    if session.workspace.guards_blocks:
        session.writes.notify(text)
        return
    warnings.warn_explicit(text, RuntimeWarning, "nbckpt", 0)
