"""The verbs about questions that notebooks wait on: approvals, answer."""

from __future__ import annotations

import argparse
from typing import Any

from nbckpt.cli import parsing
from nbckpt.cli.parsing import looking_session, writing_session
from nbckpt.cli.showing import DONE, print_json, say, width

_ANSWER = """\
Who waits goes on at once; where no kernel runs, the answer counts when the cell runs again.
`withdraw`: the question and its answer count no more, and it is asked anew.

  nbckpt answer 3f2a approve looks right"""


def add(verbs: Any) -> None:
    """Declare the verbs of this room."""
    approvals = parsing.verb(
        verbs, "approvals", _approvals, "what notebooks have asked, and who answered what"
    )
    approvals.add_argument("--waiting", action="store_true", help="only what nobody has answered")
    answer = parsing.verb(verbs, "answer", _answer, "answer what a notebook waits for", _ANSWER)
    answer.add_argument("id", metavar="ID", help="of the question, or the beginning of it")
    answer.add_argument("verdict", metavar="ANSWER", help="approve, refuse or withdraw")
    answer.add_argument("text", metavar="TEXT", nargs="*", default=[], help="why")
    for parser in (approvals, answer):
        parsing.takes_store(parser)
        parsing.takes_json(parser)


def _approvals(arguments: argparse.Namespace) -> int:
    from nbckpt.reports import questions as telling
    from nbckpt.steps.approvals.desk import desk_of

    desk = desk_of(session := looking_session(arguments))
    try:
        questions = [q for q in desk.all() if q.state == "waiting" or not arguments.waiting]
    finally:
        session.store.close()
    if arguments.json:
        print_json([telling.as_json(question) for question in questions])
    else:
        say(telling.table(questions, width=width(), waiting=arguments.waiting))
    return DONE


def _answer(arguments: argparse.Namespace) -> int:
    from nbckpt.reports import questions as telling
    from nbckpt.steps.approvals.desk import desk_of

    with writing_session(arguments) as session:
        text = " ".join(arguments.text)
        verdict = arguments.verdict.lower()
        answered = desk_of(session).answer(arguments.id, verdict, text, through="command")
    if arguments.json:
        print_json(telling.as_json(answered))
    else:
        say(telling.outcome_text(answered))
    return DONE
