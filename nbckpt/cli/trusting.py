"""`nbckpt trust`: says what a store of another user holds, and asks at the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nbckpt.cli.showing import agreed, say
from nbckpt.cli.terminal import TerminalCall
from nbckpt.errors import UsageError
from nbckpt.verbs.arguments import Door
from nbckpt.verbs.calls import DAMAGED, DONE, Answer
from nbckpt.verbs.registry import at

if TYPE_CHECKING:
    from nbckpt.session.maintenance.untrusted_report import UntrustedReport


@at(Door.TERMINAL, "trust")
def _trust(call: TerminalCall) -> Answer:
    from nbckpt.session.maintenance import trust_verb as trusting

    asked = call.arguments
    if asked.path is not None:
        if asked.store is not None:
            message = f"which store, {asked.path} or {asked.store}? Name one"
            raise UsageError(message)
        asked.store = trusting.store_at(asked.path)
    session = call.session
    told = trusting.strange(session.store, session.timeline)
    if not asked.show and told and not (asked.yes or _agreed(told)):
        call.tell("nothing was trusted")
        return Answer(status=DAMAGED)
    if told and not asked.show:
        trusting.take_over(session.store, told.seen)
    return Answer(
        lambda: told.text() if asked.show else trusting.trusted_text(told),
        lambda: {**told.as_record(), "trusted": not (told and asked.show)},
        DAMAGED if asked.show and told else DONE,
    )


def _agreed(told: UntrustedReport) -> bool:
    """True if the person at the terminal says yes, after having read what it is about.

    Raises
    ------
    UsageError
        If there is no terminal to ask at.
    """
    from nbckpt.session.maintenance.trust_verb import MEANING

    if not sys.stdin.isatty():
        message = (
            f"{told.path} holds what you did not write: look at it with `nbckpt trust --show`,"
            " then say `--yes`; there is no terminal to ask at"
        )
        raise UsageError(message)
    say(f"{told.text()}\n\n{MEANING}", file=sys.stderr)
    return agreed("Trust all of it?")
