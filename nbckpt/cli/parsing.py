"""Common parts of all verbs: their declaration, and the session that they work on."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt.errors import UsageError

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store

STORE = "by default NBCKPT_STORE, or .nbckpt here"
REF = "a name, NAME@2, the beginning of an id, a branch, a tag, ~2, or - (before the last rewind)"
VALUES = """\
An expression is Python, evaluated with the variables of REF: k=5, 'names=["a", "b"]', k=k+1;
a text needs quotes of its own: 'name="a b"'."""


def verb(
    verbs: Any,
    name: str,
    function: Callable[[argparse.Namespace], int],
    told: str,
    more: str = "",
) -> argparse.ArgumentParser:
    """The parser of a new verb; `told` is its line in the list, `more` stands below its help."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=told,
        description=f"{told[0].upper()}{told[1:]}.",
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(verb=function)
    return parser


def takes_store(parser: argparse.ArgumentParser, default: str = STORE) -> None:
    """Let a verb be told where the store is."""
    parser.add_argument("--store", metavar="PATH", type=Path, help=f"the store: {default}")


def takes_notebook(parser: argparse.ArgumentParser) -> None:
    """Let a verb be told which notebook it is about, in a store of several."""
    parser.add_argument(
        "--notebook",
        metavar="NAME",
        help="the notebook that this is about: by default the one that moved last",
    )


def takes_json(parser: argparse.ArgumentParser) -> None:
    """Let a verb answer in JSON."""
    parser.add_argument("--json", action="store_true", help="for programs")


def takes_ref(parser: argparse.ArgumentParser, **how: Any) -> None:
    """Let a verb be told which checkpoint it is about."""
    parser.add_argument("ref", metavar="REF", help=REF, **how)


def existing_store(arguments: argparse.Namespace) -> Store:
    """The store that a verb is about.

    Raises
    ------
    StoreError
        If there is none.
    """
    from nbckpt.storage.store import Store

    return Store.open(named_store(arguments), create=False)


def named_store(arguments: argparse.Namespace) -> Path:
    """Where the store is that a verb is about."""
    from nbckpt.config.sources import settings_from

    return Path(arguments.store or settings_from().store)


def looking_session(arguments: argparse.Namespace) -> Session:
    """A session without variables: on the branch of the notebook asked for, or that moved last.

    Raises
    ------
    UsageError
        If the store holds nothing of that notebook.
    """
    from nbckpt.session.session import Session

    store = existing_store(arguments)
    named = getattr(arguments, "notebook", None)
    session = Session(store, {"__name__": "__main__"}, notebook=Path(named).stem if named else "")
    moves = sorted(store.records("head"), key=lambda record: record.get("at") or 0.0)
    branches = session.timeline.branches  # one that was given up is nobody's any more
    heads = [move for move in moves if move["branch"] in branches]
    if named:
        known = dict.fromkeys(r.get("notebook", "") for r in store.records("checkpoint"))
        if session.notebook not in known:
            names = ", ".join(repr(name) for name in known if name) or "none with a name"
            message = f"no checkpoint of a notebook {session.notebook!r}; there are {names}"
            raise UsageError(message)
    elif heads:
        session.position.branch = heads[-1]["branch"]
        head = session.position.head
        session.notebook = heads[-1].get("notebook") or (head.notebook if head else "")
    own = [record for record in heads if record["branch"] == session.position.branch]
    session.position.before = next(
        (r["previous"] for r in reversed(own) if r.get("previous") not in (None, r["checkpoint"])),
        None,
    )
    return session


@contextmanager
def writing_session(arguments: argparse.Namespace) -> Iterator[Session]:
    """As `looking_session`; what the body wrote is durable when it ends."""
    session = looking_session(arguments)
    try:
        yield session
        session.wait()
    finally:
        session.store.close()
