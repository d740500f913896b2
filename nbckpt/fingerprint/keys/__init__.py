"""May a cell be restored instead of run, and if not, why: the key of a step.

A key holds a digest for each thing that decides what a cell does: its code, the variables that it
reads, the user's code that it can call, the files that it names.
"""

from __future__ import annotations

from nbckpt.fingerprint.keys.difference import difference
from nbckpt.fingerprint.keys.inputs import ABSENT, TEXT, Inputs
from nbckpt.fingerprint.keys.memory import also_on, on_same_memory
from nbckpt.fingerprint.keys.scope import IPYTHON_NAMES, is_users_name
from nbckpt.fingerprint.keys.step_key import changed_databases, changed_in_modules, key_of
from nbckpt.fingerprint.keys.touching import (
    Reach,
    bound,
    reach_of,
    sharing,
    touched,
)

__all__ = [
    "ABSENT",
    "IPYTHON_NAMES",
    "TEXT",
    "Inputs",
    "Reach",
    "also_on",
    "bound",
    "changed_databases",
    "changed_in_modules",
    "difference",
    "is_users_name",
    "key_of",
    "on_same_memory",
    "reach_of",
    "sharing",
    "touched",
]
