"""A yes or no of the user, where somebody sits before the notebook."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.runtime.interrupts import allowed


def confirmed(shell: InteractiveShell, question: str) -> bool | None:
    """The answer to a question; None where nobody can be asked."""
    if not _can_ask(shell):
        return None
    with allowed():
        try:
            answer = input(f"nbckpt: {question} [y/N] ")
        except (EOFError, RuntimeError):
            return None
    return answer.strip().lower() in ("y", "yes")


def _can_ask(shell: InteractiveShell) -> bool:
    kernel: Any = getattr(shell, "kernel", None)
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", False))
    return bool(sys.stdin is not None and sys.stdin.isatty())
