"""Waiting questions as pages beside the notebook see them."""

from __future__ import annotations

import sys
from typing import Any

from nbckpt.session.session import Session
from nbckpt.timeline.approvals import APPROVAL


def waiting(session: Session) -> list[dict[str, Any]]:
    """The questions of a notebook that wait for an answer, the oldest first, as JSON."""
    # Who never asked anything does not load what asks.
    if not session.store.records(APPROVAL) and "nbckpt.steps.approvals.desk" not in sys.modules:
        return []
    from nbckpt.steps.approvals.desk import desk_of

    desk = desk_of(session)
    return [
        {
            "id": question.id,
            "question": question.question,
            "preview": question.preview,
            "state": question.state,
            "step": question.step or "",
            "asked_at": question.asked_at,
            "cell_id": question.cell_id,
            "is_waited_for": desk.is_waited_for(question),
        }
        for question in desk.waiting()
        if question.notebook == session.notebook
    ]
