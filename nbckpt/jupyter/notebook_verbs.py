"""Verbs that only a notebook has (why, auto, timeline), and what it adds to others."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from nbckpt.errors import UsageError
from nbckpt.jupyter import auto_verb, checkpoint_magic, notices  # noqa: F401  # the verb `checkpoint`
from nbckpt.jupyter.as_text import WIDTH, timeline_text
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.idling import Idling
from nbckpt.llm import current
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_state import StepState
from nbckpt.text.escape import lines_of, on_a_line
from nbckpt.verbs.arguments import LATEST, NOTEBOOK_ONLY, Door, argument
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.looking import stood
from nbckpt.verbs.model_calls import calls_text
from nbckpt.verbs.other_notebooks import require_own_ref
from nbckpt.verbs.registry import VERBS, at, declare


class NotebookCall(Call):
    """A call by a magic."""

    through = "magic"

    def __init__(self, arguments: Namespace, cells: Cells, idling: Idling) -> None:
        super().__init__(arguments, WIDTH)
        self.cells = cells
        self.idling = idling

    @property
    def session(self) -> Session:
        """The notebook's."""
        return self.cells.session

    def confirm(self, question: str) -> bool | None:
        """Ask below the cell; None where no front end can."""
        from nbckpt.jupyter.confirming import confirmed

        return confirmed(self.cells.shell, question)

    def tell(self, text: str) -> None:
        """Print lines while the verb goes on."""
        notices.notify(text)

    def warn(self, text: str) -> None:
        """Print one line on stderr that says what is wrong."""
        notices.warn(text)


@declare("timeline", "show the history as a graph to move in", doors=NOTEBOOK_ONLY, is_magic=True)
def _timeline(call: NotebookCall) -> Answer:
    """Show the widget, or the same as text where no widget can be shown."""
    try:
        from nbckpt.jupyter.widget import show

        show(call.cells)
    except ImportError as problem:
        _show_as_text(call.cells, f"the widget needs a package that is missing: {problem}")
    except UsageError as problem:
        _show_as_text(call.cells, str(problem))
    return Answer()


def _show_as_text(cells: Cells, why: str) -> None:
    from html import escape

    cells.session.refresh()
    text = timeline_text(cells.session)
    data = {
        "text/plain": f"{text['text/plain']}\n{why}",
        "text/html": f"{text['text/html']}{escape(why)}",
    }
    cells.shell.display_pub.publish(data, {"nbckpt": {"timeline": "text"}})


@declare(
    "why",
    "why a cell ran instead of being restored",
    argument("name", metavar="NAME", nargs="?", names=LATEST),
    doors=NOTEBOOK_ONLY,
)
def _why(call: NotebookCall) -> Answer:
    name, session = call.arguments.name, call.session
    step = session.state(StepState).latest.get(name) if name else call.cells.steps.latest
    if step is None:
        if name is not None:
            session.get(name)  # says so if there is no such checkpoint either
        message = f"{name or 'no cell'!r} has not run since the kernel started: run its cell first"
        raise UsageError(message)
    return Answer(lambda: _why_text(step))


def _why_text(step: Any) -> str:
    from nbckpt.steps.restore.restorability import why_not_restored

    name = step.request.name
    if step.restored is not None:
        return f"{name!r} was restored: its code and all that it reads are as they were"
    reasons = step.why or why_not_restored(step.session, name, step.key)
    if step.request.rerun:
        reasons = ("it was asked to run anyway", *reasons)
    recorder = current.recorder()
    paid = [f"a model call {text}" for text in recorder.near_misses(name)] if recorder else []
    told = [f"{name!r} ran, because:", *(f"  - {reason}" for reason in reasons)]
    return lines_of([*told, *(f"  - {text}" for text in paid)])


@declare(
    "auto",
    "when cells are checkpointed that ask for nothing themselves",
    argument(
        "policy",
        metavar="POLICY",
        nargs="*",
        names=("on", "off", "skip", "cost", "every", "event", "--sync", "--rerun"),
        is_rest=True,
    ),
    doors=NOTEBOOK_ONLY,
    usage="on|off|skip|cost|every|event … [--sync] [--rerun]",
)
def _auto(call: NotebookCall) -> Answer:
    call.cells.steps.follow(call.arguments.policy)
    return Answer()


@at(Door.NOTEBOOK, "status")
def _status(call: NotebookCall) -> Answer:
    session = call.session
    session.refresh()
    answer = stood(call, session.position.id, settings=session.settings, is_own=True)
    assert answer.text is not None
    return answer._replace(text=_with_notebook(answer.text, call))


def _with_notebook(text: Callable[[], str], call: NotebookCall) -> Callable[[], str]:
    """The text of a status, and what only the notebook knows."""
    session = call.session

    def told() -> str:
        lines = [
            text(),
            auto_verb.status_text(session, call.cells.steps.auto),
            on_a_line(f"calls       {calls_text()}"),
            f"durable     {session.writes.text() or 'all that was kept'}",
        ]
        if left_out := call.idling.verifier.left_out:
            names = on_a_line(", ".join(left_out))
            hint = "slow or restless; `%nbckpt check --memory` looks at all"
            lines.append(f"not watched {names}: {hint}")
        return "\n".join(lines)

    return told


@at(Door.NOTEBOOK, "check")
def _check(call: NotebookCall) -> Answer:
    if not call.arguments.memory:
        return VERBS["check"].does(call)
    kept = call.idling.verify()
    if kept is None:
        return Answer(lambda: "all that is kept is as it was kept")
    from nbckpt.session.history.summaries import user_names

    names = on_a_line(", ".join([*user_names(kept.changed), *(f"-{n}" for n in kept.removed)]))
    text = f"changed by something other than a cell, kept now as {kept.name!r}: {names}"
    return Answer(lambda: text)


@at(Door.NOTEBOOK, "rerun")
def _rerun(call: NotebookCall) -> Answer:
    from nbckpt.jupyter import rerunning
    from nbckpt.verbs.moving import reran

    asked, cells = call.arguments, call.cells
    require_own_ref(call, asked.ref)
    if asked.awaited:
        return Answer(
            shown=rerunning.magic_async(cells, asked.ref, fresh=asked.fresh, everything=asked.all)
        )
    done = rerunning.rerun_in(
        cells.shell, cells, call.session, asked.ref, fresh=asked.fresh, everything=asked.all
    )
    return reran(call, done)
