"""One line of a journal: a record, its serial number, its checksum.

Every line is verified when it is read. What of a checkpoint says where it stands in the history is
decoded then too; the rest, which is most of it, when somebody asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from blake3 import blake3

from nbckpt.model import PLACING, Record

SUM_BYTES = 8
SUM_DIGITS = 2 * SUM_BYTES
TAIL = len(',"sum":""}') + SUM_DIGITS
_CHECKPOINT = b'{"kind":"checkpoint",'
_REST = b',"cell":'
_SERIAL = re.compile(rb',"n":([0-9]+)\Z')

_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_decoder = json.JSONDecoder()


def encode(record: Record) -> str:
    """The record as JSON without its closing brace, so that serial and checksum can follow.

    Raises
    ------
    ValueError
        If a number is not finite, which JSON cannot say.
    """
    return _encoder.encode(record)[:-1]


def seal_line(body: str, serial: int) -> bytes:
    """The line of an encoded record: its text, its serial number, its checksum, a newline."""
    text = f'{body},"n":{serial}'.encode()
    return b'%b,"sum":"%b"}\n' % (text, _sum(text))


def open_line(line: bytes) -> bytes | None:
    """The text of a line up to its checksum; None if they do not agree."""
    text = line[:-TAIL]
    return text if line[-TAIL:] == b',"sum":"%b"}' % _sum(text) else None


def read_text(text: bytes) -> Record | None:
    """The record of a line's text, without its serial number; None if it is none."""
    try:
        if text.startswith(_CHECKPOINT) and (cut := text.find(_REST)) > 0:
            placing = _members(text[:cut])
            # Where the state stands before the cell, so does all that places a checkpoint; older
            # writers put it behind.
            if "state" in placing:
                return Unread(text, placing)
        return _members(text)
    except (ValueError, RecursionError):
        return None


def serial_of(text: bytes) -> int | None:
    """The serial number at the end of a line's text."""
    found = _SERIAL.search(text)
    return int(found[1]) if found else None


class Unread(Mapping[str, Any]):
    """The record of a checkpoint, of which only what places it in the history is decoded."""

    __slots__ = ("_members", "_text")

    def __init__(self, text: bytes, placing: dict[str, Any]) -> None:
        self._text: bytes | None = text
        self._members = placing

    @property
    def is_read(self) -> bool:
        """Whether all of it was decoded."""
        return self._text is None

    def __getitem__(self, name: str) -> Any:
        if name in self._members or name in PLACING:
            return self._members[name]
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def _read(self) -> dict[str, Any]:
        text = self._text
        if text is not None:
            self._members, self._text = _members(text), None
        return self._members


def _members(text: bytes) -> dict[str, Any]:
    record = _decoder.decode(text.decode() + "}")
    if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
        message = "JSON, but no record"
        raise ValueError(message)
    record.pop("n", None)
    return record


def _sum(text: bytes) -> bytes:
    return blake3(text).hexdigest(SUM_BYTES).encode()
