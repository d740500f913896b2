"""Pictures of restored figures: the kernel's backend is loaded, as a run's first figure does."""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import suppress

_BACKEND = "matplotlib_inline.backend_inline"


def show_as_pictures() -> None:
    """Have figures be shown as in a kernel that made one, where that has such a backend."""
    if "matplotlib.figure" not in sys.modules or _BACKEND in sys.modules:
        return
    if _BACKEND not in os.environ.get("MPLBACKEND", ""):
        return
    with suppress(Exception):  # whatever a backend raises; a figure then shows as a text
        importlib.import_module(_BACKEND)
