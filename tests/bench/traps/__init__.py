"""Small notebooks that a system can get wrong, each with the right answer.

There are more of their kind: what counts is that the behaviour is right, not this list.
"""

from __future__ import annotations

from tests.bench.traps import functions, hidden, refusing, sharing, undo
from tests.bench.traps.trap import Trap

TRAPS: dict[str, Trap] = {
    trap.name: trap for room in (undo, sharing, functions, hidden, refusing) for trap in room.TRAPS
}
