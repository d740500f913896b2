"""``REF [BRANCH] name=expression …`` as typed: words, then names with Python expressions. Pure.

A shell's rules would surprise here: they take the quotes off ``name="a b"``, and break
``xs=[1, 2]`` at its space. So only what stands before the first assignment is split into words.
An expression goes on until the next ``name=`` before which it is whole.
"""

from __future__ import annotations

import keyword
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

from nbckpt.errors import UsageError

_BEGIN = re.compile(r"(?:^|(?<=\s))(?P<name>[^\W\d]\w*)[ \t]*=(?!=)")
_WHOLE_IN_QUOTES = re.compile(
    r"""(?:^|(?<=\s))(?P<quote>['"])(?P<inside>[^\W\d]\w*=(?!=).*?)(?P=quote)(?=\s|$)"""
)


class Typed(NamedTuple):
    """A typed line, split into its leading words and its assignments.

    Attributes
    ----------
    words
        Words before the first assignment.
    expressions
        Name → Python expression, in the order typed.
    """

    words: tuple[str, ...]
    expressions: Mapping[str, str]


def parsed(line: str, usage: str) -> Typed:
    """The words and assignments of a line.

    Parameters
    ----------
    usage
        What can be written, for the message when this cannot be read.

    Raises
    ------
    UsageError
        If a word is not closed, an expression is none, or a name is given twice.

    Examples
    --------
    >>> parsed('train try-2 k=5 name="a b" xs=[1, 2]', "").words
    ('train', 'try-2')
    >>> dict(parsed('train k = 5 name="a=b c" f=lambda x=1: x', "").expressions)
    {'k': '5', 'name': '"a=b c"', 'f': 'lambda x=1: x'}
    """
    line = _WHOLE_IN_QUOTES.sub(_unquoted, line.strip())
    begins = [b.start() for b in _BEGIN.finditer(line) if not keyword.iskeyword(b["name"])]
    try:
        words = shlex.split(line[: begins[0] if begins else None])
    except ValueError as error:
        message = f"{line!r} cannot be read: {error}; write `{usage}`"
        raise UsageError(message) from error
    if odd := next((word for word in words if "=" in word), None):
        refuse_word(odd, usage)
    return Typed(tuple(words), assigned(_pieces(line, begins)))


def sorted_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Of words that a shell has split: those that are plain, and those that give a value."""
    return [w for w in words if "=" not in w], [w for w in words if "=" in w]


def refuse_word(word: str, usage: str) -> NoReturn:
    """Raise because of a word that has no place in a line."""
    what = "gives no variable a value" if "=" in word else "is one word too many"
    message = f"{word!r} {what}: write `{usage}`"
    raise UsageError(message)


def assigned(pieces: Sequence[str]) -> dict[str, str]:
    """Name → expression, of one ``name=expression`` each.

    Raises
    ------
    UsageError
        If one of them is no assignment, or gives a name that another gave.
    """
    expressions: dict[str, str] = {}
    for piece in pieces:
        found = _BEGIN.match(piece)
        if found is None or keyword.iskeyword(found["name"]):
            message = f"{piece!r} gives no variable a value: write NAME=EXPRESSION, as in k=5"
            raise UsageError(message)
        name, expression = found["name"], piece[found.end() :].strip()
        if name in expressions:
            message = f"{name!r} is given twice: {expressions[name]} and {expression}"
            raise UsageError(message)
        if problem := _problem(expression):
            hint = f"; a text needs its quotes, as in {name}='…'"
            message = f"{name}={expression}: what is behind '=' is no Python expression: {problem}"
            raise UsageError(message + hint * bool(re.fullmatch(r"[\w .,/-]+", expression)))
        expressions[name] = expression
    return expressions


def _unquoted(found: re.Match[str]) -> str:
    """A quoted assignment without its quotes, if what they hold is one, as for a shell."""
    return found["inside"] if _is_assignment(found["inside"]) else found[0]


def _pieces(line: str, begins: Sequence[int]) -> list[str]:
    """The assignments that begin at some of `begins`: each goes on until its expression is whole.

    ``f=lambda x=1: x`` is one assignment, though ``x=`` stands in it; so does it in a text.
    """
    pieces: list[str] = []
    at = 0
    while at < len(begins):
        for after in range(at + 1, len(begins) + 1):
            piece = line[begins[at] : begins[after] if after < len(begins) else None].strip()
            if after < len(begins):
                piece = piece.removesuffix(",")  # as between the arguments of a call
            if _is_assignment(piece):
                break
        else:  # what is wrong is told of as little as possible
            after = at + 1
            piece = line[begins[at] : begins[after] if after < len(begins) else None].strip()
        pieces.append(piece)
        at = after
    return pieces


def _is_assignment(piece: str) -> bool:
    found = _BEGIN.match(piece)
    return found is not None and _problem(piece[found.end() :]) is None


def _problem(expression: str) -> str | None:
    """Why `expression` is none; None if it is one."""
    if not expression.strip():
        return "there is nothing"
    try:
        compile(expression.strip(), "<value>", "eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return getattr(error, "msg", None) or str(error)
    return None
