"""Content of a store, as text for people.

The command line and the notebook's magics print these texts.
"""

from __future__ import annotations

from nbckpt.reports.details import outputs_text, show_text
from nbckpt.reports.log import listed, log_text
from nbckpt.reports.marks import noted_text, tagged_text
from nbckpt.reports.moves import moved_lines, updated_text
from nbckpt.reports.status import (
    check_text,
    greeting,
    repaired_members,
    repaired_text,
    status_text,
    strangers_text,
)
from nbckpt.session.history.summaries import (
    size_of,
    state_text,
    summary_of,
    user_names,
)
from nbckpt.text.units import bytes_text, duration_text

__all__ = [
    "bytes_text",
    "check_text",
    "duration_text",
    "greeting",
    "listed",
    "log_text",
    "moved_lines",
    "noted_text",
    "outputs_text",
    "repaired_members",
    "repaired_text",
    "show_text",
    "size_of",
    "state_text",
    "status_text",
    "strangers_text",
    "summary_of",
    "tagged_text",
    "updated_text",
    "user_names",
]
