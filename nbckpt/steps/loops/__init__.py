"""The loops of a step: which of their items are finished, and how far they came.

`finished` tells items from one another and remembers those that are done, `written` says how a
loop may stand in the code, `tracking` gives the items, `followed` keeps how far one loop came,
`at_item` knows which is in work.
"""

from nbckpt.steps.loops.at_item import AtItem
from nbckpt.steps.loops.tracking import Loops, Tracked
from nbckpt.steps.loops.written import caller, require_plain, require_top_level

__all__ = ["AtItem", "Loops", "Tracked", "caller", "require_plain", "require_top_level"]
