"""`nbckpt resume`: an IPython console with the variables of a branch in it."""

from __future__ import annotations

import os
from pathlib import Path

from nbckpt.config import STORE_VARIABLE


def console(store: Path, branch: str, *, notebook: str = "", code: str | None = None) -> int:
    """Run `code` with the variables of `branch`, or let the user type; the exit status.

    Parameters
    ----------
    notebook
        Whose work goes on, for the history.
    code
        Run this and end: 1 if it raised.
    """
    from IPython.terminal.ipapp import TerminalIPythonApp
    from traitlets.config import Config

    os.environ[STORE_VARIABLE] = str(store.absolute())
    if notebook:
        os.environ["JPY_SESSION_NAME"] = notebook
    config = Config()
    config.InteractiveShellApp.extensions = ["nbckpt"]
    config.InteractiveShellApp.exec_lines = [f"%resume {branch}"]
    config.TerminalIPythonApp.display_banner = False
    if code is not None:
        config.InteractiveShellApp.code_to_run = code
        config.HistoryManager.enabled = False
    app = TerminalIPythonApp.instance(config=config)
    app.initialize([])
    app.start()
    return 0
