"""The verbs that look and write nothing: log, show, diff, sql, check."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from nbckpt.cli import parsing
from nbckpt.cli.parsing import existing_store, looking_session
from nbckpt.cli.showing import DAMAGED, DONE, print_json, say, warn, width
from nbckpt.errors import BranchNotFoundError, SealedError
from nbckpt.session.maintenance.prune import count

if TYPE_CHECKING:
    from nbckpt.storage.check_report import Report
    from nbckpt.storage.repairing import Repaired

ON_A_SCREEN = 100
"""Checkpoints that a log shows where nobody asked for more."""

_QUERIES = """\
  nbckpt sql "select name, duration_s from checkpoints order by duration_s desc"
  nbckpt sql "select * from variable('df', 'load') limit 5" --json"""


_STATUS = """\
For monitors: --json writes one object, whose members `nbckpt/RUNBOOK.md` explains. The exit status
is 3 if something was met that cannot be read; `nbckpt check` reads every byte.

  nbckpt status --json --store /data/.nbckpt"""


def add(verbs: Any) -> None:
    """Declare the verbs of this room."""
    log = parsing.verb(verbs, "log", _log, "the checkpoints of the current branch, newest first")
    log.add_argument("branch", metavar="BRANCH", nargs="?", help="by default the current one")
    log.add_argument("-a", "--all", action="store_true", help="of every branch")
    log.add_argument(
        "-n",
        metavar="N",
        dest="limit",
        type=count,
        help=f"the newest N only: by default all, on a terminal {ON_A_SCREEN}",
    )
    show = parsing.verb(verbs, "show", _show, "all that is known of one checkpoint")
    parsing.takes_ref(show)
    diff = parsing.verb(verbs, "diff", _diff, "what differs between two checkpoints")
    diff.add_argument("a", metavar="A", help=parsing.REF)
    diff.add_argument("b", metavar="B", nargs="?", help="by default the head of the branch")
    status = parsing.verb(
        verbs, "status", _status, "how the store is: sizes, sessions, failures, room", _STATUS
    )
    sql = parsing.verb(verbs, "sql", _sql, "ask the store in SQL", _QUERIES)
    sql.add_argument(
        "query",
        metavar="QUERY",
        help="over checkpoints, variables, branches, events, recordings, prices, steps, approvals, "
        "and variable('NAME') or variable('NAME', 'REF'), which is a data frame",
    )
    check = parsing.verb(
        verbs, "check", _check, "read every byte, and tell what is damaged or missing"
    )
    check.add_argument(
        "--repair",
        action="store_true",
        help="rebuild what can be rebuilt first; what was damaged is kept aside in .damaged/",
    )
    for verb in (log, show, diff, status, sql, check):
        parsing.takes_store(verb)
        parsing.takes_json(verb)
    for verb in (log, show, diff):
        parsing.takes_notebook(verb)


def _log(arguments: argparse.Namespace) -> int:
    from nbckpt import reports
    from nbckpt.reports import json_output
    from nbckpt.reports.questions import waits_text
    from nbckpt.session.history.costs import ledger_of
    from nbckpt.timeline.approvals import APPROVAL, Questions
    from nbckpt.timeline.references import unknown_branch

    session = looking_session(arguments)
    ledger = ledger_of(session.store, session.timeline)
    branch = None if arguments.all else arguments.branch or session.position.branch
    if branch is not None and arguments.branch and session.timeline.head(branch) is None:
        raise BranchNotFoundError(unknown_branch(session.timeline, branch))
    if arguments.json:
        shown = reports.listed(session.timeline, branch, arguments.limit)
        print_json([json_output.of_checkpoint(session.timeline, c, ledger) for c in shown])
        return DONE
    limit = arguments.limit or (ON_A_SCREEN if sys.stdout.isatty() else None)
    here = session.timeline.branches.get(session.position.branch)
    say(reports.log_text(session.timeline, branch, here, limit=limit, ledger=ledger, width=width()))
    if strangers := reports.strangers_text(session.store):
        warn(strangers)
    for question in Questions(session.store.records(APPROVAL)).waiting:
        say(waits_text(question, session.store.path))
    return DONE


def _status(arguments: argparse.Namespace) -> int:
    from nbckpt import reports
    from nbckpt.config.sources import settings_of
    from nbckpt.reports import health

    session = looking_session(arguments)
    found = health.health_of(session, settings_of(session.store))
    if arguments.json:
        print_json(found)
    else:
        head = session.timeline.branches.get(session.position.branch)
        say(reports.status_text(session.store, session.timeline, session.position.branch, head))
        say(health.text_of(found))
    return DONE if found["ok"] else DAMAGED


def _show(arguments: argparse.Namespace) -> int:
    from nbckpt import reports
    from nbckpt.reports import json_output
    from nbckpt.session.history.costs import call_as_json, ledger_of, replays_in
    from nbckpt.session.history.recorded_outputs import recorded_outputs

    session = looking_session(arguments)
    ledger = ledger_of(session.store, session.timeline)
    checkpoint = session.get(arguments.ref)
    replays = replays_in(session.store, ledger, checkpoint.id)
    outputs = recorded_outputs(session.store, checkpoint)
    if arguments.json:
        found = json_output.of_checkpoint(session.timeline, checkpoint, ledger)
        calls = [call_as_json(c, ledger.paid_for(c)) for c in ledger.calls_of(checkpoint.id)]
        calls += [call_as_json(c, ledger.paid_for(c), replayed=True) for c in replays]
        variables = json_output.of_variables(session.timeline, checkpoint)
        print_json({**found, "variables": variables, "model_calls": calls, "outputs": outputs})
        return DONE
    text = reports.show_text(
        session.timeline, checkpoint, outputs=outputs, replays=replays, ledger=ledger, width=width()
    )
    say(text)
    return DONE


def _diff(arguments: argparse.Namespace) -> int:
    from nbckpt.reports.diff import compare

    session = looking_session(arguments)
    difference = compare(session, arguments.a, arguments.b or session.position.branch)
    if arguments.json:
        print_json(difference.as_record())
    else:
        say(difference.text(width=width()))
    return DONE


def _sql(arguments: argparse.Namespace) -> int:
    from nbckpt.text.tables import Column, table_text

    answer = looking_session(arguments).sql(arguments.query)
    names, rows = answer.columns, answer.fetchall()
    if arguments.json:
        print_json([dict(zip(names, row, strict=True)) for row in rows])
        return DONE
    right = [str(kind).startswith(_NUMBERS) for kind in answer.types]
    columns = [Column(n, right=r, always=True) for n, r in zip(names, right, strict=True)]
    say(table_text(columns, [[_cell(v) for v in row] for row in rows], width=width()))
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

    from nbckpt import reports

    repaired = _repaired(arguments) if arguments.repair else None
    found = _report(arguments)
    if arguments.json:
        told = {"repaired": reports.repaired_members(repaired)} if repaired else {}
        print_json({"ok": found.ok, **dataclasses.asdict(found), **told})
    else:
        if repaired is not None:
            say(reports.repaired_text(repaired))
        say(reports.check_text(found))
    return DONE if found.ok else DAMAGED


def _repaired(arguments: argparse.Namespace) -> Repaired:
    """Repair a store, first its mark, without which no store is opened; return the result."""
    import dataclasses

    from nbckpt.storage.marking import mend_mark
    from nbckpt.storage.repairing import repair

    mended = mend_mark(parsing.named_store(arguments))
    store = existing_store(arguments)
    try:
        repaired = repair(store)
    finally:
        store.close()
    if not mended:
        return repaired
    return dataclasses.replace(repaired, mended=(mended, *repaired.mended))


def _report(arguments: argparse.Namespace) -> Report:
    """Report on the problems of a store; from checksums alone if its key is not here."""
    from nbckpt.storage.check import check

    try:
        store = existing_store(arguments)  # held: its cipher is known as long as it is
        return check(store.path)
    except SealedError as error:
        from nbckpt.storage.outside import check_from_outside

        warn(f"{error}; until then only checksums are looked at")
        return check_from_outside(parsing.named_store(arguments))
