"""The command line: each verb parses, calls one method, and shows the answer.

Answers go to stdout, what happens meanwhile to stderr; of a pipe or a file everything is written,
of a terminal lines are cut to fit.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from nbckpt import __version__
from nbckpt.cli import asking, encrypting, handing, keeping, looking, moving, running
from nbckpt.cli.showing import DAMAGED, INTERRUPTED, MISUSED, NOTEBOOK_FAILED, PIPE_CLOSED, refused
from nbckpt.errors import (
    BlobNotFoundError,
    FormatError,
    NbckptError,
    NotebookError,
    RestoreError,
    SealedError,
    UntrustedError,
)

_EXIT_STATUS = """\
exit status: 0 done, 1 the notebook's own error, 2 what was typed cannot be done,
3 the store is damaged, of a newer nbckpt, or not trusted,
4 a question of the notebook has no answer yet, 130 interrupted"""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status of `nbckpt` with these arguments, by default those of the process."""
    try:
        arguments = _parser().parse_args(argv)
        status: int = arguments.verb(arguments)
        sys.stdout.flush()
    except SystemExit as end:  # argparse has said why
        return end.code if isinstance(end.code, int) else MISUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `nbckpt log | head`: nobody reads the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except NbckptError as error:
        return refused(str(error), _status_of(error))
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        hint = "a defect in nbckpt; `python -X dev -m nbckpt …` shows where"
        return refused(f"{type(error).__name__}: {error} ({hint})", NOTEBOOK_FAILED)
    return status


def _status_of(error: NbckptError) -> int:
    if isinstance(
        error, FormatError | BlobNotFoundError | RestoreError | SealedError | UntrustedError
    ):
        return DAMAGED
    return NOTEBOOK_FAILED if isinstance(error, NotebookError) else MISUSED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nbckpt",
        description="Version control for a live notebook: its memory, its money and its time.",
        epilog=_EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"nbckpt {__version__}")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for room in (running, looking, moving, keeping, encrypting, handing, asking):
        room.add(verbs)
    return parser
