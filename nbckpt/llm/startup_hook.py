"""The line of `nbckpt.pth` calls this as Python starts, in a process that a step has started.

It reads one variable and follows what is imported; the parent is asked as a request is made.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nbckpt.llm import current, seams
from nbckpt.llm.child_processes.ipc_frames import ParentAddress
from nbckpt.llm.seams.process_starts import VARIABLE

if TYPE_CHECKING:
    from nbckpt.llm.call_protocols import ParentRecorder


def follow() -> None:
    """Have the seams of this process ask its parent, until it opens a session of its own.

    Raises
    ------
    ValueError
        If the variable names no parent.
    """
    address = ParentAddress.of(os.environ[VARIABLE])

    def made() -> ParentRecorder:
        from nbckpt.llm.child_processes.parent_client import ParentClient

        return ParentClient(address)

    current.follow(made)
    seams.install(seams.CALLS)  # what a process of this one starts has the variable from it
