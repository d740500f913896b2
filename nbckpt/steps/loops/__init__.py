"""The loops of a step: which of their items are finished, and how far they came.

`finished_items` tells items from one another and remembers those that are done, `loop_form` says
how a loop may stand in the code, `tracking` gives the items, `loop` follows one loop and skips what
is finished, and `unfinished_loops` finds and keeps the checkpoint from which loops go on.
"""

from nbckpt.steps.loops.loop_form import caller, require_plain, require_top_level
from nbckpt.steps.loops.tracking import Tracked, Untracked, tracked, tracked_alone

__all__ = [
    "Tracked",
    "Untracked",
    "caller",
    "require_plain",
    "require_top_level",
    "tracked",
    "tracked_alone",
]
