"""The magics: each parses its line, calls one method, shows the answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import (
    Magics,
    line_cell_magic,
    line_magic,
    magics_class,
    no_var_expand,
)

from nbckpt import reports
from nbckpt.errors import NbckptError, UsageError
from nbckpt.jupyter import notices
from nbckpt.jupyter.awaited import AWAITED
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.idling import Idling
from nbckpt.jupyter.magics import lines
from nbckpt.jupyter.magics.commands import Commands
from nbckpt.session.moves.move_result import MoveResult

FORK = "%fork REF [BRANCH] [name=expression …]"


def _without_traceback(magic: Callable[..., Any]) -> Callable[..., Any]:
    """`magic`, whose errors reach the user as one line and not as a traceback."""

    @wraps(magic)
    def call(*args: Any) -> Any:
        try:
            return magic(*args)
        except NbckptError as problem:
            problem.__traceback__ = None
            raise problem from None

    return call


@magics_class
class CheckpointMagics(Magics):
    """`%checkpoint`, `%%checkpoint`, the moves in the history, `%timeline` and `%nbckpt`."""

    def __init__(self, shell: InteractiveShell, cells: Cells, idling: Idling) -> None:
        super().__init__(shell)
        self._cells = cells
        self._session = cells.session
        self._commands = Commands(cells, idling)

    @property
    def commands(self) -> tuple[str, ...]:
        """The words of `%nbckpt`."""
        return self._commands.words

    @line_cell_magic
    @_without_traceback
    def checkpoint(self, line: str, cell: str | None = None) -> None:
        """Restore this cell if nothing that it reads has changed, else run and checkpoint it.

        ``%%checkpoint [NAME] [--vars a,b] [--exclude x] [--deps FILE,…] [--tag T] [--note TEXT]
        [--rerun] [--sync]`` above a cell; ``%checkpoint NAME`` keeps what is there now.
        """
        if cell is not None:
            self._cells.run_marked(line, cell)
            return
        from nbckpt.jupyter import options

        request = options.parse(line, default_name=None)
        checkpoint = self._session.checkpoint(
            request.name,
            vars=request.selection.vars,
            exclude=request.selection.exclude,
            tags=request.tags,
            note=request.note,
            sync=request.sync,
        )
        text = f"checkpoint {checkpoint.name!r}: {reports.summary_of(checkpoint)}"
        notices.say(self._cells.shell, text, checkpoint=checkpoint.id)

    @line_magic
    @_without_traceback
    def rewind(self, line: str) -> None:
        """Make the namespace that of a checkpoint: ``%rewind REF``; ``%rewind -`` undoes it."""
        self._show(self._session.rewind(lines.one(line, "%rewind REF")), "rewound to")

    @line_magic
    @no_var_expand  # {1: 2} is a dict here
    @_without_traceback
    def fork(self, line: str) -> None:
        """Branch off at a checkpoint: ``%fork REF [BRANCH] [name=expression …]``.

        The expressions are evaluated with the variables of that checkpoint, one after the other:
        ``%fork train wide depth=2*depth features=["a", "b"]`` goes on there with other values.
        """
        from nbckpt.config import assignments

        typed = assignments.parsed(line, FORK)
        words = [lines.expanded(self._cells.shell, word) for word in typed.words]
        if not words:
            message = f"where from? write `{FORK}`; `%nbckpt log` lists the checkpoints"
            raise UsageError(message)
        if len(words) > 2:
            assignments.refuse_word(words[2], FORK)
        branch = words[1] if len(words) > 1 else None
        moved = self._session.fork(words[0], branch, expressions=typed.expressions)
        given = f", with {', '.join(typed.expressions)}" if typed.expressions else ""
        self._show(moved, f"on new branch {self._session.position.branch!r}{given}, forked at")

    @line_magic
    @_without_traceback
    def switch(self, line: str) -> None:
        """Go to the head of a branch: ``%switch BRANCH``; `%rewind -` goes back."""
        moved = self._session.switch(lines.one(line, "%switch BRANCH"))
        self._show(moved, f"on branch {self._session.position.branch!r}, at")

    @line_magic
    @_without_traceback
    def resume(self, line: str) -> None:
        """Bring back the newest checkpoint, after a restart: ``%resume [BRANCH] [--fallback]``.

        ``--fallback`` takes the newest one that is whole, if the head is damaged.
        """
        usage = "%resume [BRANCH] [--fallback]"
        words, given = lines.parted(line, usage, 0, 1, ("--fallback",))
        branch = words[0] if words else None
        self._show(self._session.resume(branch, fallback=bool(given)), "resumed at")

    @line_magic
    @_without_traceback
    def rerun(self, line: str) -> Any:
        """Run the recorded cells after a checkpoint again: ``%rerun [REF] [--fresh] [--all]``.

        What the change cannot have reached is restored, unless ``--all``. Model calls that are the
        same are replayed, unless ``--fresh``. By default REF is where the notebook is now.
        """
        usage = "%rerun [REF] [--fresh] [--all]"
        words, given = lines.parted(line, usage, 0, 1, ("--fresh", "--all", AWAITED))
        from nbckpt.jupyter import rerunning

        return rerunning.magic(
            self._cells,
            words[0] if words else None,
            fresh="--fresh" in given,
            everything="--all" in given,
            awaits=AWAITED in given,
        )

    @line_magic
    @_without_traceback
    def timeline(self, line: str) -> None:
        """Show the history as a graph to look at and to move in: ``%timeline``."""
        if line.strip():
            message = (
                f"%timeline {line}: write `%timeline`; `%nbckpt log --all` is the same as text"
            )
            raise UsageError(message)
        from nbckpt.jupyter.magics.drawing import show

        show(self._cells)

    @line_magic
    @no_var_expand  # `update` has expressions; all else is expanded by itself
    @_without_traceback
    def nbckpt(self, line: str) -> Any:
        """Look and set: ``%nbckpt log|show|diff|tag|note|update|prune|config|auto|…``."""
        return self._commands.run(line)

    def _show(self, moved: MoveResult, did: str) -> None:
        for text in reports.moved_lines(moved, did, self._session.notebook):
            notices.say(self._cells.shell, text, checkpoint=moved.checkpoint.id)
