"""A question in a terminal: typed answers, while those that come from elsewhere count, too."""

from __future__ import annotations

import select
import sys
import threading

from nbckpt.errors import NbckptError
from nbckpt.reports.questions import command, outcome_text
from nbckpt.steps.approvals.desk import Desk
from nbckpt.timeline.approvals import Question

PROMPT = "approve or refuse, and why: "
_WORDS = {
    **dict.fromkeys(("approve", "approved", "a", "yes", "y"), "approve"),
    **dict.fromkeys(("refuse", "refused", "r", "no", "n"), "refuse"),
}


def verdict_in(line: str) -> tuple[str, str] | None:
    """Verdict and reason in a typed line; None if the verdict is not clear.

    Examples
    --------
    >>> verdict_in("y looks right"), verdict_in("refuse"), verdict_in("perhaps")
    (('approve', 'looks right'), ('refuse', ''), None)
    """
    word, _, rest = line.strip().partition(" ")
    verdict = _WORDS.get(word.lower().rstrip(",.:;"))
    return None if verdict is None else (verdict, rest.strip())


def can_prompt() -> bool:
    """True if somebody can type here: at a terminal, in the main thread."""
    is_main = threading.current_thread() is threading.main_thread()
    # Windows' select() knows no terminals: there a blocking read would hide other answers.
    return is_main and sys.platform != "win32" and sys.stdin is not None and sys.stdin.isatty()


class Prompt:
    """A question with a line to type the answer on."""

    def __init__(self, desk: Desk, question: Question) -> None:
        self._desk = desk
        self._question = question
        self._can_type = True
        about = "".join(f"\n  {line}" for line in question.preview.splitlines())
        elsewhere = command(question, desk.session.store.path)
        _say(f"{question.question}{about}\n  or elsewhere: {elsewhere}\n{PROMPT}")

    def wait(self, came: threading.Event, seconds: float) -> None:
        """Return after so many seconds, or when a line was typed."""
        if not self._can_type:
            came.wait(seconds)
            return
        if not select.select([sys.stdin], [], [], seconds)[0]:
            return
        line = sys.stdin.readline()
        if not line:  # Ctrl-D: other doors stay open
            self._can_type = False
            _say("\n")
            return
        said = verdict_in(line)
        if said is None:
            _say(PROMPT)
            return
        try:
            self._desk.answer(self._question.id, said[0], said[1], through="prompt")
        except NbckptError as problem:  # somebody else was quicker, or the disk refuses
            _say(f"{problem}\n")

    def end(self, question: Question) -> None:
        """Say what came from elsewhere."""
        if question.state != "waiting" and question.through != "prompt":
            _say(f"\n{outcome_text(question)}\n")


def _say(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(text)
    sys.stderr.flush()
