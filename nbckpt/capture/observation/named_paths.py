"""Paths on the disk that names in code tell of: files, folders, patterns, what queries quote."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import islice
from unicodedata import normalize

from nbckpt.capture.observation.folder_looks import matches_of
from nbckpt.capture.observation.named_files import MAX_ITEMS, MAX_PATH, MAX_TEXTS, Named

MAX_REMEMBERED = 2_048
"""Letters of a text of which is remembered whether it may be a query."""

MANY = 32
"""Texts from which on the working folder is listed, instead of being asked for each of them."""

MANY_ENTRIES = 1_000
"""Entries of a folder that is listed for them."""

LONGEST_NAME = 255
"""Letters of a file's name: NAME_MAX of Linux and macOS, in bytes."""

_FOLDERS = """
    read_parquet scan_parquet read_csv scan_csv dataset ParquetDataset read_table load_dataset
    load_from_disk open_zarr open_mfdataset from_parquet read_ipc scan_ipc read_ndjson scan_ndjson
    read_json from_pretrained open_group scan_delta read_delta scan_iceberg load_model
"""
READS_FOLDERS = frozenset(_FOLDERS.split())
"""Calls that read all of a folder."""

_QUOTED = re.compile(r"'([^'\n]{2,400})'|\"([^\"\n]{2,400})\"|\[([^\[\]\n]{2,400})\]")
_QUERY = re.compile(r"\b(from|join|copy|attach|read_\w+|scan_\w+)\b", re.IGNORECASE)
_WILD = re.compile(r"[*?\[]")
_SUFFIX = re.compile(r"\.\w{1,8}$")


class NamedPaths:
    """The paths among the texts of some code.

    Attributes
    ----------
    patterns
        Patterns that were met by `found`.
    """

    def __init__(self, named: Named) -> None:
        self.patterns: dict[str, None] = {}
        self._named = named

    @cached_property
    def _texts(self) -> list[str]:
        return [text for text in self._named.texts if _may_be_path(text)]

    @cached_property
    def _absent(self) -> set[str]:
        """Those of many texts that no entry of the working folder is named as."""
        bare = {text for text in self._texts if "/" not in text and text.strip(".")}
        if len(bare) < MANY:
            return set()
        try:
            with os.scandir() as entries:
                names = [entry.name for entry in islice(entries, MANY_ENTRIES + 1)]
        except OSError:
            return set()
        if len(names) > MANY_ENTRIES:  # to ask for each text is quicker
            return set()
        there = set(map(_folded, names))
        return {text for text in bare if _folded(text) not in there}

    def _is_file(self, text: str) -> bool:
        return text not in self._absent and os.path.isfile(text)  # noqa: PTH113  # texts

    @cached_property
    def _folders(self) -> list[str]:
        texts = (text for text in self._texts if text not in self._absent)
        return [text for text in texts if os.path.isdir(text)]  # noqa: PTH112  # texts

    def found(self, *, has_commands: bool = False) -> Iterator[str]:
        """Paths that are named: of files that are there, or that the code asks for.

        Parameters
        ----------
        has_commands
            Whether processes were started: texts may be command lines.
        """
        if not self._named.has_calls:
            return
        folders, asks = self._folders, self._named.asks
        for place, text in enumerate(self._texts):
            yield from self._paths_of(text, asks=asks)
            if folders and place < MAX_TEXTS and not os.path.isabs(text):  # noqa: PTH117  # texts
                for folder in folders[:20]:
                    whole = os.path.join(folder, text)  # noqa: PTH118  # texts
                    yield from self._paths_of(whole, asks=asks)
        for text in self._named.texts:
            if _may_quote(text):
                yield from self._quoted(text)
        for text in (t for t in self._named.texts if has_commands and " " in t):
            for word in text.replace("'", " ").replace('"', " ").split()[:1_000]:
                if _may_be_path(word) and os.path.isfile(word):  # noqa: PTH113  # texts
                    yield word

    def _paths_of(self, text: str, *, asks: bool) -> Iterator[str]:
        if self._is_file(text):
            yield text
        elif _WILD.search(text) and text.strip("*?/. "):
            matches = matches_of(text)
            if matches or "/" in text or _SUFFIX.search(text):
                self.patterns[text] = None
            yield from matches
        elif asks and " " not in text:
            yield text

    def _quoted(self, text: str) -> Iterator[str]:
        for match in islice(_QUOTED.finditer(text), MAX_ITEMS):
            inside = next(filter(None, match.groups()), "")
            for part in inside.split(", "):
                if _may_be_path(part):
                    yield from self._paths_of(part, asks=False)

    def folders(self) -> list[str]:
        """Folders that are named where the code calls what reads all of a folder."""
        if READS_FOLDERS.isdisjoint(self._named.calls):
            return []
        return self._folders


def _folded(name: str) -> str:
    """A name as file systems compare it that tell no case, or no forms of letters, apart."""
    return name if name.isascii() and name.islower() else normalize("NFC", name).casefold()


def _may_be_path(text: str) -> bool:
    length = len(text)
    if length >= MAX_PATH or (
        length > LONGEST_NAME
        and "/" not in text
        and "[" not in text
        and length - text.count("*") > LONGEST_NAME
    ):
        return False
    return "\n" not in text and "\0" not in text and "://" not in text


def _may_quote(text: str) -> bool:
    """True if what stands in quotes inside of a text may be a file."""
    return _is_query_known(text) if len(text) <= MAX_REMEMBERED else _is_query(text)


def _is_query(text: str) -> bool:
    return "\n" in text or _QUERY.search(text) is not None


_is_query_known = lru_cache(2_048)(_is_query)
"""The texts of a long list are met by each cell that reads it."""
