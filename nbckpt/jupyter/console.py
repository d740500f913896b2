"""`nbckpt resume`: an IPython console with the variables of a branch in it."""

from __future__ import annotations

import os
from pathlib import Path

from nbckpt.config.settings_sources import STORE_VARIABLE


def console(
    store: Path,
    branch: str,
    *,
    notebook: str = "",
    fallback: bool = False,
    code: str | None = None,
) -> int:
    """Run `code` with the variables of `branch`, or let the user type; the exit status.

    Parameters
    ----------
    notebook
        Whose work goes on, for the history.
    fallback
        Take the newest checkpoint that is whole, if the head is damaged.
    code
        Run this and end: 1 if it raised.

    Raises
    ------
    FormatError
        If the head is damaged.
    """
    from IPython.terminal.ipapp import TerminalIPythonApp
    from traitlets.config import Config

    from nbckpt.jupyter.shell import load, unload

    os.environ[STORE_VARIABLE] = str(store.absolute())
    if notebook:
        os.environ["JPY_SESSION_NAME"] = notebook
    config = Config()
    config.TerminalIPythonApp.display_banner = False
    if code is not None:
        config.HistoryManager.enabled = False
    app = TerminalIPythonApp.instance(config=config)
    app.initialize([])
    shell = app.shell
    assert shell is not None
    load(shell)
    options = " --other-notebook" + " --fallback" * fallback  # the command has asked already
    shell.run_line_magic("resume", branch + options)
    if code is None:
        app.start()
        return 0
    result = shell.run_cell(code)
    unload(shell)
    return 0 if result.success else 1
