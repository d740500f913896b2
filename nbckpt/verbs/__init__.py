"""Verbs, each declared once beside its function: every door is made from the declarations.

`import nbckpt` has the functions; `nbckpt.cli` and `nbckpt.jupyter` make commands, magics and the
side panel's operations. Importing this package declares the verbs that no door has for itself.
"""

# In the order of lists:
# isort: off
from nbckpt.verbs.looking import diff, get, sql
from nbckpt.verbs.histories import history, restore
import nbckpt.verbs.checking  # declares `check`
from nbckpt.verbs.moving import fork, rerun, resume, rewind, switch
from nbckpt.verbs.updating import reducer, update
from nbckpt.verbs.keeping import note, prune, tag
from nbckpt.verbs.model_calls import budget
from nbckpt.verbs.handing import export, trust
from nbckpt.verbs.asking import answer, approvals
import nbckpt.verbs.encrypting  # noqa: F401  # declares `key` and `rekey`
from nbckpt.verbs.python_only import event, open, wait  # noqa: A004  # as gzip.open
# isort: on

__all__ = [
    "answer",
    "approvals",
    "budget",
    "diff",
    "event",
    "export",
    "fork",
    "get",
    "history",
    "note",
    "open",
    "prune",
    "reducer",
    "rerun",
    "restore",
    "resume",
    "rewind",
    "sql",
    "switch",
    "tag",
    "trust",
    "update",
    "wait",
]
