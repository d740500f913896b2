"""Members of matplotlib's objects that are not part of their value: if they were drawn."""

from __future__ import annotations

import sys
from typing import Any

_PASSING = frozenset({"_invalid", "_stale", "_number", "_restore_to_pylab", "_cid_gen"})
"""Members that drawing and copying change, and that are found again when something is drawn."""


def without_passing(kind: type, reduced: Any) -> Any:
    """Pickle's parts of a value, without the members that say nothing of it."""
    if not str(kind.__module__).startswith("matplotlib") or not _is_drawn(kind):
        return reduced
    state = reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None
    if not isinstance(state, dict):
        return reduced
    return (*reduced[:2], {k: v for k, v in state.items() if k not in _PASSING}, *reduced[3:])


def _is_drawn(kind: type) -> bool:
    homes = (("matplotlib.artist", "Artist"), ("matplotlib.transforms", "TransformNode"))
    modules = ((sys.modules.get(home), name) for home, name in homes)
    return any(issubclass(kind, getattr(m, name, ())) for m, name in modules if m is not None)
