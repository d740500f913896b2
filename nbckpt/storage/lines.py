"""One line of a journal: a record, its serial number, its checksum.

Every line is verified when it is read. What of a checkpoint says where it stands in the history is
decoded then too, and what of a recording says which call it answers; the rest, which is most of it,
when somebody asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from blake3 import blake3

from nbckpt import calls
from nbckpt.model import PLACING, Record

SUM_BYTES = 8
SUM_DIGITS = 2 * SUM_BYTES
TAIL = len(',"sum":""}') + SUM_DIGITS
_CHECKPOINT = b'{"kind":"checkpoint",'
_REST = b',"cell":'
_RECORDING = b'{"kind":"recording",'
_REST_OF_RECORDING = b',"session":'
_EVENT = re.compile(rb'\{"kind":"event","event":"[^"\\]*","at":([0-9]+\.[0-9]+),')
_SETTLED = frozenset(PLACING)
_SETTLED_OF_RECORDING = frozenset(("kind", *calls.PLACING))
_SERIAL = re.compile(rb',"n":([0-9]+)\Z')

_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_decode = json.JSONDecoder().raw_decode


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
    return text if line.endswith(b',"sum":"%b"}' % _sum(text)) else None


def read_text(text: bytes) -> Record | None:
    """The record of a line's text, without its serial number; None if it is none."""
    try:
        if text.startswith(_CHECKPOINT) and (cut := text.find(_REST)) > 0:
            placing = _members(text[:cut])
            # Where the state stands before the cell, so does all that places a checkpoint; older
            # writers put it behind.
            if "state" in placing:
                return Unread(text, placing, _SETTLED)
        elif text.startswith(_RECORDING) and (cut := text.find(_REST_OF_RECORDING)) > 0:
            placing = _members(text[:cut])
            if all(name in placing for name in calls.PLACING):
                return Unread(text, placing, _SETTLED_OF_RECORDING)
        elif event := _EVENT.match(text):
            return Unread(text, {"kind": "event", "at": float(event[1])})
        return _members(text)
    except (ValueError, RecursionError):
        return None


def serial_of(text: bytes) -> int | None:
    """The serial number at the end of a line's text."""
    found = _SERIAL.search(text)
    return int(found[1]) if found else None


class Unread(Mapping[str, Any]):
    """A record of which only some members are decoded, until another is asked for.

    Parameters
    ----------
    members
        Those that are decoded.
    settled
        Names that are among these, or are not in the record.
    """

    __slots__ = ("_members", "_settled", "_text")

    def __init__(
        self, text: bytes, members: dict[str, Any], settled: Container[str] = frozenset()
    ) -> None:
        self._text: bytes | None = text
        self._members = members
        self._settled = settled

    @property
    def is_read(self) -> bool:
        """Whether all of it was decoded."""
        return self._text is None

    def __getitem__(self, name: str) -> Any:
        if name in self._members or name in self._settled:
            return self._members[name]
        return self._read()[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The member, or `default`: quicker than by way of a `KeyError`."""
        if name in self._members:
            return self._members[name]
        return default if name in self._settled else self._read().get(name, default)

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
    json_text = text.decode() + "}"
    record, end = _decode(json_text)
    if end != len(json_text) or not isinstance(record, dict) or "kind" not in record:
        message = "JSON, but no record"
        raise ValueError(message)
    record.pop("n", None)
    return record


def _sum(text: bytes) -> bytes:
    return blake3(text).hexdigest(SUM_BYTES).encode()
