"""Names of files for variables, whose own names may be any text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

MOST_CHARACTERS = 48
"""So that a name has less than 255 bytes in UTF-8, with its number and suffix."""
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)


def file_stems(names: Iterable[str]) -> dict[str, str]:
    """Name of each variable → name of its file without a suffix; no two are one file.

    A stem has letters, digits, `_` and, before a number, `-`. It differs from the others on file
    systems that ignore case or the form of accents, too, and is no device of Windows.

    Examples
    --------
    >>> file_stems(["df", "Df", "../df", "con"])
    {'df': 'df', 'Df': 'Df-2', '../df': '___df', 'con': 'con_'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        stem = first = _safe(name)
        number = 1
        while (known_as := unicodedata.normalize("NFKC", stem.casefold())) in taken:
            number += 1
            stem = f"{first}-{number}"
        taken.add(known_as)
        found[name] = stem
    return found


def _safe(name: str) -> str:
    text = unicodedata.normalize("NFKC", name)
    stem = "".join(c if c.isalnum() else "_" for c in text)[:MOST_CHARACTERS] or "_"
    return f"{stem}_" if stem.casefold() in _DEVICES else stem
