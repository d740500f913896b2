"""The magics: each parses its line, calls one method, shows the answer."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import wraps
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class

from nbckpt import report
from nbckpt.errors import NbckptError, UsageError
from nbckpt.jupyter import autos, notices
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.idling import Idling
from nbckpt.moves import Moved

WIDTH = 110
"""Characters that an output area has room for."""
NEWEST = 100
"""Checkpoints that a log shows where nobody asked for more."""


def _told(magic: Callable[..., Any]) -> Callable[..., Any]:
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
    """`%checkpoint`, `%%checkpoint`, `%rewind`, `%resume` and `%nbckpt`."""

    def __init__(self, shell: InteractiveShell, cells: Cells, idling: Idling) -> None:
        super().__init__(shell)
        self._idling = idling
        self._cells = cells
        self._session = cells.session

    @line_cell_magic
    @_told
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
        text = f"checkpoint {checkpoint.name!r}: {report.summary_of(checkpoint)}"
        notices.say(self._cells.shell, text, checkpoint=checkpoint.id)

    @line_magic
    @_told
    def rewind(self, line: str) -> None:
        """Make the namespace that of a checkpoint: ``%rewind REF``; ``%rewind -`` undoes it."""
        self._show(self._session.rewind(_one(line, "%rewind REF")), "rewound to")

    @line_magic
    @_told
    def resume(self, line: str) -> None:
        """Bring back the newest checkpoint: ``%resume [BRANCH]``, after a restart."""
        branch = _one(line, "%resume [BRANCH]") if line.strip() else None
        self._show(self._session.resume(branch), "resumed at")

    @line_magic
    @_told
    def nbckpt(self, line: str) -> Any:
        """Look and set: ``%nbckpt auto|log|show|status|why|sql|check …``."""
        word, _, rest = line.strip().partition(" ")
        commands: dict[str, Callable[[str], Any]] = {
            "auto": self._auto,
            "log": self._log,
            "show": self._show_checkpoint,
            "status": self._status,
            "why": self._why,
            "sql": self._sql,
            "check": self._check,
        }
        if word not in commands:
            known = " · ".join(commands)
            message = f"%nbckpt {word}: there is no such command; there are {known}"
            raise UsageError(message if word else f"%nbckpt takes one of {known}")
        return commands[word](rest.strip())

    def _auto(self, line: str) -> None:
        autos.obey(self._cells, line)

    def _log(self, line: str) -> None:
        words, limit = _limited(_words(line))
        everywhere = not {"--all", "-a"}.isdisjoint(words)
        branches = [word for word in words if word not in ("--all", "-a")]
        if len(branches) + everywhere > 1:
            message = f"%nbckpt log {line}: it is `%nbckpt log [BRANCH | --all] [-n N]`"
            raise UsageError(message)
        self._session.refresh()
        branch = None if everywhere else next(iter(branches), self._session.branch)
        here, writing = self._session.position, self._session.writing.unfinished
        timeline = self._session.timeline
        print(report.log_text(timeline, branch, here, limit=limit, writing=writing, width=WIDTH))

    def _show_checkpoint(self, line: str) -> None:
        checkpoint = self._session.get(_one(line, "%nbckpt show REF"))
        print(report.show_text(self._session.timeline, checkpoint))

    def _status(self, _: str) -> None:
        session = self._session
        session.refresh()
        print(report.status_text(session.store, session.timeline, session.branch, session.position))
        print(autos.status_text(session, self._cells.auto))
        print(f"durable     {session.writing.text() or 'all that was kept'}")
        if left_out := self._idling.verifier.left_out:
            names = ", ".join(left_out)
            print(f"not watched {names}: slow or restless; `%nbckpt check --memory` looks at all")

    def _why(self, line: str) -> None:
        name = _one(line, "%nbckpt why NAME") if line else None
        step = self._session.steps.get(name) if name else self._cells.latest
        if step is None:
            if name is not None:
                self._session.get(name)  # says so if there is no such checkpoint either
            message = (
                f"{name or 'no cell'!r} has not run since the kernel started: run its cell first"
            )
            raise UsageError(message)
        print(_why_text(step))

    def _sql(self, line: str) -> Any:
        query = line[1:-1] if line[:1] in "\"'" and line[-1:] == line[:1] else line
        if not query:
            message = '%nbckpt sql "select name, duration_s from checkpoints"'
            raise UsageError(message)
        return self._session.sql(query)

    def _check(self, line: str) -> None:
        if line == "--memory":
            self._check_memory()
            return
        if line:
            message = f"%nbckpt check {line}: it is `%nbckpt check [--memory]`"
            raise UsageError(message)
        self._session.wait()
        print(report.check_text(self._session.store.check()))

    def _check_memory(self) -> None:
        kept = self._idling.verify()
        if kept is None:
            print("all that is kept is as it was kept")
            return
        names = ", ".join([*report.user_names(kept.changed), *(f"-{n}" for n in kept.removed)])
        print(f"changed by something other than a cell, kept now as {kept.name!r}: {names}")

    def _show(self, moved: Moved, did: str) -> None:
        for text in _moved_lines(moved, did):
            notices.say(self._cells.shell, text, checkpoint=moved.checkpoint.id)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        message = f"{line!r} cannot be read: {error}"
        raise UsageError(message) from error


def _limited(words: list[str]) -> tuple[list[str], int]:
    """What was typed without ``-n N``, and `N`."""
    if "-n" not in words:
        return words, NEWEST
    at = words.index("-n")
    number = words[at + 1] if at + 1 < len(words) else ""
    if not number.isdecimal() or int(number) < 1:
        message = f"-n {number}: give the number of checkpoints to show, 1 or more"
        raise UsageError(message)
    return [*words[:at], *words[at + 2 :]], int(number)


def _one(line: str, usage: str) -> str:
    words = _words(line)
    if len(words) != 1:
        message = f"{line!r}: write `{usage}`; `%nbckpt log` lists the checkpoints"
        raise UsageError(message)
    return words[0]


def _moved_lines(moved: Moved, did: str) -> list[str]:
    name, took = moved.checkpoint.name, report.duration_text(moved.took_s)
    parts = [f"{len(moved.came_back)} variables restored in {took}"]
    if moved.unchanged:
        parts.append(f"{len(moved.unchanged)} were the same")
    if moved.removed:
        parts.append(f"gone: {', '.join(moved.removed)}")
    lines = [f"{did} {name!r}: {'; '.join(parts)}"]
    lines += [f"not restored: {refusal}" for refusal in moved.failed]
    if moved.left:
        refused = {r.variable: r for r in moved.checkpoint.refused}
        left_out = [name for name in moved.left if name not in refused]
        texts = [str(refused[name]) for name in moved.left if name in refused]
        texts += [f"{', '.join(left_out)} (left out by --vars or --exclude)"] * bool(left_out)
        lines += [f"not kept there, and left as it is: {text}" for text in texts]
    return lines


def _why_text(step: Any) -> str:
    from nbckpt.matching import why_not_restored

    name = step.request.name
    if step.restored is not None:
        return f"{name!r} was restored: its code and all that it reads are as they were"
    reasons = step.why or why_not_restored(step.session, name, step.key)
    if step.request.rerun:
        reasons = ("it was asked to run anyway", *reasons)
    return f"{name!r} ran, because:\n" + "\n".join(f"  - {reason}" for reason in reasons)
