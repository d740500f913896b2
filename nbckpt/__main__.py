"""`python -m nbckpt`: the command line, where its script is not on the path."""

from __future__ import annotations

import sys
from pathlib import Path


def _leave_this_folder() -> None:
    """Import nothing from the folder where one stands: who wrote it may be anybody.

    With `-m` Python puts it first, before its own library.
    """
    package = Path(__file__).resolve().parent.parent
    if sys.path and not sys.flags.safe_path and Path(sys.path[0] or ".").resolve() != package:
        del sys.path[0]


if __name__ == "__main__":
    _leave_this_folder()
    from nbckpt.cli import main

    sys.exit(main())
