"""Arguments of a call from what was typed or requested; argparse reads all that is typed."""

from __future__ import annotations

import argparse
import re
import shlex
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from nbckpt.errors import UsageError
from nbckpt.verbs.arguments import CHECKPOINT, MISSING, VALUE, Argument, Door
from nbckpt.verbs.registry import Operation, Verb


def add_arguments(parser: argparse.ArgumentParser, verb: Verb, door: Door) -> None:
    """Declare to argparse the arguments that `verb` takes at `door`."""
    for argument in verb.arguments_of(door):
        parser.add_argument(*argument.flags, **argument.how)


class _Shape(NamedTuple):
    """Facts about the arguments that a door takes, found once: each `%%checkpoint` line asks."""

    defaults: Mapping[str, Any]
    rests: tuple[str, ...]
    values: str
    optional: str
    n_words: int  # with one for all values
    options: tuple[str, ...]
    flags: tuple[str, ...]


@lru_cache(maxsize=256)
def _shape(verb: Verb, door: Door) -> _Shape:
    own = verb.arguments_of(door)
    words = [a for a in own if not a.is_option]
    return _Shape(
        defaults={a.dest: a.default for a in verb.arguments},
        rests=tuple(a.dest for a in own if a.is_rest),
        values=next((a.dest for a in own if a.names == VALUE), ""),
        optional=next((a.dest for a in words if a.how.get("nargs") == "?"), ""),
        n_words=sum(not a.is_rest for a in words),
        options=tuple(a.flags[-1] for a in own if a.is_option and not a.is_flag),
        flags=tuple(a.flags[-1] for a in own if a.is_flag),
    )


def completed(verb: Verb, parsed: Namespace, door: Door) -> Namespace:
    """The arguments of a call, from those that argparse found; those of other doors by default.

    Raises
    ------
    UsageError
        If a word is one too many, or gives no variable a value.
    """
    shape = _shape(verb, door)
    found = Namespace(**shape.defaults)
    vars(found).update(vars(parsed))
    for name in shape.rests:
        text = getattr(found, name)
        setattr(found, name, " ".join(text) if isinstance(text, list) else text)
    if shape.values:
        _give_values(verb, found, shape, door)
    return found


def _give_values(verb: Verb, found: Namespace, shape: _Shape, door: Door) -> None:
    """Part the words of ``[BRANCH] [name=expression …]``, which argparse cannot tell apart."""
    from nbckpt.config import assignments

    typed = list(getattr(found, shape.values) or ())
    if shape.optional:
        first = getattr(found, shape.optional)
        words, typed = assignments.sorted_words([*([] if first is None else [first]), *typed])
        setattr(found, shape.optional, words[0] if words else None)
        if len(words) > 1:
            assignments.refuse_word(words[1], verb.usage_at(door))
    setattr(found, shape.values, assignments.assigned(typed))


# -- the line of a magic --------------------------------------------------------------------------


def parsed_line(verb: Verb, line: str, expand: Callable[[str], str] = str) -> Namespace:
    """The arguments of a call from the line of a magic.

    Parameters
    ----------
    expand
        Fills in ``{name}`` and ``$name``; not in expressions, where braces are Python's.

    Raises
    ------
    UsageError
        If it cannot be read; the message shows the usage.
    """
    if not has_values(verb):
        line = expand(line)
    line = line.strip()
    words = _words(verb, line, expand)
    try:
        parsed, extra = _read(verb, words)
    except _UnreadableError as problem:
        raise UsageError(_message(verb, line, words, str(problem))) from None
    if extra:
        raise UsageError(_message(verb, line, words, ""))
    return completed(verb, parsed, Door.NOTEBOOK)


def _read(verb: Verb, words: list[str]) -> tuple[Namespace, list[str]]:
    """What argparse makes of words, and those that it has no place for."""
    shape, parser = _shape(verb, Door.NOTEBOOK), _line_parser(verb)
    if shape.values or shape.rests:
        return parser.parse_known_args(words)
    return parser.parse_known_intermixed_args(words)  # options between words, or behind them


def has_values(verb: Verb) -> bool:
    """True if ``name=expression`` can stand in a line of `verb`."""
    return bool(_shape(verb, Door.NOTEBOOK).values)


def _words(verb: Verb, line: str, expand: Callable[[str], str]) -> list[str]:
    """The words of a line as argparse takes them."""
    shape = _shape(verb, Door.NOTEBOOK)
    if shape.values:
        from nbckpt.config import assignments

        options: list[str] = []
        for flag in shape.flags:
            found, line = _taken(_FLAG.format(flag), line)
            options += [flag] if found else []
        for flag in shape.options:
            found, line = _taken(_OPTION.format(flag), line)
            options += [flag, found["value"]] if found else []
        usage = verb.usage_at(Door.NOTEBOOK)
        typed = assignments.parsed(line, usage)
        if len(typed.words) >= shape.n_words:
            assignments.refuse_word(typed.words[shape.n_words - 1], usage)
        if not typed.words:
            return options  # no value takes the place of a checkpoint
        values = [f"{name}={expression}" for name, expression in typed.expressions.items()]
        return [*map(expand, typed.words), *values, *options]
    if not shape.rests:
        return _split(verb, line)
    words = line.split(maxsplit=shape.n_words)
    rest = _unquoted(" ".join(words[shape.n_words :]))
    return [*words[: shape.n_words], *(["--", rest] if rest else [])]


def _taken(pattern: str, line: str) -> tuple[re.Match[str] | None, str]:
    """The first match of an option among expressions, and the line without it.

    In a text of an expression there is none.
    """
    line = f" {line}"
    bare = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), line)
    place = re.search(pattern, bare)
    found = place and re.fullmatch(pattern, line[place.start() : place.end()])
    if place is None or found is None:
        return None, line
    return found, line[: place.start()] + line[place.end() :]


_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
_FLAG = r"\s{}(?=\s|$)"
"""An option without a value, among expressions."""
_OPTION = r"\s{}(?:\s+|=)(?P<quote>['\"]?)(?P<value>[\w.+-]+)(?P=quote)(?=\s|$)"
"""An option and its value, among expressions."""


def _split(verb: Verb, line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        usage = verb.usage_at(Door.NOTEBOOK)
        message = f"{line!r} cannot be read: {error}; write `{usage}`"
        raise UsageError(message) from error


def _unquoted(text: str) -> str:
    text = text.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if is_quoted else text


class _UnreadableError(Exception):
    """A line that argparse refuses; the message is argparse's."""


class _LineParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UnreadableError(message)


@lru_cache(maxsize=128)
def _line_parser(verb: Verb) -> _LineParser:
    # With a usage: argparse would make one for each line.
    parser = _LineParser(verb.magic, usage=verb.magic, add_help=False, allow_abbrev=False)
    add_arguments(parser, verb, Door.NOTEBOOK)
    return parser


def _message(verb: Verb, line: str, words: list[str], problem: str) -> str:
    """The sentence about a line that argparse does not take; without `problem` it is too long."""
    own = verb.arguments_of(Door.NOTEBOOK)
    write = f"write `{verb.usage_at(Door.NOTEBOOK)}`"
    known = {text for argument in own for text in argument.texts}
    before = words[: words.index("--")] if "--" in words else words
    options = [word for word in before if word.startswith("-") and len(word) > 1]
    odd = [option for option in options if option.partition("=")[0] not in known]
    if odd and (odd[0].startswith("--") or not problem or problem.startswith(_REQUIRED)):
        return f"{odd[0]!r} is no option here: {write}"
    lists = "; `%nbckpt log` lists the checkpoints"
    takes_checkpoint = any(a.names == CHECKPOINT for a in own)
    if not problem and any(a.how.get("metavar") == "NAME" for a in own):
        name = "-".join(word for word in words if not word.startswith("-"))
        return f"{line!r} is too much: a name is one word, as {name!r}"
    if not problem:
        return f"{line!r} is too much: {write}{lists * takes_checkpoint}"
    if problem.startswith(_REQUIRED):
        name = problem.removeprefix(_REQUIRED).split(", ")[0]
        missing = next(a for a in own if name in (a.how.get("metavar"), a.dest))
        if missing.names == VALUE:
            return f"{verb.name} {words[0]!r}: {missing.question} {write}"
        is_told = line and missing.question == MISSING
        told = f"{line!r} is too little:" if is_told else missing.question
        return f"{told} {write}{lists * takes_checkpoint}"
    return f"{verb.magic}: {problem}; {write}"


def no_such_command(begin: str, word: str, known: Iterable[str]) -> str:
    """The sentence, without its subject, about a word that is no command.

    Parameters
    ----------
    begin
        The word before it, as ``%nbckpt``.
    known
        Words that are commands.
    """
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1)
    hint = f" did you mean `{begin} {close[0]}`?" if close else ""
    return f"there is no such command;{hint}"


_REQUIRED = "the following arguments are required: "


# -- the request of a page ------------------------------------------------------------------------


def parsed_request(verb: Verb, operation: Operation, request: Mapping[str, Any]) -> Namespace:
    """The arguments of a call from the request of a page.

    Raises
    ------
    UsageError
        If one is missing, or of another type.
    """
    found = Namespace(**{a.dest: a.default for a in verb.arguments})
    for argument in verb.arguments_of(Door.PANEL):
        setattr(found, argument.dest, _requested(verb, argument, request))
    vars(found).update(operation.fixed)
    return found


def _requested(verb: Verb, argument: Argument, request: Mapping[str, Any]) -> Any:
    name = argument.request or argument.dest
    value = request.get(name)
    if argument.is_flag:
        return bool(value)
    if argument.names == VALUE:
        if not isinstance(value or {}, Mapping):
            message = f"{verb.name}: {name!r} is name → expression"
            raise UsageError(message)
        return {str(key): str(expression) for key, expression in (value or {}).items()}
    if argument.is_rest:
        return str(value or "")
    if not argument.is_required and value in (None, ""):
        return argument.default
    if argument.is_option:
        return value
    if argument.how.get("nargs") == "+":
        return [required_text(request, name)]
    return required_text(request, name)


def required_text(request: Mapping[str, Any], name: str) -> str:
    """The text that a request has under `name`.

    Raises
    ------
    UsageError
        If it has none.
    """
    value = request.get(name)
    if not isinstance(value, str) or not value.strip():
        message = f"{name!r} is missing: give a text"
        raise UsageError(message)
    return value.strip()
