"""Requests that only pages and widgets make, and what they do otherwise than magics."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from nbckpt.errors import UsageError
from nbckpt.jupyter.cells import Cells
from nbckpt.model import Checkpoint
from nbckpt.reports.glances import Glances
from nbckpt.runtime import clock
from nbckpt.session.session import Session
from nbckpt.verbs.arguments import PANEL_ONLY, REF, Door, argument
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.moving import moved, newer_line, reran
from nbckpt.verbs.other_notebooks import require_own_branch, require_own_ref
from nbckpt.verbs.parsing import required_text
from nbckpt.verbs.registry import READS, WRITES, at, declare

MOST_GLANCES = 200
"""Checkpoints that one request may ask a glance of."""


class PanelCall(Call):
    """A call by a page or a widget."""

    through = "sidebar"

    def __init__(self, arguments: Namespace, cells: Cells, glances: Glances) -> None:
        super().__init__(arguments)
        self.cells = cells
        self.glances = glances

    @property
    def session(self) -> Session:
        """The notebook's."""
        return self.cells.session

    def tell(self, text: str) -> None:
        """Say nothing: a page has its answer alone."""

    def warn(self, text: str) -> None:
        """Say nothing: a page has its answer alone."""


def _checkpoint(call: PanelCall) -> Checkpoint:
    """The one that is meant; nothing new is read, which is for who writes."""
    return call.session.position.resolve(call.arguments.ref)


@declare("details", "all that a page shows of a checkpoint", REF, doors=PANEL_ONLY, panel=READS)
def _details(call: PanelCall) -> Answer:
    from nbckpt.reports.timeline_rows import details_of

    return Answer(record=lambda: details_of(call.session, _checkpoint(call)))


@declare(
    "glances",
    "what the cells of checkpoints showed, each in a thumbnail, a few cells or a line",
    argument("--ids", doors=PANEL_ONLY),
    doors=PANEL_ONLY,
    panel=READS,
)
def _glances(call: PanelCall) -> Answer:
    ids = call.arguments.ids
    if not isinstance(ids, list) or len(ids) > MOST_GLANCES:
        message = f"'ids' is a list of up to {MOST_GLANCES} ids of checkpoints"
        raise UsageError(message)
    return Answer(record=lambda: call.glances.of(i for i in ids if isinstance(i, str)))


@declare("page", "the cells of a notebook at a checkpoint", REF, doors=PANEL_ONLY, panel=READS)
def _page(call: PanelCall) -> Answer:
    from nbckpt.jupyter.notebook.looks import page_at

    return Answer(record=lambda: page_at(call.session, _checkpoint(call)))


@declare(
    "displays",
    "what the cell of a checkpoint displayed as more than text and pictures",
    REF,
    doors=PANEL_ONLY,
    panel=READS,
)
def _displays(call: PanelCall) -> Answer:
    from nbckpt.jupyter.notebook.looks import displays_of

    return Answer(record=lambda: {"displays": displays_of(call.session, _checkpoint(call))})


_CELLS = argument("--cells", doors=PANEL_ONLY)


@declare(
    "resume_plan",
    "what a resume would bring back, and which cells it leaves to run",
    argument("branch", nargs="?"),
    _CELLS,
    doors=PANEL_ONLY,
    panel=READS,
)
def _resume_plan(call: PanelCall) -> Answer:
    from nbckpt.jupyter.notebook.documents import code_cells
    from nbckpt.jupyter.notebook.resume_forecast import resume_plan

    asked = call.arguments
    cells = code_cells(asked.cells)
    return Answer(record=lambda: resume_plan(call.session, asked.branch, cells, now=clock.now()))


@declare("rerun_plan", "which cells a rerun would run", REF, _CELLS, doors=PANEL_ONLY, panel=READS)
def _rerun_plan(call: PanelCall) -> Answer:
    from nbckpt.jupyter.notebook.documents import code_cells
    from nbckpt.jupyter.notebook.rerun_forecast import rerun_plan

    cells = code_cells(call.arguments.cells)
    return Answer(record=lambda: rerun_plan(call.session, _checkpoint(call), cells))


@declare(
    "run_anyway",
    "have cells run the next time whatever else holds",
    argument("--cells", doors=PANEL_ONLY),
    doors=PANEL_ONLY,
    panel=WRITES,
)
def _run_anyway(call: PanelCall) -> Answer:
    cells = call.arguments.cells
    if not isinstance(cells, list) or not all(isinstance(i, str) for i in cells):
        message = "'cells' is a list of ids of cells"
        raise UsageError(message)
    call.cells.steps.again = set(cells)
    return Answer()


@at(Door.PANEL, "diff")
def _diff(call: PanelCall) -> Answer:
    """Of two checkpoints; what is there now may have to be kept first, which a cell forbids."""
    from nbckpt.reports.diff import Limits, compare

    b = required_text(vars(call.arguments), "b")
    found = compare(call.session, call.arguments.a, b, limits=Limits(facts=True))
    return Answer(record=found.as_record)


@at(Door.PANEL, "history")
def _history(call: PanelCall) -> Answer:
    """Of the line that the notebook is on, or of the one that leads to the checkpoint shown."""
    from nbckpt.reports.variable_history import history_of

    session, asked = call.session, call.arguments
    name = required_text(vars(asked), "variable")
    shown = None if asked.at is None else session.position.resolve(asked.at).id
    position, timeline = session.position, session.timeline
    newest = position.ahead or (position.head.id if position.head else None)
    is_on_line = shown is None or (newest is not None and timeline.is_ancestor(shown, newest))
    found = history_of(session, name, start=None if is_on_line else shown)
    return Answer(record=found.as_record)


@at(Door.PANEL, "rerun")
def _rerun(call: PanelCall) -> Answer:
    from nbckpt.jupyter.rerunning import rerun_in

    asked, shell = call.arguments, call.cells.shell
    require_own_ref(call, asked.ref)
    done = rerun_in(
        shell,
        call.cells,
        call.session,
        required_text(vars(asked), "ref"),
        everything=asked.all,
        fresh=asked.fresh,
        quiet=True,
    )
    return reran(call, done)


@at(Door.PANEL, "resume")
def _resume(call: PanelCall) -> Answer:
    """As `%resume` does, or, of a notebook that died on its second run, where that stood."""
    from nbckpt.jupyter.notebook.resume_forecast import target_of

    session, asked = call.session, call.arguments
    require_own_branch(call, asked.branch)
    again = asked.again or []
    if not isinstance(again, list) or not all(isinstance(i, str) for i in again):
        message = "'again' is a list of ids of cells"
        raise UsageError(message)
    if asked.once and session.position.id is not None:
        text = "this notebook was resumed already, or has gone on without"
        members: Mapping[str, Any] = {"failed": [], "error": text}
        return Answer(lambda: text, checkpoint=session.position.id, members=members)
    session.refresh()
    target, _ = target_of(session, asked.branch)
    done = session.resume(asked.branch, fallback=asked.fallback)
    if target is not None and session.timeline.is_ancestor(target.id, done.checkpoint.id):
        done = done if target.id == done.checkpoint.id else session.rewind(target.id)
    call.cells.steps.again = set(again)
    told, more = f"resumed {session.position.branch!r} at", newer_line(session)
    return moved(session, done, told, more=more)
