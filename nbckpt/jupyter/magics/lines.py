"""Words and options after a magic's name, or the message about an error in them."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.config.amounts import count_of
from nbckpt.errors import UsageError

_OF_AUTO = frozenset({"on", "off", "skip", "cost", "every", "event"})

_NO_FRAME = 1_000_000
"""A depth at which there is no caller: its local variables are none of the user's."""


def expanded(shell: InteractiveShell, line: str) -> str:
    """The line with `{name}` and `$name` of the notebook's variables filled in."""
    text: str = shell.var_expand(line, depth=_NO_FRAME)
    return text


def words_of(line: str, usage: str) -> list[str]:
    """The words of a line, quotes taken off.

    Raises
    ------
    UsageError
        If a quote is not closed.
    """
    try:
        return shlex.split(line)
    except ValueError as error:
        message = f"{line!r} cannot be read: {error}; write `{usage}`"
        raise UsageError(message) from error


def unquoted(text: str) -> str:
    """The rest of a line, in quotes or not."""
    text = text.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if is_quoted else text


def one(line: str, usage: str) -> str:
    """The one word of a line."""
    words, _ = parted(line, usage, 1, 1)
    return words[0]


def parted(
    line: str, usage: str, least: int, most: int, options: Collection[str] = ()
) -> tuple[list[str], set[str]]:
    """The words of a line, and which of its options are set.

    Raises
    ------
    UsageError
        If there are too few words or too many, or one begins with ``--`` and is no option.
    """
    found = words_of(line, usage)
    given = {word for word in found if word in options}
    words = [word for word in found if word not in options]
    if odd := next((word for word in words if word.startswith("--")), None):
        message = f"{odd!r} is no option here: write `{usage}`"
        raise UsageError(message)
    if not least <= len(words) <= most:
        what = f"{line!r} is {'too little' if len(words) < least else 'too much'}"
        lists = "; `%nbckpt log` lists the checkpoints" if "REF" in usage else ""
        message = f"{what if line.strip() else 'something is missing'}: write `{usage}`{lists}"
        raise UsageError(message)
    return words, given


def limited(words: Sequence[str], default: int) -> tuple[list[str], int]:
    """The typed words without ``-n N``, and `N`.

    Raises
    ------
    UsageError
        If `N` is not a number.
    """
    words = list(words)
    if "-n" not in words:
        return words, default
    at = words.index("-n")
    number = words[at + 1] if at + 1 < len(words) else ""
    return [*words[:at], *words[at + 2 :]], count_of(number)


def unknown(word: str, known: Collection[str]) -> UsageError:
    """Error for a word that is not a command of `%nbckpt`."""
    there = " · ".join(known)
    if not word:
        return UsageError(f"%nbckpt takes one of {there}")
    if word in _OF_AUTO:
        return UsageError(f"%nbckpt {word}: there is no such command; write `%nbckpt auto {word}`")
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1)
    hint = f"did you mean {close[0]!r}? there are" if close else "there are"
    return UsageError(f"%nbckpt {word}: there is no such command; {hint} {there}")
