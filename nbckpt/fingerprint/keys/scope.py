"""Whose a name of a namespace is: the user's, Python's or IPython's."""

from __future__ import annotations

import re
from collections.abc import Mapping

IPYTHON_NAMES = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open", "display"})
"""Names that IPython itself puts into a namespace, beside those that begin with an underscore."""

_UNDERSCORED = re.compile(r"_{1,3}|_i{1,3}|_i?\d+|_[iod]h|__\w+__|__nbckpt_step_\d+")
"""IPython's, Python's, and guarded blocks' variables, which a restored cell does not bind."""


def is_users_name(name: str) -> bool:
    """True if a name of a namespace is the user's, not Python's, IPython's or ours."""
    return name not in IPYTHON_NAMES and not _UNDERSCORED.fullmatch(name)


def is_tool(name: str, namespace: Mapping[str, object]) -> bool:
    """True if a name is one of IPython's functions, not a user's variable of that name."""
    if name not in IPYTHON_NAMES or name in ("In", "Out"):
        return False
    home = str(getattr(namespace.get(name), "__module__", ""))
    return home.partition(".")[0] in ("IPython", "io", "_io", "ipykernel")
