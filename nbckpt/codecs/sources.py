"""Texts of cells and of made code, under names that are the same in every process."""

from __future__ import annotations

import linecache
import re

from nbckpt.codecs.pickler import NamespacePickler, Source
from nbckpt.digests import digest_of

_OF_CELL = re.compile(r"^<ipython-input-|[\\/]ipykernel_\d+[\\/]\d+\.py$")
"""The names that IPython and ipykernel give to cells."""


def know_source(filename: str, text: str) -> None:
    """Have tracebacks and `inspect` find the text of what no file holds."""
    if text:
        lines = text.splitlines(keepends=True)
        linecache.cache[filename] = (len(text), None, lines, filename)


def source_of(pickler: NamespacePickler, filename: str) -> Source:
    """The text under the name that code has, if it is that of a cell or was made, and no file's.

    Such a name is another one in each process, or another text's there, so it is written as one
    that the text gives. Files keep their names, and their texts are theirs.
    """
    if filename not in pickler.sources:
        pickler.sources[filename] = _source_of(filename)
    return pickler.sources[filename]


def _source_of(filename: str) -> Source:
    match linecache.cache.get(filename):
        case (_, None, [*lines], _):  # no file's: that would have a time
            text = "".join(lines)
            return Source(f"<nbckpt {digest_of(text)[:12]}>" if text else "<nbckpt>", text)
    return Source("<nbckpt>" if _OF_CELL.search(filename) else filename, "")
