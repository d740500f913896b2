"""The words of `%nbckpt`: each looks at the history or at the settings, or changes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbckpt import reports
from nbckpt.errors import BranchNotFoundError, UsageError
from nbckpt.jupyter import autos, notices
from nbckpt.jupyter.as_text import NEWEST, WIDTH
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.idling import Idling
from nbckpt.jupyter.magics import budgets, changes, lines, recording
from nbckpt.session.history.costs import ledger_of, replays_in
from nbckpt.steps.execution.step_state import StepState
from nbckpt.text.commands import in_notebook
from nbckpt.text.escape import lines_of, on_a_line
from nbckpt.timeline.references import unknown_branch

if TYPE_CHECKING:
    from nbckpt.reports.diff import Difference


class Commands:
    """The commands `%nbckpt WORD …`, for one shell."""

    def __init__(self, cells: Cells, idling: Idling) -> None:
        self._cells = cells
        self._idling = idling
        self._session = cells.session
        self._all: dict[str, Callable[[str], Any]] = {
            "log": self._log,
            "show": self._show,
            "status": self._status,
            "diff": self._diff,
            "why": self._why,
            "sql": self._sql,
            "auto": self._auto,
            "tag": lambda line: changes.tag(self._session, line),
            "note": lambda line: changes.note(self._session, line),
            "update": lambda line: changes.update(self._session, line),
            "prune": lambda line: changes.prune(self._session, line),
            "record": recording.record,
            "budget": budgets.budget,
            "cost": lambda line: budgets.cost(self._session, line, WIDTH),
            "config": lambda line: changes.config(self._session, line, WIDTH),
            "check": self._check,
            "trust": self._trust,
            "export": self._export,
            "approvals": self._approvals,
            "answer": self._answer,
        }

    @property
    def words(self) -> tuple[str, ...]:
        """Those that there are."""
        return tuple(self._all)

    def run(self, line: str) -> Any:
        """Do what a line says.

        Raises
        ------
        UsageError
            If its first word is none of `words`.
        """
        word, _, rest = line.strip().partition(" ")
        if word not in self._all:
            raise lines.unknown(word, self.words)
        if word != "update":
            rest = lines.expanded(self._cells.shell, rest)
        return self._all[word](rest.strip())

    # -- looking ------------------------------------------------------------------------------

    def _log(self, line: str) -> None:
        usage = "%nbckpt log [BRANCH | --all] [-n N]"
        words, limit = lines.limited(lines.words_of(line, usage), NEWEST)
        everywhere = not {"--all", "-a"}.isdisjoint(words)
        branches = [word for word in words if word not in ("--all", "-a")]
        if len(branches) + everywhere > 1:
            message = f"%nbckpt log {line}: it is `{usage}`"
            raise UsageError(message)
        session = self._session
        session.refresh()
        branch = None if everywhere else next(iter(branches), session.position.branch)
        if branches and session.timeline.head(branches[0]) is None:
            raise BranchNotFoundError(unknown_branch(session.timeline, branches[0]))
        here, writing = session.position.id, session.writes.unfinished
        ledger = ledger_of(session.store, session.timeline)
        text = reports.log_text(
            session.timeline, branch, here, limit=limit, writing=writing, ledger=ledger, width=WIDTH
        )
        notices.notify(text)

    def _show(self, line: str) -> None:
        checkpoint = self._session.get(lines.one(line, "%nbckpt show REF"))
        session = self._session
        ledger = ledger_of(session.store, session.timeline)
        replays = replays_in(session.store, ledger, checkpoint.id)
        text = reports.show_text(session.timeline, checkpoint, replays=replays, ledger=ledger)
        facts, gap, held = text.partition("\n\n")
        print(in_notebook(facts), gap, held, sep="")  # code and outputs stay as they are

    def _diff(self, line: str) -> Difference:
        words, _ = lines.parted(line, "%nbckpt diff REF [REF]", 1, 2)
        from nbckpt.reports.diff import compare

        return compare(self._session, words[0], words[1] if len(words) > 1 else None)

    def _status(self, line: str) -> None:
        _, given = lines.parted(line, "%nbckpt status [--json]", 0, 0, ("--json",))
        session = self._session
        session.refresh()
        from nbckpt.reports import health

        found = health.health_of(session, session.settings, is_own=True)
        if given:
            print(json.dumps(found, indent=2, ensure_ascii=False))
            return
        notices.notify(
            reports.status_text(
                session.store, session.timeline, session.position.branch, session.position.id
            )
        )
        notices.notify(health.text_of(found))
        notices.notify(autos.status_text(session, self._cells.steps.auto))
        notices.notify(on_a_line(f"calls       {recording.calls_text()}"))
        notices.notify(f"durable     {session.writes.text() or 'all that was kept'}")
        if left_out := self._idling.verifier.left_out:
            names = on_a_line(", ".join(left_out))
            notices.notify(
                f"not watched {names}: slow or restless; `%nbckpt check --memory` looks at all"
            )

    def _why(self, line: str) -> None:
        name = lines.one(line, "%nbckpt why NAME") if line else None
        step = self._session.state(StepState).latest.get(name) if name else self._cells.steps.latest
        if step is None:
            if name is not None:
                self._session.get(name)  # says so if there is no such checkpoint either
            message = (
                f"{name or 'no cell'!r} has not run since the kernel started: run its cell first"
            )
            raise UsageError(message)
        notices.notify(_why_text(step))

    def _sql(self, line: str) -> Any:
        query = line[1:-1] if line[:1] in "\"'" and line[-1:] == line[:1] else line
        if not query:
            message = 'what query? write `%nbckpt sql "select name, duration_s from checkpoints"`'
            raise UsageError(message)
        return self._session.sql(query)

    def _check(self, line: str) -> None:
        from nbckpt.storage.check import check
        from nbckpt.storage.repairing import repair

        usage = "%nbckpt check [--memory] [--repair]"
        _, given = lines.parted(line, usage, 0, 0, ("--memory", "--repair"))
        if "--memory" in given:
            self._check_memory()
            return
        self._session.wait()
        if given:
            notices.notify(reports.repaired_text(repair(self._session.store)))
        notices.notify(reports.check_text(check(self._session.store.path)))

    def _check_memory(self) -> None:
        kept = self._idling.verify()
        if kept is None:
            notices.notify("all that is kept is as it was kept")
            return
        names = ", ".join([*reports.user_names(kept.changed), *(f"-{n}" for n in kept.removed)])
        notices.notify(
            f"changed by something other than a cell, kept now as {kept.name!r}: {on_a_line(names)}"
        )

    # -- between people -------------------------------------------------------------------------

    def _trust(self, line: str) -> None:
        from nbckpt.jupyter.magics import handing

        handing.trust(self._session, line)

    def _export(self, line: str) -> None:
        from nbckpt.jupyter.magics import handing

        handing.export(self._session, line)

    # -- questions ----------------------------------------------------------------------------

    def _approvals(self, line: str) -> None:
        from nbckpt.jupyter.magics import questions

        questions.approvals(self._session, line, WIDTH)

    def _answer(self, line: str) -> None:
        from nbckpt.jupyter.magics import questions

        questions.answer(self._session, line)

    # -- setting ------------------------------------------------------------------------------

    def _auto(self, line: str) -> None:
        self._cells.steps.follow(line)


def _why_text(step: Any) -> str:
    from nbckpt.steps.restore.cache_lookup import why_not_restored

    name = step.request.name
    if step.restored is not None:
        return f"{name!r} was restored: its code and all that it reads are as they were"
    reasons = step.why or why_not_restored(step.session, name, step.key)
    if step.request.rerun:
        reasons = ("it was asked to run anyway", *reasons)
    return lines_of([f"{name!r} ran, because:", *(f"  - {reason}" for reason in reasons)])
