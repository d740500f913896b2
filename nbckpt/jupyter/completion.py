"""Tab after a magic: checkpoints, branches, variables, and the words that can stand there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)
from IPython.core.interactiveshell import InteractiveShell

from nbckpt.errors import NbckptError
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_state import StepState
from nbckpt.text.escape import on_a_line
from nbckpt.timeline.approvals import APPROVAL, VERDICTS, Questions

MOST = 300
"""Checkpoints whose names are offered, the newest ones."""
SHORTEST_ID = 2

_LINE = re.compile(r"\s*%{1,2}(?P<magic>\w+)\s+(?P<rest>.*)", re.DOTALL)
_CHECKPOINT_OPTIONS = ("--vars", "--exclude", "--deps", "--tag", "--note", "--rerun", "--sync")
_PRUNE_OPTIONS = (
    "--keep-last", "--keep-days", "--keep-tagged", "--no-keep-tagged", "--max-size", "--drop",
    "--dry-run",
)  # fmt: skip
_AUTO = ("on", "off", "skip", "cost", "every", "event", "--sync", "--rerun")


class Typed(NamedTuple):
    """Words before the cursor, after the magic's name.

    Attributes
    ----------
    before
        The finished words.
    fragment
        The beginning of the one that is to be completed.
    """

    before: tuple[str, ...]
    fragment: str

    @property
    def last(self) -> str:
        """The word before; empty if there is none."""
        return self.before[-1] if self.before else ""

    def without_first(self) -> Typed:
        """The same, behind the first word."""
        return Typed(self.before[1:], self.fragment)


class Completion:
    """Completions after the magics of one shell.

    Parameters
    ----------
    commands
        The words of `%nbckpt`.
    """

    def __init__(self, shell: InteractiveShell, session: Session, commands: Sequence[str]) -> None:
        self._shell = shell
        self._session = session
        self._magics: dict[str, Callable[[Typed], Iterable[str]]] = {
            "rewind": lambda typed: self._first(typed, self._refs()),
            "fork": self._fork,
            "switch": lambda typed: self._first(typed, self._branches()),
            "resume": lambda typed: self._first(typed, self._branches(), "--fallback"),
            "rerun": lambda typed: self._first(typed, self._refs(), "--fresh", "--all"),
            "checkpoint": self._checkpoint,
            "nbckpt": self._nbckpt,
        }
        refs = self._refs
        self._commands: dict[str, Callable[[Typed], Iterable[str]]] = {
            **{word: lambda _: () for word in commands},
            "log": lambda typed: self._first(typed, self._branches(), "--all", "-n"),
            "show": lambda typed: self._first(typed, refs()),
            "diff": lambda typed: refs() if len(typed.before) < 2 else (),
            "why": lambda typed: self._first(typed, session.state(StepState).latest),
            "note": lambda typed: self._first(typed, refs()),
            "tag": lambda typed: [*self._tags(), "--delete"] if typed.before else refs(),
            "update": self._update,
            "auto": lambda _: _AUTO,
            "record": lambda _: ("on", "off"),
            "budget": lambda _: ("off",),
            "cost": lambda _: ("--recompute",),
            "config": lambda typed: self._first(typed, _settings()),
            "check": lambda _: ("--memory",),
            "approvals": lambda _: ("--waiting",),
            "trust": lambda _: ("--show",),
            "export": lambda typed: self._first(typed, refs(), "--portable"),
            "answer": self._answer,
            "prune": lambda t: self._branches() if t.last == "--drop" else _PRUNE_OPTIONS,
        }

    def attach(self) -> None:
        """Be asked by the shell at each Tab."""
        self._shell.Completer.custom_matchers.append(self.match)

    def detach(self) -> None:
        """Be asked no more."""
        if self.match in self._shell.Completer.custom_matchers:
            self._shell.Completer.custom_matchers.remove(self.match)

    @context_matcher(identifier="nbckpt", priority=200)  # type: ignore[untyped-decorator,unused-ignore]
    def match(self, context: CompletionContext) -> SimpleMatcherResult:
        """Completions that fit at the cursor; none where the line is not one of ours."""
        fragment, texts = self.completions(context.text_until_cursor)
        found = [SimpleCompletion(text=text, type="nbckpt") for text in texts]
        return {
            "completions": found,
            "matched_fragment": fragment,
            "ordered": True,
            # Files and Python names stay out of the list where something of ours fits.
            "suppress": bool(found),
        }

    def completions(self, text: str) -> tuple[str, list[str]]:
        """Fragment at the end of a line's beginning, and the texts that may complete it."""
        found = _LINE.fullmatch(text)
        if found is None or found["magic"] not in self._magics:
            return "", []
        *before, fragment = re.split(r"\s+", found["rest"])
        typed = Typed(tuple(word for word in before if word), fragment)
        try:
            offered = self._magics[found["magic"]](typed)
        except NbckptError:  # a checkpoint that is not there: the magic will say so
            return fragment, []
        listed = found["magic"] == "checkpoint" and typed.last in ("--vars", "--exclude")
        start = fragment.rpartition(",")[2] if listed else fragment
        is_option = start.startswith("-")
        fitting = [
            text
            for text in dict.fromkeys(offered)
            if text.startswith(start)
            and (is_option or start or not text.startswith("--"))
            and on_a_line(text) == text  # what is typed here is run: no name begins a line
        ]
        return start, [
            *fitting,
            *(self._ids(start) if self._takes_ref(found["magic"], typed) else ()),
        ]

    # -- what can stand where -------------------------------------------------------------------

    def _first(self, typed: Typed, words: Iterable[str], *options: str) -> list[str]:
        """One word, and options before or behind it."""
        taken = any(not word.startswith("--") for word in typed.before)
        return [*(() if taken else words), *options]

    def _fork(self, typed: Typed) -> Iterable[str]:
        if not typed.before:
            return self._refs()
        return () if "=" in typed.fragment else self._assignable(typed.before[0])

    def _update(self, typed: Typed) -> Iterable[str]:
        if not typed.before:
            return self._refs()
        if typed.last == "--as":
            return self._session.timeline.names("done")
        return () if "=" in typed.fragment else [*self._assignable(typed.before[0]), "--as"]

    def _answer(self, typed: Typed) -> Iterable[str]:
        if not typed.before:
            return [q.id for q in Questions(self._session.store.records(APPROVAL)).waiting]
        return VERDICTS if len(typed.before) == 1 else ()

    def _checkpoint(self, typed: Typed) -> Iterable[str]:
        if typed.last in ("--vars", "--exclude"):
            return sorted(self._session.workspace.tracker.user_names())
        if typed.last in ("--deps", "--note"):
            return ()
        if typed.last == "--tag":
            return self._tags()
        return self._first(typed, self._names(), *_CHECKPOINT_OPTIONS)

    def _nbckpt(self, typed: Typed) -> Iterable[str]:
        if not typed.before:
            return self._commands
        command = self._commands.get(typed.before[0])
        return command(typed.without_first()) if command else ()

    def _takes_ref(self, magic: str, typed: Typed) -> bool:
        if magic == "nbckpt" and typed.before:
            places = {"show": 1, "export": 1, "note": 1, "tag": 1, "update": 1, "diff": 2}
            return len(typed.before) <= places.get(typed.before[0], 0)
        return magic in ("rewind", "fork", "rerun") and not typed.before

    # -- what there is --------------------------------------------------------------------------

    def _refs(self) -> list[str]:
        """Names on this branch, newest first, then branches and tags."""
        return [*self._names(), *self._branches(), *self._tags()]

    def _names(self) -> list[str]:
        session = self._session
        line = session.timeline.line(
            session.position.id or session.timeline.tip(session.position.branch)
        )
        return [session.timeline.checkpoints[i].name for i in line[:MOST]]

    def _branches(self) -> list[str]:
        return list(self._session.timeline.branches)

    def _tags(self) -> list[str]:
        return self._session.timeline.tags()

    def _ids(self, start: str) -> list[str]:
        if len(start) < SHORTEST_ID:
            return []
        return [i[:8] for i in self._session.timeline.newest_first() if i.startswith(start)][:MOST]

    def _assignable(self, ref: str) -> list[str]:
        """The variables of a checkpoint, as the beginnings of assignments."""
        s = self._session
        checkpoint = s.position.resolve(ref)
        from nbckpt.reports import user_names

        return [f"{name}=" for name in user_names(s.timeline.manifest(checkpoint.id))]


def _settings() -> Sequence[str]:
    from nbckpt.config.setting_kinds import NAMES

    return NAMES
