"""A call of a verb: the session and the arguments that it is about, and its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import Namespace
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from nbckpt.session.session import Session
    from nbckpt.storage.store import Store

DONE, NOTEBOOK_FAILED, MISUSED, DAMAGED, UNANSWERED = 0, 1, 2, 3, 4
"""Exit statuses of the command line."""


class Answer(NamedTuple):
    """A verb's answer; each door shows its part of it.

    Attributes
    ----------
    text
        Makes the text for people; None if there is none.
    record
        Makes the value for programs, which becomes JSON.
    status
        Exit status of a command.
    problem
        The reason for another exit status than `DONE`, if `text` does not tell it.
    checkpoint
        Id of the checkpoint where the verb went, if it goes anywhere: a notebook tells it quietly.
    members
        Further members of a page's answer.
    shown
        What a magic returns instead of a text, so that the notebook shows it.
    verbatim
        Text behind `text` in which no command is rewritten: code and outputs.
    warning
        A line on stderr below the text of a command, where it is still seen.
    """

    text: Callable[[], str] | None = None
    record: Callable[[], Any] | None = None
    status: int = DONE
    problem: str = ""
    checkpoint: str | None = None
    members: Mapping[str, Any] = MappingProxyType({})
    shown: object = None
    verbatim: str = ""
    warning: str = ""


class Call(ABC):
    """One call of a verb.

    Attributes
    ----------
    arguments
        Arguments of the verb by name, with their defaults.
    width
        Characters that a line has room for; None: no limit.
    through
        The door in the words of approvals: ``magic``, ``command`` or ``sidebar``.
    """

    through = ""

    def __init__(self, arguments: Namespace, width: int | None = None) -> None:
        self.arguments = arguments
        self.width = width

    @property
    @abstractmethod
    def session(self) -> Session:
        """The session that the verb is about."""

    @property
    def store(self) -> Store:
        """The store that the verb is about."""
        return self.session.store

    @property
    def path(self) -> Path:
        """The folder of the store, which need not be there."""
        return self.store.path

    def confirm(self, question: str) -> bool | None:
        """The user's yes or no to a question; None where nobody can be asked."""
        del question
        return None

    @abstractmethod
    def tell(self, text: str) -> None:
        """Say something while the verb goes on."""

    @abstractmethod
    def warn(self, text: str) -> None:
        """Say what is wrong while the verb goes on."""
