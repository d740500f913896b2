"""Runs a program with nbckpt and beside it in plain IPython, and tells the first difference."""

from __future__ import annotations

import itertools
import os
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nbckpt.jupyter import shell as extension
from nbckpt.steps import current_session
from tests.random_programs.fingerprint import differences, fingerprint
from tests.random_programs.oracle import Kernel, Oracle, Ran, make_shell, told_lost, words_of
from tests.random_programs.programs import Action, Program, Source


class Failure(NamedTuple):
    """Where nbckpt and plain IPython differ.

    Attributes
    ----------
    kind
        ``value``, ``lost`` (without a word), ``output``, ``error`` or ``defect``.
    told
        What differs.
    after
        The action, as text.
    """

    kind: str
    told: str
    after: str

    def __str__(self) -> str:
        return f"{self.kind} after {self.after}:\n{self.told}"


class Refused(Exception):
    """Ends a program: what follows needs what was told to be lost."""


class Wrong(Exception):
    """Carries the first failure out of a program."""


@dataclass
class Moment:
    """A kept moment: the id of its checkpoint, and the cells that led to it."""

    checkpoint: str
    history: tuple[str, ...]


@dataclass
class World:
    """Two kernels, which live longer than a program.

    Parameters
    ----------
    folder
        Where stores are made, one for each program.
    """

    folder: Path
    kept: Kernel = field(init=False)
    plain: Kernel = field(init=False)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.kept = Kernel(make_shell(is_first=True))
        self.plain = Kernel(make_shell(is_first=False))

    def failure_of(self, program: Program) -> Failure | None:
        """What goes wrong first; None if all is well."""
        store = self.folder / f"store-{next(self._numbers)}"
        os.environ["NBCKPT_STORE"] = str(store)
        run = _Run(self, program)
        try:
            with (
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("ignore")
                run.all_actions()
        except Refused:
            return None
        except Wrong as wrong:
            failure: Failure = wrong.args[0]
            return failure
        finally:
            run.end()
            shutil.rmtree(store, ignore_errors=True)
        return None


class _Run:
    """One program on its way."""

    def __init__(self, world: World, program: Program) -> None:
        self.program = program
        self.kept = world.kept
        self.oracle = Oracle(world.plain)
        self.cells = list(program.cells)
        self.moments: list[Moment] = []
        self.before: tuple[str, ...] | None = None
        self.kept_last: tuple[str, ...] | None = None  # what a kill leaves, where that is known
        self.said = ""
        self._forks = 0
        self.now = "the beginning"

    def all_actions(self) -> None:
        self._begin()
        for action in self.program.actions:
            self.now = str(action)
            getattr(self, f"_{action.verb}")(action)

    def end(self) -> None:
        if getattr(self.kept.shell, "_nbckpt_extension", None) is not None:
            with self.kept.current():
                self._tell(lambda: extension.unload(self.kept.shell))

    # -- the kernel's life

    def _begin(self) -> None:
        self.kept.begin()
        self.oracle.begin()
        with self.kept.current(), self.kept.shell.builtin_trap:  # as in the cell that loads it
            self._tell(lambda: extension.load(self.kept.shell))
        if self.program.mode != "marked":
            self._quiet(f"%nbckpt auto {self.program.mode}")
        self.before = None

    def _restart(self, _: Action) -> None:
        if self.kept_last != self.oracle.history:
            self.kept_last = None  # of a cell that failed, what it changed may be kept at the end
        self.end()
        self._begin()

    def _kill(self, _: Action) -> None:
        """End the session without a word, as a kill does."""
        told, extension.end = extension.end, lambda session: session.wait()
        try:
            self.end()
        finally:
            extension.end = told
        self._begin()

    def _resume(self, _: Action) -> None:
        session = current_session.session()
        head = session.timeline.head(session.position.branch)
        history = None if head is None else self._history_of(head.id)
        # Variables of cells that ran before a resume stay: those are a mix of the user's own.
        if self.oracle.history:
            return
        left = self.kept_last
        if left and (history is None or not self._leads_to(left, history)):
            history = left
        if history is None:
            return
        self._quiet("%resume")
        self._expect_history(history)

    def _leads_to(self, left: tuple[str, ...], history: tuple[str, ...]) -> bool:
        """Whether a finished notebook was restored up to some cell: a resume goes to its end."""
        if history[: len(left)] == left:
            return True
        there = self._made_by(left)
        return any(self._made_by(history[:n]) == there for n in range(1, len(history)))

    def _made_by(self, history: tuple[str, ...]) -> Any:
        self.oracle.begin(history)
        return fingerprint(self.oracle.namespace)

    # -- cells

    def _all(self, _: Action) -> None:
        for index in range(len(self.cells)):
            self._run_cell(index)

    def _run(self, action: Action) -> None:
        if action.at < len(self.cells):
            self._run_cell(action.at)

    def _edit(self, action: Action) -> None:
        if action.at < len(self.cells) and action.source is not None:
            self.cells[action.at] = action.source

    def _run_cell(self, index: int) -> None:
        source = self.cells[index]
        got = self.kept.run(self._typed(source, index), cell_id=f"cell-{index}")
        self._note(got)
        lost = {n for n in self._lost() if not n.startswith("_")}
        wanted = self.oracle.run(source.text())
        self.now = f"{self.now.partition(' [')[0]} [cell {index}]"
        if (got.error, got.printed) != (wanted.error, wanted.printed) and lost & words_of(
            source.text(), got.error
        ):
            raise Refused
        if got.error != wanted.error:
            self._wrong("error", f"{got.error or 'no error'} instead of {wanted.error or 'none'}")
        if got.printed != wanted.printed:
            self._wrong("output", f"printed {got.printed!r} instead of {wanted.printed!r}")
        self._compare()
        self._keep_moment()
        if not wanted.error and self.program.mode != "marked":
            self.kept_last = self.oracle.history

    def _typed(self, source: Source, index: int) -> str:
        if self.program.mode == "marked" and source.is_marked:
            return f"%%checkpoint c{index}\n{source.text()}"
        return source.text()

    # -- going back

    def _rewind(self, action: Action) -> None:
        if not self.moments:
            return
        moment = self.moments[-1 - action.at % len(self.moments)]
        before = self.oracle.history
        self._quiet(f"%rewind {moment.checkpoint}")
        self._moved(before)
        self._expect_history(moment.history)

    def _back(self, _: Action) -> None:
        if self.before is None or current_session.session().position.before is None:
            return
        before, now = self.before, self.oracle.history
        self._quiet("%rewind -")
        self._moved(now)
        self._expect_history(before)

    def _fork(self, action: Action) -> None:
        if not self.moments:
            return
        moment = self.moments[-1 - action.at % len(self.moments)]
        before = self.oracle.history
        self._forks += 1
        name = f"fork-{self._forks}"
        self._quiet(f"%fork {moment.checkpoint} {name} {action.given}")
        self._moved(before)
        cells = (action.given.replace("=", " = ", 1),) if action.given else ()
        self._expect_history((*moment.history, *cells))
        self._keep_moment()

    def _moved(self, before: tuple[str, ...]) -> None:
        """Take note of where `-` leads."""
        self.before = before
        checkpoint = current_session.session().position.before
        if checkpoint is not None and self._history_of(checkpoint) is None:
            self.moments.append(Moment(checkpoint, before))

    def _expect_history(self, history: tuple[str, ...]) -> None:
        self.oracle.begin(history)
        self._compare()
        self.kept_last = history

    # -- what both have

    def _keep_moment(self) -> None:
        position = current_session.session().position.id
        if position is not None and self._history_of(position) is None:
            self.moments.append(Moment(position, self.oracle.history))

    def _history_of(self, checkpoint: str) -> tuple[str, ...] | None:
        found = (m.history for m in self.moments if m.checkpoint == checkpoint)
        return next(found, None)

    def _compare(self) -> None:
        lost = {n for n in self._lost() if not n.startswith("_")}
        if unsaid := lost - told_lost(lost, self.said):
            self._wrong("lost", f"{', '.join(sorted(unsaid))} without a word")
        got = fingerprint(self.kept.namespace)
        wanted = fingerprint(self.oracle.namespace, but=lost)
        if different := differences(got, wanted):
            self._wrong("value", "\n".join(f"{n}: {told}" for n, told in different.items()))

    def _lost(self) -> set[str]:
        """Names that could not be kept, and have not been made again."""
        return self.oracle.namespace.keys() - self.kept.namespace.keys()

    # -- what nbckpt says

    def _quiet(self, line: str) -> None:
        ran = self.kept.run(line)
        self._note(ran)
        if ran.error:
            self._wrong("error", f"{line}: {ran.error}")

    def _note(self, ran: Ran) -> None:
        self.said += ran.said
        if "by a defect in nbckpt" in ran.said:
            self._wrong("defect", ran.said[-2000:])

    def _tell(self, act: Any) -> None:
        import io
        from contextlib import redirect_stderr, redirect_stdout

        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(out):
            act()
        self.said += out.getvalue()

    def _wrong(self, kind: str, told: str) -> None:
        raise Wrong(Failure(kind, told, self.now))
