"""Text from records, of which nothing steers the terminal that shows it. Pure."""

from __future__ import annotations

import re

_COLOUR = r"\x1b\[[0-9;:]*m"
_STEERING = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # all controls but tab and line feed
    r"\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what turns the order of letters round
    r"\ud800-\udfff]"  # what no terminal takes
)
_FOUND = re.compile(f"({_COLOUR})|{_STEERING}")


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
