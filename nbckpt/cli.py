"""The command line: each verb parses, calls one method, and shows the answer.

Answers go to stdout, what happens meanwhile to stderr; of a pipe or a file everything is written,
of a terminal lines are cut to fit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt import __version__
from nbckpt.errors import BlobNotFoundError, FormatError, NbckptError, NotebookError, RestoreError

if TYPE_CHECKING:
    from nbckpt.runner import Run
    from nbckpt.session import Session

DONE, NOTEBOOK_FAILED, MISUSED, DAMAGED, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141

ON_A_SCREEN = 100
"""Checkpoints that a log shows where nobody asked for more."""

_EXIT_STATUS = """\
exit status: 0 done, 1 the notebook's own error, 2 what was typed cannot be done,
3 the store is damaged or of a newer nbckpt, 130 interrupted"""

_RUN_AGAIN = """\
The kernel may die, or the machine: type the same command again, and every cell that was
finished is restored, and a loop in `step.track` goes on at the item that was not finished.

  nbckpt run train.ipynb -p epochs 20 -p model small"""

_QUERIES = """\
  nbckpt sql "select name, duration_s from checkpoints order by duration_s desc"
  nbckpt sql "select * from variable('df', 'load') limit 5" --json"""


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
        return _refused(str(error), _status_of(error))
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        hint = "a defect in nbckpt; `python -X dev -m nbckpt …` shows where"
        return _refused(f"{type(error).__name__}: {error} ({hint})", NOTEBOOK_FAILED)
    return status


def _refused(message: str, status: int) -> int:
    print(f"nbckpt: {' '.join(message.split())}", file=sys.stderr)
    return status


def _status_of(error: NbckptError) -> int:
    if isinstance(error, FormatError | BlobNotFoundError | RestoreError):
        return DAMAGED
    return NOTEBOOK_FAILED if isinstance(error, NotebookError) else MISUSED


# -- what can be typed


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
    _add_run(verbs)
    _add_looks(verbs)
    demo = _verb(
        verbs, "demo", _demo, "see a notebook's kernel killed, and go on where it was (20 s)"
    )
    demo.add_argument("--keep", metavar="DIR", type=Path, help="leave notebook and store in DIR")
    return parser


def _add_run(verbs: Any) -> None:
    run = _verb(verbs, "run", _run, "run a notebook; started again, go on where it was", _RUN_AGAIN)
    run.add_argument("notebook", metavar="NOTEBOOK", type=Path)
    run.add_argument(
        "-o",
        "--out",
        metavar="OUT",
        type=Path,
        help="where the executed notebook goes: by default NAME.out.ipynb beside NOTEBOOK",
    )
    run.add_argument(
        "-p",
        "--parameter",
        metavar=("NAME", "VALUE"),
        nargs=2,
        action="append",
        default=[],
        help="set NAME after the cell tagged `parameters`: True, False, None, a number, or text; "
        "may be given again",
    )
    run.add_argument("--fresh", action="store_true", help="run every cell, whatever was kept")
    _takes_store(run, "by default NBCKPT_STORE, or .nbckpt beside NOTEBOOK")
    _takes_json(run)


def _add_looks(verbs: Any) -> None:
    log = _verb(verbs, "log", _log, "the checkpoints of the current branch, newest first")
    log.add_argument("-a", "--all", action="store_true", help="of every branch")
    log.add_argument(
        "-n",
        metavar="N",
        dest="limit",
        type=_count,
        help=f"the newest N only: by default all, on a terminal {ON_A_SCREEN}",
    )
    show = _verb(verbs, "show", _show, "all that is known of one checkpoint")
    show.add_argument(
        "ref", metavar="REF", help="a name, NAME@2, the beginning of an id, a branch, or ~2"
    )
    sql = _verb(verbs, "sql", _sql, "ask the store in SQL", _QUERIES)
    sql.add_argument(
        "query",
        metavar="QUERY",
        help="over checkpoints, variables, branches, events, recordings, steps, "
        "and variable('NAME') or variable('NAME', 'REF'), which is a data frame",
    )
    check = _verb(verbs, "check", _check, "read every byte, and tell what is damaged or missing")
    for verb in (log, show, sql, check):
        _takes_store(verb, "by default NBCKPT_STORE, or .nbckpt here")
        _takes_json(verb)


def _verb(
    verbs: Any,
    name: str,
    function: Callable[[argparse.Namespace], int],
    told: str,
    more: str = "",
) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=told,
        description=f"{told[0].upper()}{told[1:]}.",
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.set_defaults(verb=function)
    return verb


def _count(text: str) -> int:
    """A number of things to show, as typed."""
    if not text.isdecimal() or int(text) < 1:
        message = f"{text!r} is no number of checkpoints: give 1 or more"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _takes_store(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--store", metavar="PATH", type=Path, help=f"the store: {default}")


def _takes_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


# -- verbs


def _run(arguments: argparse.Namespace) -> int:
    from nbckpt import as_json, parameters
    from nbckpt.runner import run
    from nbckpt.watchers import watching

    values = {name: parameters.typed(text) for name, text in arguments.parameter}
    with watching(sys.stderr) as watcher:
        done = run(
            arguments.notebook,
            out=arguments.out,
            values=values,
            fresh=arguments.fresh,
            store=arguments.store,
            watcher=watcher,
        )
    if arguments.json:
        _print_json(as_json.of_run(done))
    else:
        _print_run(done)
    if done.problem:
        status = INTERRUPTED if done.ending == "interrupted" else NOTEBOOK_FAILED
        return _refused(done.problem, status)
    return DONE


def _print_run(done: Run) -> None:
    from nbckpt.outcomes import summary_text, table

    print(table(done.cells, width=_width()))
    print()
    print(f"{summary_text(done.cells)} · {_shown(done.out)}")


def _log(arguments: argparse.Namespace) -> int:
    from nbckpt import as_json, report

    session = _session(arguments)
    branch = None if arguments.all else session.branch
    if arguments.json:
        shown = report.listed(session.timeline, branch, arguments.limit)
        _print_json([as_json.of_checkpoint(session.timeline, c) for c in shown])
        return DONE
    limit = arguments.limit or (ON_A_SCREEN if sys.stdout.isatty() else None)
    print(report.log_text(session.timeline, branch, None, limit=limit, width=_width()))
    return DONE


def _show(arguments: argparse.Namespace) -> int:
    from nbckpt import as_json, report

    session = _session(arguments)
    checkpoint = session.get(arguments.ref)
    digest = checkpoint.outputs
    outputs = json.loads(bytes(session.store.get_blob(digest)[0])) if digest else []
    if arguments.json:
        found = as_json.of_checkpoint(session.timeline, checkpoint)
        variables = as_json.of_variables(session.timeline, checkpoint)
        _print_json({**found, "variables": variables, "outputs": outputs})
        return DONE
    print(report.show_text(session.timeline, checkpoint, outputs=outputs, width=_width()))
    return DONE


def _sql(arguments: argparse.Namespace) -> int:
    from nbckpt.tabular import Column, table_text

    answer = _session(arguments).sql(arguments.query)
    names, rows = answer.columns, answer.fetchall()
    if arguments.json:
        _print_json([dict(zip(names, row, strict=True)) for row in rows])
        return DONE
    right = [str(kind).startswith(_NUMBERS) for kind in answer.types]
    columns = [Column(n, right=r, always=True) for n, r in zip(names, right, strict=True)]
    print(table_text(columns, [[_cell(v) for v in row] for row in rows], width=_width()))
    return DONE


_NUMBERS = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "U",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _check(arguments: argparse.Namespace) -> int:
    import dataclasses

    from nbckpt import report

    found = _session(arguments).store.check()
    if arguments.json:
        _print_json({"ok": found.ok, **dataclasses.asdict(found)})
    else:
        print(report.check_text(found))
    return DONE if found.ok else DAMAGED


def _demo(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from nbckpt.demo import demo

    console = Console(highlight=False, markup=False, soft_wrap=True)
    demo(arguments.keep, console.print)
    return DONE


# -- around them


def _session(arguments: argparse.Namespace) -> Session:
    """A session that only looks, on the branch that moved last."""
    from nbckpt.config import settings_from
    from nbckpt.session import Session
    from nbckpt.storage.store import Store

    store = Store.open(arguments.store or settings_from().store, create=False)
    session = Session(store, {})
    heads = store.records("head")
    if heads:
        session.branch = heads[-1]["branch"]
    return session


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def _width() -> int | None:
    """Characters of a line on the terminal; None where the output is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _shown(path: Path) -> str:
    """`path` as it would be typed here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
