"""A question below the cell that asks it: buttons that work while the cell waits.

What the buttons say comes over a comm that a subshell answers. Where no front end shows them, or
it has no subshells, the question is asked as `input` asks, and where that cannot be either, it
says how to answer from elsewhere. Whatever way, answers from elsewhere count.
"""

from __future__ import annotations

import _thread
import builtins
import os
import secrets
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell

from nbckpt.errors import NbckptError
from nbckpt.jupyter import notices
from nbckpt.reports.questions import command, outcome_text, waits_text
from nbckpt.session.session import Session
from nbckpt.steps.approvals import terminal
from nbckpt.steps.approvals.desk import Desk, desk_of
from nbckpt.steps.approvals.showing import Line
from nbckpt.steps.execution.step_state import Shown
from nbckpt.timeline.approvals import Question

CODE = Path(__file__).with_name("static") / "approval.js"
GRACE_S = 3.0
"""Seconds that a front end may take to show buttons; one that is asked by `input` cannot."""
LOOK_S = 0.5
STDERR = 2
_STYLE = "border-left: 4px solid var(--jp-warn-color1, orange); padding: 2px 8px"


def ask(shell: InteractiveShell, session: Session, question: Question) -> Shown:
    """Show a question as well as the front end can."""
    desk = desk_of(session)
    if getattr(shell, "kernel", None) is not None:
        return Below(shell, desk, question)
    return terminal.Prompt(desk, question) if terminal.can_prompt() else Line(desk, question)


class Below:
    """A question in the output of the cell that asks."""

    def __init__(self, shell: InteractiveShell, desk: Desk, question: Question) -> None:
        self._shell = shell
        self._desk = desk
        self._question = question
        self._display_id = f"nbckpt-{question.id}-{secrets.token_hex(4)}"
        self._since = time.monotonic()
        self._can_type = threading.current_thread() is threading.main_thread()
        self._is_told = False
        self._widget = _widget_of(desk, question)
        data: dict[str, Any] = {**_waiting_data(question, desk.session.store.path)}
        if self._widget is not None:
            data = {**self._widget.data(), **data}
        # Named as nbckpt's own: a restored cell shows what became of it, and not that it waits.
        self._publish(data, {"nbckpt": {"approval": question.id}}, update=False)

    def _publish(
        self, data: Mapping[str, Any], metadata: Mapping[str, Any], *, update: bool
    ) -> None:
        self._shell.display_pub.publish(
            dict(data),
            dict(metadata),
            transient={"display_id": self._display_id},
            update=update,
        )

    def wait(self, came: threading.Event, seconds: float) -> None:
        """Return after so many seconds, or when the event is set; ask by `input` if need be."""
        if self._has_buttons or time.monotonic() - self._since < self._patience_s:
            came.wait(seconds)
        elif self._can_type and seconds:
            self._type(came)
        else:
            self._notify_terminal()
            came.wait(seconds)

    @property
    def _has_buttons(self) -> bool:
        return self._widget is not None and self._widget.is_shown.is_set()

    @property
    def _patience_s(self) -> float:
        return GRACE_S if self._widget is not None else 0.0

    def _type(self, came: threading.Event) -> None:
        """Ask by the front end's own line for input, until an answer comes from wherever."""
        following = _Following(self._desk, self._question, came)
        try:
            with following:
                line = builtins.input(f"{self._question.question} {terminal.PROMPT}")
        except KeyboardInterrupt:
            if not following.has_interrupted:
                raise
            return
        except (StdinNotImplementedError, EOFError):  # a run without anybody: other doors are open
            self._can_type = False
            return
        if (said := terminal.verdict_in(line)) is not None and not came.is_set():
            try:
                self._desk.answer(self._question.id, said[0], said[1], through="prompt")
            except NbckptError as problem:  # somebody else was quicker, or the disk refuses
                notices.notify(str(problem))

    def _notify_terminal(self) -> None:
        """Say once where the kernel was started what waits: nobody may look at the notebook."""
        if self._is_told:
            return
        self._is_told = True
        text = f"nbckpt: {waits_text(self._question, self._desk.session.store.path)}\n"
        # ipykernel sends what is written to file 2 to the notebook, too, and keeps a copy of it.
        fd = getattr(sys.stderr, "_original_stdstream_copy", None)
        with suppress(OSError):  # it was closed
            os.write(fd if isinstance(fd, int) else STDERR, text.encode())

    def end(self, question: Question) -> None:
        """Leave what became of it in the output, for who reads the notebook later."""
        if self._widget is not None:
            self._widget.close()
        if question.state == "waiting":
            data = _waiting_data(question, self._desk.session.store.path)
            self._publish(data, {"nbckpt": {"approval": question.id}}, update=True)
            return
        text = outcome_text(question)
        self._publish({"text/plain": text, "text/html": _html(text)}, {}, update=True)


class _Following:
    """Interrupts the main thread, which reads a line, when the answer comes from elsewhere."""

    def __init__(self, desk: Desk, question: Question, came: threading.Event) -> None:
        self._desk = desk
        self._question = question
        self._came = came
        self._lock = threading.Lock()
        self._reads = True
        self.has_interrupted = False

    def __enter__(self) -> None:
        threading.Thread(target=self._follow, name="nbckpt-approval", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._reads = False
        time.sleep(0)  # an interrupt that is on its way arrives here, and not in the user's code

    def _follow(self) -> None:
        while self._reads:
            self._came.wait(LOOK_S)
            try:
                self._desk.refresh()
            except NbckptError:  # the next look, or who waits, meets it again
                continue
            if self._desk.state_of(self._question).state == "waiting":
                continue
            with self._lock:
                if self._reads:
                    self.has_interrupted = True
                    _thread.interrupt_main()
            return


def _widget_of(desk: Desk, question: Question) -> Any:
    """The buttons; None where they cannot be: without their package, or unbuilt."""
    try:
        from nbckpt.jupyter.buttons import ApprovalWidget

        return ApprovalWidget(desk, question, CODE.read_text(encoding="utf-8"))
    except (ImportError, FileNotFoundError):
        return None


def _waiting_data(question: Question, store: Path) -> dict[str, str]:
    about = f"\n{question.preview}" if question.preview else ""
    text = f"waits for an answer: {question.question}{about}\n{command(question, store)}"
    return {"text/plain": text, "text/html": _html(text)}


def _html(text: str) -> str:
    """The text as HTML, its lines kept."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'<div style="{_STYLE}; white-space: pre-wrap">{escaped}</div>'
