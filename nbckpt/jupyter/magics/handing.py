"""The words of `%nbckpt` between people: trust what somebody wrote, hand a checkpoint on."""

from __future__ import annotations

from pathlib import Path

from nbckpt.jupyter import notices
from nbckpt.jupyter.magics import lines
from nbckpt.session.session import Session


def trust(session: Session, line: str) -> None:
    """Take what somebody else wrote in this store for one's own; with ``--show`` only look."""
    from nbckpt.session.maintenance import trust as trusting

    _, given = lines.parted(line, "%nbckpt trust [--show]", 0, 0, ("--show",))
    session.refresh()
    if given:
        notices.notify(trusting.strange(session.store, session.timeline).text())
        return
    told = trusting.trust(session.store, session.timeline, session=session)
    session.refresh()
    notices.notify(trusting.trusted_text(told))


def export(session: Session, line: str) -> None:
    """Make a store of one checkpoint, or files in open formats."""
    from nbckpt.session.maintenance.exports import export as exported

    usage = "%nbckpt export REF OUT [--portable]"
    words, given = lines.parted(line, usage, 2, 2, ("--portable",))
    session.wait()
    done = exported(session, words[0], Path(words[1]), portable=bool(given))
    notices.notify(done.text(words[1]))
