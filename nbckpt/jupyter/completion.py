"""Tab after a magic: checkpoints, branches, variables, and the words that can stand there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.errors import NbckptError
from nbckpt.jupyter.magics import words
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_state import StepState
from nbckpt.text.escape import on_a_line
from nbckpt.verbs.arguments import (
    BRANCH,
    CELL,
    CHECKPOINT,
    LATEST,
    QUESTION,
    SETTING,
    STEP,
    TAG,
    VALUE,
    VARIABLE,
    Argument,
    Door,
)
from nbckpt.verbs.registry import VERBS, Verb

MOST = 300
"""Checkpoints whose names are offered, the newest ones."""
SHORTEST_ID = 2

_LINE = re.compile(r"\s*%{1,2}(?P<magic>\w+)\s+(?P<rest>.*)", re.DOTALL)


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


class Completion:
    """Completions after the magics of one shell, from the declarations of the verbs."""

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        self._shell = shell
        self._session = session
        self._matchers, self._matcher = _place_and_matcher(shell.Completer, self.completions)
        self._named: dict[str, Callable[[], Iterable[str]]] = {
            CHECKPOINT: self._refs,
            BRANCH: self._branches,
            TAG: self._tags,
            STEP: lambda: session.timeline.names("done"),
            CELL: self._names,
            VARIABLE: lambda: sorted(session.workspace.tracker.user_names()),
            SETTING: _settings,
            QUESTION: self._questions,
            LATEST: lambda: session.state(StepState).latest,
        }

    def attach(self) -> None:
        """Be asked by the shell at each Tab."""
        self._matchers.append(self._matcher)

    def detach(self) -> None:
        """Be asked no more."""
        if self._matcher in self._matchers:
            self._matchers.remove(self._matcher)

    def completions(self, text: str) -> tuple[str, list[str]]:
        """Fragment at the end of a line's beginning, and the texts that may complete it."""
        found = _LINE.fullmatch(text)
        if found is None:
            return "", []
        *before, fragment = re.split(r"\s+", found["rest"])
        typed = Typed(tuple(word for word in before if word), fragment)
        if found["magic"] == "nbckpt" and not typed.before:
            return fragment, [word for word in words() if word.startswith(fragment)]
        verb, typed = _verb_of(found["magic"], typed)
        if verb is None:
            return "", []
        slots = _slots(verb, typed)
        try:
            offered = [text for slot in slots for text in self._offered(slot, typed)]
        except NbckptError:  # a checkpoint that is not there: the magic will say so
            return fragment, []
        listed = any(slot.names == VARIABLE for slot in slots)
        start = fragment.rpartition(",")[2] if listed else fragment
        is_option = start.startswith("-")
        fitting = [
            text
            for text in dict.fromkeys(offered)
            if text.startswith(start)
            and (is_option or start or not text.startswith("--"))
            and on_a_line(text) == text  # what is typed here is run: no name begins a line
        ]
        takes_ref = any(slot.names == CHECKPOINT for slot in slots)
        return start, [*fitting, *(self._ids(start) if takes_ref else ())]

    def _offered(self, slot: Argument, typed: Typed) -> Iterable[str]:
        """Texts that can stand for one argument."""
        if slot.is_option and not _is_value_of(slot, typed):
            return [text for text in slot.texts if text.startswith("--")] or slot.flags
        if isinstance(slot.names, tuple):
            return slot.names
        if slot.names == VALUE:
            return self._assignable(typed.before[0])
        return self._named[slot.names]()

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

    def _questions(self) -> list[str]:
        from nbckpt.timeline.approvals import APPROVAL, Questions

        return [q.id for q in Questions(self._session.store.records(APPROVAL)).waiting]

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
        from nbckpt.session.history.summaries import user_names

        return [f"{name}=" for name in user_names(s.timeline.manifest(checkpoint.id))]


def _place_and_matcher(
    completer: Any, completions: Callable[[str], tuple[str, list[str]]]
) -> tuple[list[Any], Any]:
    """The list of functions that a completer asks, and one for it that tells what fits."""
    try:
        from IPython.core.completer import SimpleCompletion, context_matcher
    except ImportError:  # before IPython 8.6
        return completer.magic_arg_matchers, _matcher_of_lines(completer, completions)

    @context_matcher(identifier="nbckpt", priority=200)  # type: ignore[untyped-decorator,unused-ignore]
    def match(context: Any) -> dict[str, Any]:
        fragment, texts = completions(context.text_until_cursor)
        found = [SimpleCompletion(text=text, type="nbckpt") for text in texts]
        return {
            "completions": found,
            "matched_fragment": fragment,
            "ordered": True,
            # Files and Python names stay out of the list where something of ours fits.
            "suppress": bool(found),
        }

    return completer.custom_matchers, match


def _matcher_of_lines(
    completer: Any, completions: Callable[[str], tuple[str, list[str]]]
) -> Callable[[str], list[str]]:
    """A function that tells what may stand for a line's last word, as the completer splits it."""

    def match(_: str) -> list[str]:
        line = completer.text_until_cursor
        word = completer.splitter.split_line(line)
        fragment, texts = completions(line)
        if not fragment.endswith(word):
            return []
        before = len(fragment) - len(word)
        return [text[before:] for text in texts]

    return match


def _settings() -> Iterable[str]:
    from nbckpt.config.setting_kinds import NAMES

    return NAMES


def _verb_of(magic: str, typed: Typed) -> tuple[Verb | None, Typed]:
    """The verb that a line calls, and what is typed behind its name."""
    word = magic
    if is_word := magic == "nbckpt":
        word, typed = typed.before[0], Typed(typed.before[1:], typed.fragment)
    verb = VERBS.get(word)
    is_there = verb is not None and Door.NOTEBOOK in verb.doors and verb.is_magic != is_word
    return (verb if is_there else None), typed


def _slots(verb: Verb, typed: Typed) -> list[Argument]:
    """The arguments that can stand at the cursor: positional ones first, then options."""
    own = verb.arguments_of(Door.NOTEBOOK)
    options = [a for a in own if a.is_option and not a.is_hidden]
    if value := next((a for a in options if _is_value_of(a, typed)), None):
        return [value]
    if "=" in typed.fragment and any(a.names == VALUE for a in own):
        return []  # an expression is Python's
    taking = {flag for option in options if not option.is_flag for flag in option.flags}
    given = zip(typed.before, ("", *typed.before), strict=False)
    n_given = sum(not word.startswith("--") and last not in taking for word, last in given)
    slots = []
    for n, positional in enumerate(a for a in own if not a.is_option):
        if n < n_given and not positional.takes_several:
            continue
        slots.append(positional)
        if positional.how.get("nargs") != "?":
            break
    return [*slots, *options]


def _is_value_of(option: Argument, typed: Typed) -> bool:
    """True if the word at the cursor is the value of an option."""
    return (
        option.is_option
        and not option.is_flag
        and typed.before[-1:] != ()
        and (typed.before[-1] in option.flags)
    )
