"""The magics, made from the declarations of `nbckpt.verbs`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand

from nbckpt.errors import NbckptError, UsageError
from nbckpt.jupyter import notices
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.idling import Idling
from nbckpt.jupyter.notebook_verbs import NotebookCall
from nbckpt.verbs.arguments import Door
from nbckpt.verbs.parsing import has_values, no_such_command, parsed_line
from nbckpt.verbs.registry import VERBS, verbs_at

if TYPE_CHECKING:
    from nbckpt.verbs.calls import Answer
    from nbckpt.verbs.registry import Verb

_NO_FRAME = 1_000_000
"""A depth at which there is no caller: its local variables are none of the user's."""


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
    """`%%checkpoint`, `%nbckpt`, and a magic for each verb that is one of its own."""

    def __init__(self, shell: InteractiveShell, cells: Cells, idling: Idling) -> None:
        super().__init__(shell)
        self._cells = cells
        self._idling = idling
        for verb in verbs_at(Door.NOTEBOOK):
            if verb.is_magic and verb.name not in self.magics["line"]:
                self.magics["line"][verb.name] = MethodType(_magic_of(verb), self)

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
        self.call(VERBS["checkpoint"], line)

    @line_magic
    @no_var_expand  # `update` has expressions; all else is expanded by itself
    @_without_traceback
    def nbckpt(self, line: str) -> Any:
        """Look and set: ``%nbckpt log|show|diff|tag|note|update|prune|config|auto|…``."""
        word, _, rest = line.strip().partition(" ")
        if not word:
            notices.notify("", words_text())
            return None
        verb = VERBS.get(word)
        if verb is None or verb.is_magic or Door.NOTEBOOK not in verb.doors:
            raise _unknown(word)
        return self.call(verb, rest, self.expand)

    def expand(self, text: str) -> str:
        """`text` with `{name}` and `$name` of the notebook's variables filled in."""
        expanded: str = self._cells.shell.var_expand(text, depth=_NO_FRAME)
        return expanded

    def call(self, verb: Verb, line: str, expand: Callable[[str], str] = str) -> Any:
        """Do what a line says, and show the answer; what is returned IPython shows."""
        arguments = parsed_line(verb, line, expand)
        call = NotebookCall(arguments, self._cells, self._idling)
        answer = verb.does_at(Door.NOTEBOOK)(call)
        return self._show(answer, as_json=getattr(arguments, "json", False))

    def _show(self, answer: Answer, *, as_json: bool) -> Any:
        if as_json and answer.record is not None:
            from nbckpt.reports.json_output import json_text

            print(json_text(answer.record()))
        elif answer.shown is None and answer.text is not None:
            text = answer.text()
            if answer.checkpoint is None:
                notices.notify(text, answer.verbatim)
                return None
            for one in text.split("\n"):
                notices.say(self._cells.shell, one, checkpoint=answer.checkpoint)
        return answer.shown


def take_off(shell: InteractiveShell, owner: object) -> None:
    """Take an object's magics off, but not what another extension put under one of their names."""
    for table in shell.magics_manager.magics.values():
        for name in [n for n, m in table.items() if getattr(m, "__self__", None) is owner]:
            del table[name]


def words() -> tuple[str, ...]:
    """The words of `%nbckpt`."""
    return tuple(verb.name for verb in verbs_at(Door.NOTEBOOK) if not verb.is_magic)


def words_text() -> str:
    """The words of `%nbckpt`, and the magics beside it, each with a line on what it does."""
    known = list(verbs_at(Door.NOTEBOOK))
    ordered = [v for v in known if not v.is_magic], [v for v in known if v.is_magic]
    width = max(len(verb.magic) for verb in known)
    lines = [[f"{verb.magic:{width}}  {_help_of(verb)}" for verb in verbs] for verbs in ordered]
    return "\n".join([*lines[0], "", *lines[1]])


def _help_of(verb: Verb) -> str:
    """The line of a verb in a notebook: of a magic of its own, the terminal's may say less."""
    told = getattr(verb.function, "__doc__", None) if verb.is_magic else None
    first = (told or "").strip().partition("\n")[0].partition(";")[0].rstrip(".")
    return f"{first[0].lower()}{first[1:]}" if first else verb.help


CheckpointMagics.nbckpt.__doc__ = f"Look and set.\n\n{words_text()}"


def _magic_of(verb: Verb) -> Callable[[CheckpointMagics, str], Any]:
    """The line magic of a verb."""

    def magic(self: CheckpointMagics, line: str) -> Any:
        # IPython fills in names itself, but where a brace may be Python's.
        return self.call(verb, line, self.expand if has_values(verb) else str)

    magic.__name__ = magic.__qualname__ = verb.name
    told = getattr(verb.function, "__doc__", None) or f"{verb.help}\n\n{verb.more}"
    magic.__doc__ = f"``{verb.usage_at(Door.NOTEBOOK)}``: {told.strip()}"
    made = _without_traceback(magic)
    return no_var_expand(made) if has_values(verb) else made


_OF_AUTO = frozenset({"on", "off", "skip", "cost", "every", "event"})


def _unknown(word: str) -> UsageError:
    """Error for a word that is not a command of `%nbckpt`."""
    if word in _OF_AUTO:
        return UsageError(f"%nbckpt {word}: there is no such command; write `%nbckpt auto {word}`")
    told = no_such_command("%nbckpt", word, words())
    return UsageError(f"%nbckpt {word}: {told} `%nbckpt` alone lists them")
