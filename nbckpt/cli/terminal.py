"""A call from the command line: its session has no variables, and opens when it is asked for."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.cli.showing import agreed, say, warn, width
from nbckpt.errors import UsageError
from nbckpt.verbs.calls import Call

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store


class TerminalCall(Call):
    """A call from the command line."""

    through = "command"

    def __init__(self, arguments: Namespace) -> None:
        super().__init__(arguments, width())
        self._store: Store | None = None
        self._session: Session | None = None

    @property
    def path(self) -> Path:
        """The folder of the store, which need not be there."""
        from nbckpt.config.settings_sources import settings_from

        return Path(self.arguments.store or settings_from().store)

    @property
    def store(self) -> Store:
        """The store that is named, opened once.

        Raises
        ------
        StoreError
            If there is none.
        """
        if self._store is None:
            from nbckpt.storage.store import Store

            self._store = Store.open(self.path, create=False)
        return self._store

    @property
    def session(self) -> Session:
        """A session on the branch of the notebook that is named, or that moved last.

        Raises
        ------
        UsageError
            If the store holds nothing of that notebook.
        """
        if self._session is None:
            from nbckpt.runtime.gc_pause import uncollected

            with uncollected():
                self._session = _session_of(self.store, getattr(self.arguments, "notebook", None))
        return self._session

    def confirm(self, question: str) -> bool | None:
        """Ask at the terminal; None where there is none, or the answer is for a program."""
        if not sys.stdin.isatty() or getattr(self.arguments, "json", False):
            return None
        return agreed(question)

    def tell(self, text: str) -> None:
        """Write lines to stderr while the verb goes on."""
        say(text, file=sys.stderr)

    def warn(self, text: str) -> None:
        """Write one line to stderr that says what is wrong."""
        warn(text)

    def wait(self) -> None:
        """Return when all that was written is durable."""
        if self._session is not None:
            self._session.wait()

    def close(self) -> None:
        """Let go of the store."""
        if self._store is not None:
            self._store.close()


def _session_of(store: Store, named: str | None) -> Session:
    from nbckpt.session.session import Session

    session = Session(store, None, notebook=Path(named).stem if named else "")
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
