"""Text from records, of which nothing steers the terminal that shows it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_COLOUR = r"\x1b\[[0-9;:]*m"
_STEERING = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # all controls but tab and line feed
    r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # what ends lines, or turns letters round
    r"\ud800-\udfff]"  # what no terminal takes
)
_FOUND = re.compile(f"({_COLOUR})|{_STEERING}")
_OF_A_LINE = re.compile(r"[\t\n]")


def legible(text: str, *, colours: bool = False) -> str:
    r"""`text` with what would steer a terminal written out.

    Line ends and tabs stay, as do, with `colours`, changes of colour: a cell may have printed them.

    Examples
    --------
    >>> legible("a\x1b]0;title\x07b\r\n") == r"a\x1b]0;title\x07b\r" + "\n"
    True
    >>> legible("\x1b[31mred\x1b[0m", colours=True) == "\x1b[31mred\x1b[0m"
    True
    """

    def written(found: re.Match[str]) -> str:
        if found[1] and colours:
            return found[1]
        return "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode() for c in found[0]
        )

    return text if text.isprintable() else _FOUND.sub(written, text)


def on_a_line(text: str, *, colours: bool = False) -> str:
    r"""`text` as one line, whatever it holds: what would begin another is written out, too.

    Whatever a line is made of (names, notes, errors) may be somebody else's: a name with a line end
    in it would begin a line of its own, which says what they like.

    Examples
    --------
    >>> on_a_line("train\nall sound") == r"train\nall sound"
    True
    """
    if text.isprintable():
        return text
    return _OF_A_LINE.sub(lambda found: _ESCAPED[found[0]], legible(text, colours=colours))


def lines_of(texts: Iterable[str]) -> str:
    """Texts, one a line."""
    return "\n".join(map(on_a_line, texts))


_ESCAPED = {"\t": r"\t", "\n": r"\n"}


def without_colours(text: str) -> str:
    r"""A text without what colours it in a terminal.

    Examples
    --------
    >>> without_colours("\x1b[31mred\x1b[0m")
    'red'
    """
    return re.sub(_COLOUR, "", text)
