"""Small notebooks that are run twice, unchanged or edited, and held against a plain run.

Each stands for a way in which a cell can depend on something, change something or show something.
A plain run in a kernel is the truth; `python -m tests.bench.small_notebooks` prints the verdicts.
"""

from __future__ import annotations

from tests.bench.small_notebooks.aliasing import ALIASING
from tests.bench.small_notebooks.attachments import ATTACHMENTS
from tests.bench.small_notebooks.counters import COUNTERS
from tests.bench.small_notebooks.dead_ends import DEAD_ENDS
from tests.bench.small_notebooks.definitions import DEFINITIONS
from tests.bench.small_notebooks.exceptions import EXCEPTIONS
from tests.bench.small_notebooks.files import FILES
from tests.bench.small_notebooks.held_code import HELD_CODE
from tests.bench.small_notebooks.history import HISTORY
from tests.bench.small_notebooks.lookups import LOOKUPS
from tests.bench.small_notebooks.notebook import SmallNotebook, by_key
from tests.bench.small_notebooks.opaque_state import OPAQUE_STATE
from tests.bench.small_notebooks.outputs import OUTPUTS
from tests.bench.small_notebooks.process_state import PROCESS_STATE
from tests.bench.small_notebooks.randomness import RANDOMNESS
from tests.bench.small_notebooks.with_bodies import WITH_BODIES

NOTEBOOKS: dict[str, SmallNotebook] = by_key(
    [
        ALIASING,
        ATTACHMENTS,
        COUNTERS,
        DEAD_ENDS,
        DEFINITIONS,
        EXCEPTIONS,
        FILES,
        HELD_CODE,
        HISTORY,
        LOOKUPS,
        OPAQUE_STATE,
        OUTPUTS,
        PROCESS_STATE,
        RANDOMNESS,
        WITH_BODIES,
    ]
)
