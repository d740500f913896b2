"""Arguments of verbs: declared once in the words of argparse, for every door that takes them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from nbckpt.config.amounts import count_of, seconds_of
from nbckpt.errors import UsageError


class Door(StrEnum):
    """A way in which users and programs call a verb."""

    PYTHON = "python"
    NOTEBOOK = "notebook"
    TERMINAL = "terminal"
    PANEL = "panel"


NOTEBOOK_ONLY = frozenset({Door.NOTEBOOK})
TERMINAL_ONLY = frozenset({Door.TERMINAL})
PANEL_ONLY = frozenset({Door.PANEL})
TYPED = NOTEBOOK_ONLY | TERMINAL_ONLY
EVERYWHERE = TYPED | PANEL_ONLY

CHECKPOINT, BRANCH, TAG, STEP, CELL, VARIABLE, VALUE, SETTING, QUESTION, LATEST = (
    "checkpoint", "branch", "tag", "step", "cell", "variable", "value", "setting", "question",
    "latest",
)  # fmt: skip
"""Kinds of things that an argument names, for completion. A `VALUE` is ``name=expression``."""

MISSING = "something is missing:"
"""The beginning of the message if an argument is missing that has no question of its own."""


class Argument(NamedTuple):
    """An argument of a verb.

    Attributes
    ----------
    flags
        As for argparse: the name of a positional argument, or the texts of an option.
    how
        The other keywords of `ArgumentParser.add_argument`.
    names
        What it names, or the words that can stand there.
    doors
        Doors that take it; the others have its default.
    request
        Its member in a request of the panel.
    question
        The beginning of the message if it is missing.
    is_rest
        True if it is the rest of a line as it was typed, in quotes or not.
    is_rare
        True if a message tells of it where it is of use: no usage of one line does.
    """

    flags: tuple[str, ...]
    how: Mapping[str, Any]
    names: str | tuple[str, ...] = ()
    doors: frozenset[Door] = EVERYWHERE
    request: str = ""
    question: str = MISSING
    is_rest: bool = False
    is_rare: bool = False

    @property
    def is_option(self) -> bool:
        """True if it begins with a dash."""
        return self.flags[0].startswith("-")

    @property
    def is_flag(self) -> bool:
        """True if no value follows it."""
        return self.how.get("action") in ("store_true", argparse.BooleanOptionalAction)

    @property
    def is_hidden(self) -> bool:
        """True if nbckpt itself gives it: users are not told of it."""
        return self.how.get("help") == argparse.SUPPRESS

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of an option, with those that switch it off."""
        if self.how.get("action") is not argparse.BooleanOptionalAction:
            return self.flags
        return (*self.flags, *(f"--no-{flag.removeprefix('--')}" for flag in self.flags))

    @property
    def dest(self) -> str:
        """Its name among the arguments of a call."""
        long = next((flag for flag in self.flags if flag.startswith("--")), self.flags[0])
        name: str = self.how.get("dest") or long.lstrip("-").replace("-", "_")
        return name

    @property
    def default(self) -> Any:
        """Its value where it was not given."""
        return self.how.get("default", False if self.is_flag else None)

    @property
    def takes_several(self) -> bool:
        """True if it is positional and takes more than one word."""
        return not self.is_option and self.how.get("nargs") in ("*", "+")

    @property
    def is_required(self) -> bool:
        """True if a call has to give it."""
        return not self.is_option and self.how.get("nargs") in (None, "+")

    @property
    def usage(self) -> str:
        """The way to write it: ``[--ttl TTL]``."""
        value = self.how.get("metavar") or self.dest.upper()
        told = f"{value} …" if self.takes_several and not self.is_rest else str(value)
        if self.is_option:
            flag = self.flags[-1]
            told = flag if self.is_flag else f"{flag} {told}"
        return told if self.is_required else f"[{told}]"


def argument(
    *flags: str,
    names: str | tuple[str, ...] = (),
    doors: frozenset[Door] = EVERYWHERE,
    request: str = "",
    question: str = MISSING,
    is_rest: bool = False,
    is_rare: bool = False,
    **how: Any,
) -> Argument:
    """An argument, written as for argparse; see `Argument`."""
    return Argument(flags, how, names, doors, request, question, is_rest, is_rare)


def flag(*flags: str, help: str, **more: Any) -> Argument:  # noqa: A002  # argparse's word
    """An option without a value."""
    return argument(*flags, action="store_true", help=help, **more)


def count(text: str) -> int:
    """A number of checkpoints, as an argument."""
    try:
        return count_of(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def days(text: str) -> float:
    """A number of days, as an argument: a number, or a duration such as `12h`."""
    try:
        return seconds_of(text, default_unit="d") / 86400
    except UsageError:
        message = f"{text!r} is no number of days: give 30, or 12h"
        raise argparse.ArgumentTypeError(message) from None


def checkpoint_argument(name: str = "ref", **how: Any) -> Argument:
    """An argument that refers to a checkpoint."""
    return argument(name, **{"metavar": "REF", "help": _REF, "names": CHECKPOINT, **how})


_REF = "a name, NAME@2, the beginning of an id, a branch, a tag, ~2, or - (before the last rewind)"
STORE_DEFAULT = "by default NBCKPT_STORE, or .nbckpt here"
VALUES = """\
An expression is Python, evaluated with the variables of REF: k=5, 'names=["a", "b"]', k=k+1;
a text needs quotes of its own: 'name="a b"'."""

REF = checkpoint_argument()
STORE = argument("--store", metavar="PATH", help=f"the store: {STORE_DEFAULT}", doors=TERMINAL_ONLY)
NOTEBOOK = argument(
    "--notebook",
    metavar="NAME",
    help="the notebook that this is about: by default the one that moved last",
    doors=TERMINAL_ONLY,
)
JSON = flag("--json", help="for programs", doors=TERMINAL_ONLY)
OF_STORE = (STORE, JSON)
OF_NOTEBOOK = (STORE, NOTEBOOK, JSON)
