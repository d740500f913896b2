"""The verbs between people: export a checkpoint to somebody, and trust a store of somebody's."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt.cli import parsing
from nbckpt.cli.parsing import looking_session
from nbckpt.cli.showing import DAMAGED, DONE, as_typed, print_json, say
from nbckpt.errors import UsageError

if TYPE_CHECKING:
    from nbckpt.session.maintenance.untrusted_report import Strange

_TRUST = """\
A store holds values, which may be code, and code. Of what another user made nothing is built or
run before you trust it: you see names, types, shapes, previews and recorded outputs, and can query
its Parquet files. So look first.

  nbckpt trust --show .nbckpt
  nbckpt trust .nbckpt"""

_EXPORT = """\
OUT becomes a store of its own, with one checkpoint: its variables, outputs, model calls, and
tables as Parquet. Its receiver looks at it, trusts it, and restores it. With --portable OUT holds
files that other programs read without nbckpt, and that need no trust: tables as Parquet, arrays as
.npy, data as JSON, figures as PNG, and the cells that ran as notebook.ipynb.

  nbckpt export train handed
  nbckpt log --store handed
  nbckpt export --portable train files"""


def add(verbs: Any) -> None:
    """Declare the verbs of this room."""
    trust = parsing.verb(
        verbs, "trust", _trust, "take what another user made in a store for your own", _TRUST
    )
    trust.add_argument(
        "path", metavar="PATH", type=Path, nargs="?", help=f"the store: {parsing.STORE}"
    )
    trust.add_argument("--show", action="store_true", help="only say what would be trusted")
    trust.add_argument("-y", "--yes", action="store_true", help="do not ask")
    export = parsing.verb(
        verbs,
        "export",
        _export,
        "hand on one checkpoint: a store of it, or files in open formats",
        _EXPORT,
    )
    parsing.takes_ref(export)
    export.add_argument("out", metavar="OUT", type=Path, help="a new or empty folder")
    export.add_argument(
        "--portable", action="store_true", help="files in open formats instead of a store"
    )
    export.add_argument(
        "--encryption",
        metavar="KEY",
        help="off, or where its key is: file:PATH, env:NAME; by default as the setting says",
    )
    for parser in (trust, export):
        parsing.takes_store(parser)
        parsing.takes_json(parser)
    parsing.takes_notebook(export)


def _trust(arguments: argparse.Namespace) -> int:
    from nbckpt.session.maintenance import trust as trusting

    if arguments.path is not None:
        if arguments.store is not None:
            message = f"which store, {arguments.path} or {arguments.store}? Name one"
            raise UsageError(message)
        arguments.store = trusting.store_at(arguments.path)
    session = looking_session(arguments)
    try:
        told = trusting.strange(session.store, session.timeline)
        if not arguments.show and told and not (arguments.yes or _agreed(told)):
            say("nothing was trusted", file=sys.stderr)
            return DAMAGED
        if told and not arguments.show:
            trusting.take_over(session.store, told.seen)
    finally:
        session.store.close()
    if arguments.json:
        print_json({**told.as_record(), "trusted": not (told and arguments.show)})
    else:
        say(told.text() if arguments.show else trusting.trusted_text(told))
    return DAMAGED if arguments.show and told else DONE


def _agreed(told: Strange) -> bool:
    """True if the person at the terminal says yes, after having read what it is about.

    Raises
    ------
    UsageError
        If there is no terminal to ask at.
    """
    from nbckpt.session.maintenance.trust import MEANING

    if not sys.stdin.isatty():
        message = (
            f"{told.path} holds what you did not write: look at it with `nbckpt trust --show`,"
            " then say `--yes`; there is no terminal to ask at"
        )
        raise UsageError(message)
    say(f"{told.text()}\n\n{MEANING}", file=sys.stderr)
    print("Trust all of it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _export(arguments: argparse.Namespace) -> int:
    from nbckpt.session.maintenance.exports import export

    session = looking_session(arguments)
    try:
        done = export(
            session,
            arguments.ref,
            arguments.out,
            portable=arguments.portable,
            encryption=arguments.encryption,
        )
    finally:
        session.store.close()
    if arguments.json:
        print_json(done.as_record())
    else:
        say(done.text(as_typed(done.path)))
    return DONE
