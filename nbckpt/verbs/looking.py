"""Looks at the history: log, show, status, diff, sql."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbckpt.errors import BranchNotFoundError, NbckptError, UsageError
from nbckpt.steps import current_session
from nbckpt.verbs.arguments import (
    BRANCH,
    OF_NOTEBOOK,
    OF_STORE,
    REF,
    STORE,
    TYPED,
    Door,
    argument,
    checkpoint_argument,
    count,
    flag,
)
from nbckpt.verbs.calls import DAMAGED, DONE, Answer, Call
from nbckpt.verbs.histories import history
from nbckpt.verbs.registry import READS, at, declare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb
    import pyarrow as pa

    from nbckpt.model import Checkpoint
    from nbckpt.reports.diff import Difference
    from nbckpt.session.checkpoint_view import Look, PrunedLook
    from nbckpt.session.session import Session

ON_A_SCREEN = 100
"""Checkpoints that a log shows where nobody asked for more."""


@declare(
    "log",
    "the checkpoints of the current branch, newest first",
    argument(
        "branch", metavar="BRANCH", nargs="?", help="by default the current one", names=BRANCH
    ),
    flag("-a", "--all", help="of every branch"),
    argument(
        "-n",
        metavar="N",
        dest="limit",
        type=count,
        help=f"the newest N only: by default all, on a screen {ON_A_SCREEN}",
    ),
    *OF_NOTEBOOK,
    function=history,
    usage="[BRANCH | --all] [-n N]",
)
def _log(call: Call) -> Answer:
    session = call.session
    session.refresh()
    return _listed(call, session.position.id)


@at(Door.TERMINAL, "log")
def _log_in_terminal(call: Call) -> Answer:
    from nbckpt.reports.questions import waits_text
    from nbckpt.reports.status import strangers_text
    from nbckpt.timeline.approvals import APPROVAL, Questions

    session = call.session
    answer = _listed(call, session.timeline.branches.get(session.position.branch))

    def text() -> str:
        assert answer.text is not None
        waiting = Questions(session.store.records(APPROVAL)).waiting
        return "\n".join([answer.text(), *(waits_text(q, session.store.path) for q in waiting)])

    return answer._replace(text=text, warning=strangers_text(session.store))


def _listed(call: Call, here: str | None) -> Answer:
    """The answer of a log; `here` is the checkpoint where the session is."""
    from nbckpt.reports import json_output
    from nbckpt.reports.log import listed, log_text
    from nbckpt.session.history.costs import ledger_of
    from nbckpt.timeline.references import unknown_branch

    session, asked = call.session, call.arguments
    if asked.branch is not None and asked.all:
        message = f"{asked.branch!r} and --all: name a branch, or take every branch"
        raise UsageError(message)
    if asked.branch is not None and session.timeline.head(asked.branch) is None:
        raise BranchNotFoundError(unknown_branch(session.timeline, asked.branch))
    branch = None if asked.all else asked.branch or session.position.line_name
    ledger = ledger_of(session.store, session.timeline)

    def text() -> str:
        return log_text(
            session.timeline,
            branch,
            here,
            limit=asked.limit or (ON_A_SCREEN if call.width else None),
            writing=session.writes.unfinished,
            ledger=ledger,
            width=call.width,
        )

    def record() -> list[dict[str, object]]:
        shown = listed(session.timeline, branch, asked.limit)
        return [json_output.of_checkpoint(session.timeline, c, ledger) for c in shown]

    return Answer(text, record)


def get(ref: str | Look) -> Look:
    """The checkpoint that `ref` names; its `.values` are loaded when they are asked for.

    Raises
    ------
    CheckpointNotFoundError
        If there is none.
    """
    from nbckpt.session.checkpoint_view import Look, ref_of

    session = current_session.session()
    asked_for = ref_of(ref)
    try:
        found = session.get(asked_for)
    except NbckptError:
        session.workspace.checkpoint_reads.missed(asked_for)
        raise
    return Look(session, found, asked_for)


def look_at(checkpoint_id: str, tags: Sequence[str] = (), note: str = "") -> Look | PrunedLook:
    """The look that a variable held; of a checkpoint that is there no more, what says so."""
    from nbckpt.session.checkpoint_view import Look, PrunedLook

    session = current_session.session()
    try:
        checkpoint = session.position.resolve(checkpoint_id)
    except NbckptError:
        return PrunedLook((checkpoint_id, *((tags, note) if tags or note else ())))
    return Look(session, replace(checkpoint, tags=tuple(tags), note=note))


def values_at(checkpoint_id: str) -> Mapping[str, object] | PrunedLook:
    """The values of a look that a variable held, as `look_at`."""
    from nbckpt.session.checkpoint_view import PrunedLook

    look = look_at(checkpoint_id)
    return look if isinstance(look, PrunedLook) else look.values


@declare("show", "all that is known of one checkpoint", REF, *OF_NOTEBOOK, function=get)
def _show(call: Call) -> Answer:
    """Without the outputs, which the notebook shows itself."""
    text = _shown(call, call.session.get(call.arguments.ref))
    facts, gap, held = text.partition("\n\n")
    return Answer(lambda: facts, verbatim=gap + held)


@at(Door.TERMINAL, "show")
def _show_in_terminal(call: Call) -> Answer:
    from nbckpt.reports import json_output
    from nbckpt.session.history.costs import call_as_json, ledger_of, replays_in
    from nbckpt.session.history.recorded_outputs import recorded_outputs

    session = call.session
    checkpoint = session.get(call.arguments.ref)
    outputs = recorded_outputs(session.store, checkpoint)

    def record() -> dict[str, object]:
        ledger = ledger_of(session.store, session.timeline)
        replays = replays_in(session.store, ledger, checkpoint.id)
        calls = [call_as_json(c, ledger.paid_for(c)) for c in ledger.calls_of(checkpoint.id)]
        calls += [call_as_json(c, ledger.paid_for(c), replayed=True) for c in replays]
        return {
            **json_output.of_checkpoint(session.timeline, checkpoint, ledger),
            "variables": json_output.of_variables(session.timeline, checkpoint),
            "model_calls": calls,
            "outputs": outputs,
        }

    return Answer(lambda: _shown(call, checkpoint, outputs=outputs, width=call.width), record)


def _shown(call: Call, checkpoint: Checkpoint, **how: Any) -> str:
    from nbckpt.reports.details import show_text
    from nbckpt.session.history.costs import ledger_of, replays_in

    session = call.session
    ledger = ledger_of(session.store, session.timeline)
    replays = replays_in(session.store, ledger, checkpoint.id)
    return show_text(session.timeline, checkpoint, replays=replays, ledger=ledger, **how)


@declare(
    "status",
    "how the store is: sizes, sessions, failures, room",
    STORE,
    flag("--json", help="for programs", doors=TYPED),
    more="""\
For monitors: --json writes one object, whose members `nbckpt/RUNBOOK.md` explains. The exit status
is 3 if something was met that cannot be read; `nbckpt check` reads every byte.

  nbckpt status --json --store /data/.nbckpt""",
)
def _status(call: Call) -> Answer:
    from nbckpt.config.settings_sources import settings_of

    session = call.session
    head = session.timeline.branches.get(session.position.branch)
    return stood(call, head, settings=settings_of(session.store))


def stood(call: Call, here: str | None, **how: Any) -> Answer:
    """The answer of a status; `here` is the checkpoint where the session is."""
    from nbckpt.reports import health
    from nbckpt.reports.status import status_text

    session = call.session
    found = health.health_of(session, **how)

    def text() -> str:
        where = status_text(session.store, session.timeline, session.position.branch, here)
        return f"{where}\n{health.text_of(found)}"

    return Answer(text, lambda: found, status=DONE if found["ok"] else DAMAGED)


def diff(a: str | Look, b: str | Look | None = None) -> Difference:
    """The differences between two checkpoints: variables, code, outputs, time and money.

    Parameters
    ----------
    b
        By default what is there now.

    Raises
    ------
    CheckpointNotFoundError
        If `a` or `b` names none.
    """
    from nbckpt.reports.diff import compare
    from nbckpt.session.checkpoint_view import ref_of

    return compare(current_session.session(), ref_of(a), None if b is None else ref_of(b))


@declare(
    "diff",
    "what differs between two checkpoints",
    checkpoint_argument("a"),
    checkpoint_argument(
        "b", nargs="?", help="by default what is there now; in a terminal the head of the branch"
    ),
    *OF_NOTEBOOK,
    function=diff,
    panel=READS,
)
def _diff(call: Call) -> Answer:
    return _compared(call, call.arguments.b)


@at(Door.TERMINAL, "diff")
def _diff_in_terminal(call: Call) -> Answer:
    return _compared(call, call.arguments.b or call.session.position.branch)


def _compared(call: Call, b: str | None) -> Answer:
    from nbckpt.reports.diff import compare

    found = compare(call.session, call.arguments.a, b)
    return Answer(lambda: found.text(width=call.width), found.as_record, shown=found)


def sql(query: str) -> duckdb.DuckDBPyRelation:
    """DuckDB's answer to `query` over `checkpoints`, `variables`, `branches`, `events`, ….

    ``variable('df', 'clean')`` is a data frame as it was at a checkpoint; ``history('df')`` has a
    row for each step that changed a variable.

    Raises
    ------
    UsageError
        If DuckDB refuses the query; the message is DuckDB's.
    """
    return _asked(current_session.session(), query)


def _asked(session: Session, query: str) -> duckdb.DuckDBPyRelation:
    def history_table(name: str) -> pa.Table:
        from nbckpt.reports.variable_history import history_of
        from nbckpt.reports.variable_history.as_arrow import table_of

        return table_of(history_of(session, name, most=None))

    return session.sql(query, functions={"history": history_table})


@declare(
    "sql",
    "ask the store in SQL",
    argument(
        "query",
        metavar="QUERY",
        help="over checkpoints, variables, branches, events, recordings, prices, steps, approvals, "
        "variable('NAME') or variable('NAME', 'REF'), which is a data frame, and history('NAME')",
        question="what query?",
        is_rest=True,
    ),
    *OF_STORE,
    function=sql,
    usage='"select name, duration_s from checkpoints"',
    more="""\
  nbckpt sql "select name, duration_s from checkpoints order by duration_s desc"
  nbckpt sql "select * from variable('df', 'load') limit 5" --json""",
)
def _sql(call: Call) -> Answer:
    found = _asked(call.session, call.arguments.query)
    names = found.columns

    def record() -> list[dict[str, object]]:
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    return Answer(lambda: _table(found, call.width), record, shown=found)


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


def _table(found: duckdb.DuckDBPyRelation, width: int | None) -> str:
    from nbckpt.text.tables import Column, table_text

    right = [str(kind).startswith(_NUMBERS) for kind in found.types]
    columns = [Column(n, right=r, always=True) for n, r in zip(found.columns, right, strict=True)]
    rows = [[_cell(value) for value in row] for row in found.fetchall()]
    return table_text(columns, rows, width=width)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
