"""The command line, made from the declarations of `nbckpt.verbs`.

Answers go to stdout, what happens meanwhile to stderr; of a pipe or a file everything is written,
of a terminal lines are cut to fit.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nbckpt import __version__
from nbckpt.cli import notebook_runs, trusting  # noqa: F401  # they declare verbs
from nbckpt.cli.showing import INTERRUPTED, PIPE_CLOSED, refused, say, warn
from nbckpt.cli.terminal import TerminalCall
from nbckpt.errors import (
    BlobNotFoundError,
    FormatError,
    NbckptError,
    NotebookError,
    RestoreError,
    SealedError,
    UntrustedError,
    UsageError,
)
from nbckpt.runtime.gc_pause import switched_off
from nbckpt.verbs.arguments import Door
from nbckpt.verbs.calls import DAMAGED, MISUSED, NOTEBOOK_FAILED
from nbckpt.verbs.parsing import add_arguments, completed, no_such_command
from nbckpt.verbs.registry import verbs_at

if TYPE_CHECKING:
    from nbckpt.verbs.calls import Answer
    from nbckpt.verbs.registry import Verb

_EXIT_STATUS = """\
exit status: 0 done, 1 the notebook's own error, 2 what was typed cannot be done,
3 the store is damaged, of a newer nbckpt, or not trusted,
4 a question of the notebook has no answer yet, 130 interrupted"""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status of `nbckpt` with these arguments, by default those of the process."""
    try:
        words = sys.argv[1:] if argv is None else list(argv)
        parsed = _parser(words).parse_args(words)
        status = _do(parsed.verb, parsed)
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


def _do(verb: Verb, parsed: argparse.Namespace) -> int:
    """Exit status of a verb; its answer is shown once what it wrote is durable."""
    call = TerminalCall(completed(verb, parsed, Door.TERMINAL))
    try:
        answer = verb.does_at(Door.TERMINAL)(call)
        if verb.writes:
            call.wait()
        with switched_off():  # a long list makes a text of each record, and none of them is garbage
            _show(answer, as_json=getattr(call.arguments, "json", False))
    finally:
        call.close()
    return refused(answer.problem, answer.status) if answer.problem else answer.status


def _show(answer: Answer, *, as_json: bool) -> None:
    if as_json and answer.record is not None:
        from nbckpt.reports.json_output import json_text

        print(json_text(answer.record()))
    elif answer.text is not None:
        say(answer.text() + answer.verbatim)
        if answer.warning:
            warn(answer.warning)


def _status_of(error: NbckptError) -> int:
    if isinstance(
        error, FormatError | BlobNotFoundError | RestoreError | SealedError | UntrustedError
    ):
        return DAMAGED
    return NOTEBOOK_FAILED if isinstance(error, NotebookError) else MISUSED


def _parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of all commands, or of the one that `words` begin with: others are not asked."""
    parser = argparse.ArgumentParser(
        prog="nbckpt",
        description="Version control for a live notebook: its memory, its money and its time.",
        epilog=_EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"nbckpt {__version__}")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    known = {verb.name: verb for verb in verbs_at(Door.TERMINAL)}
    named = known.get(words[0]) if words else None
    if words and named is None and not words[0].startswith("-"):
        told = no_such_command("nbckpt", words[0], known)
        message = f"{words[0]}: {told} `nbckpt --help` lists them"
        raise UsageError(message)
    for verb in [named] if named else known.values():
        own = verbs.add_parser(
            verb.name,
            help=verb.help,
            description=f"{verb.help[0].upper()}{verb.help[1:]}.",
            epilog=verb.more,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        own.set_defaults(verb=verb)
        add_arguments(own, verb, Door.TERMINAL)
    return parser
