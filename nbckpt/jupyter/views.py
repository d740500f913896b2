"""The views of one session's timeline: keeps what they show up to date, and answers them.

A view is told of what changed from a thread of its own, a few times a second at most: a cell never
waits for it, and a cell of a millisecond does not send a thousand rows.
"""

from __future__ import annotations

import contextvars
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from nbckpt.jupyter import turns
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.notebook.marks import Mark, Marks, running
from nbckpt.jupyter.page_requests import Panel, refusal, writes
from nbckpt.jupyter.throttle import Throttle
from nbckpt.reports.timeline_rows import Listed, Listing
from nbckpt.runtime import clock
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.history.costs import ledger_of
from nbckpt.steps.execution.step_state import StepState

BRIEF_S = 0.2
"""Of what takes less, no view says that it runs."""
TICK_S = 1.0
"""While a cell runs, so often it is asked how far it came and what its model calls cost."""


class View(Protocol):
    """A view that shows a timeline."""

    def show(self, listed: Listed, status: Mapping[str, Any]) -> None:
        """Show this from now on; called from any thread, one at a time."""


class Views:
    """Those of one session; closed ones are forgotten.

    Attributes
    ----------
    kept_marks
        The marks of the cells, but for the one that runs; pages tell it of their cells.
    """

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.panel = Panel(cells.session, cells.shell, cells)
        self._listing = Listing(cells.session)
        self._views: weakref.WeakSet[View] = weakref.WeakSet()
        self._pushing = threading.Lock()
        # ipykernel 7.0 to 7.3 send nothing from a thread that has no cell's context.
        self._context = contextvars.copy_context()
        self._has_failed = self._is_ticking = False
        self._throttle = Throttle(self._push)
        self._turns = turns.Turns(
            cells.shell,
            lambda: self.panel.is_open,
            self._throttle.ask,
            running=lambda: cells.running,
        )
        self.kept_marks = Marks(cells.session, self._moment)
        cells.steps.names.identities = self.kept_marks.identities
        cells.session.listeners.append(self._heard)
        _all.add(self)

    @classmethod
    def of(cls, cells: Cells) -> Views:
        """The views of a session, made by the first that asks."""
        with _making:
            return next((views for views in list(_all) if views.cells is cells), None) or cls(cells)

    def now(self) -> tuple[Listed, dict[str, Any]]:
        """Rows and status to show."""
        listed = self._listing.list()
        return listed, self.panel.status(self._busy(listed))

    def marks(self, busy: Mapping[str, Any] | None) -> dict[str, Mark]:
        """Marks beside the cells of the notebook, by the cells' ids.

        Parameters
        ----------
        busy
            The cell or job that runs, as in a status.
        """
        marks = self.kept_marks.now()
        cell_id = busy and busy["cell_id"]
        if not busy or not cell_id:
            return marks
        return {**marks, cell_id: running(marks.get(cell_id), busy["name"], busy["began_at"])}

    def _moment(self) -> object:
        moment = self._turns.moment
        return None if moment is None else (moment, self.cells.session.timeline.revision)

    def add(self, view: View) -> None:
        """Keep a view up to date, for as long as somebody holds it."""
        self._views.add(view)

    def forget(self, view: View) -> None:
        """Keep it up to date no longer."""
        self._views.discard(view)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have no view told of anything meanwhile."""
        with self._pushing:
            yield

    def write(self, op: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Do what changes the namespace, now: on the main thread, and while no cell runs."""
        answers: list[dict[str, Any]] = []
        self._turns.do(op, lambda: answers.append(self.panel.answer(op, args)))
        return next(iter(answers), refusal(f"{op} was interrupted", "KeyboardInterrupt"))

    def request(self, content: object, reply: Callable[[dict[str, Any]], object]) -> None:
        """Answer what came from outside: reads at once, writes when no cell runs.

        Parameters
        ----------
        content
            `{"id": …, "op": …, "args": {…}}`.
        reply
            Sends an answer; for a write that has to wait, before it one that says so.
        """
        if not isinstance(content, Mapping) or "op" not in content:
            return  # of another protocol
        number, op, args = content.get("id"), str(content["op"]), content.get("args") or {}

        def do() -> None:
            reply({"id": number, **self.panel.answer(op, args)})
            if op in writes():
                self._throttle.ask()

        if op in writes() and self.panel.is_open:
            if self._turns.doing is not None:
                reply({"id": number, "waits": turns.WAITS})
            self._turns.take(op, do)
            return
        do()

    # -- what changes

    def _heard(self, _: str) -> None:
        self._throttle.ask()

    def _push(self) -> None:
        if not self.panel.is_open:
            return
        with self._pushing:
            try:
                self._context.run(self._show)
            except user_code_errors() as error:  # the next prompt says it
                if not self._has_failed:
                    self._has_failed = True
                    news = self.cells.session.writes.news
                    text = f"by a defect in nbckpt: {type(error).__name__}: {error}"
                    news.append(f"%timeline no longer shows all that happens, {text}")

    def _show(self) -> None:
        listed, status = self.now()
        views = list(self._views)
        for view in views:
            view.show(listed, status)
        if views and status["busy"] and not self._is_ticking:
            self._is_ticking = True
            tick = threading.Timer(TICK_S, self._tick)
            tick.daemon = True
            tick.start()

    def _tick(self) -> None:
        self._is_ticking = False
        self._throttle.ask()

    def _busy(self, listed: Listed) -> dict[str, Any] | None:
        """Cell or job that runs: its checkpoint's name or first line, and its loop's progress."""
        doing = self._turns.doing
        if doing is None:
            return None
        if clock.now() - doing.began_at < BRIEF_S:
            self._throttle.ask()  # it may go on for long
            return None
        busy: dict[str, Any] = {
            "name": doing.what,
            "cell_id": doing.cell_id,
            "began_at": doing.began_at,
            **dict.fromkeys(("done", "total", "calls", "cost_usd")),
        }
        steps = tuple(self.cells.session.state(StepState).running.values())
        if steps:  # a block, within its cell
            step = steps[-1]
            busy.update(name=step.request.name, calls=sum(step.calls.n_answered for step in steps))
            busy["cost_usd"] = self._cost_since(doing.began_at)
            if (counted := step.at.counted) is not None:
                of = None if counted[1] < 0 else counted[1]
                return {**busy, "done": counted[0], "total": of}
        newest = next((r for r in reversed(listed.rows) if r["state"] == "partial"), None)
        if newest is not None and newest["created_at"] >= doing.began_at:
            done, total = newest["progress"] or (None, None)
            busy.update(name=newest["name"], done=done, total=None if total == -1 else total)
        return busy

    def _cost_since(self, began_at: float) -> float | None:
        session = self.cells.session
        ledger = ledger_of(session.store, session.timeline)
        return ledger.so_far(session.id, began_at).paid_usd


_making = threading.Lock()
_all: weakref.WeakSet[Views] = weakref.WeakSet()
"""Each is held by its session, which calls it."""
