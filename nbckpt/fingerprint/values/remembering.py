"""Whether what was learnt of large values is used, and is learnt; imports nothing."""

from __future__ import annotations

from contextvars import ContextVar

REMEMBERS: ContextVar[bool] = ContextVar("nbckpt_remembers_segments", default=True)
"""False where what is known is to be checked."""
