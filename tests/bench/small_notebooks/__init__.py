"""Small notebooks that are run twice, unchanged or edited, and held against a plain run.

Each stands for a way in which a cell can depend on something, change something or show something.
A plain run in a kernel is the truth; `python -m tests.bench.small_notebooks` prints the verdicts.
"""

from __future__ import annotations

from tests.bench.small_notebooks.attachments import ATTACHMENTS
from tests.bench.small_notebooks.counters import COUNTERS
from tests.bench.small_notebooks.files import FILES
from tests.bench.small_notebooks.lookups import LOOKUPS
from tests.bench.small_notebooks.notebook import SmallNotebook, by_key
from tests.bench.small_notebooks.process_state import PROCESS_STATE

NOTEBOOKS: dict[str, SmallNotebook] = by_key(
    [ATTACHMENTS, COUNTERS, FILES, LOOKUPS, PROCESS_STATE]
)
