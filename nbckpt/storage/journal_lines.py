"""The text of one line of a journal: a record and its serial number.

Every line is verified when it is read, by its journal's `Signer`. What of a checkpoint says where
it stands in the history is decoded then too, and what of a recording says which call it answers;
the rest, which is most of it, when somebody asks. The lines of many recordings are not even kept:
they are read again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, ItemsView, Iterator, Mapping
from functools import cache, lru_cache
from sys import intern
from typing import Any, TypeAlias

from nbckpt.model import PLACING, UNTRUSTED, Record
from nbckpt.storage.file_names import wrong_name
from nbckpt.storage.record_shapes import can_be_mended, is_placed, mended, wrong_member
from nbckpt.timeline import recordings

_CHECKPOINT = b'{"kind":"checkpoint",'
_REST = b',"cell":'
_KIND_AT = len(b'{"kind":"')
_KIND_ENDS = _KIND_AT + 5
_RECORDING = (
    rb'\{"kind":"recording","created_at":([0-9.e+]+),"id":"([0-9a-f]+)","step":"([^"\\]*(?:\\.[^"\\]*)*)",'
    rb'"request":"([0-9a-f]+)","occurrence":([0-9]+),"state":"([a-z]+)",'
    rb'"position":(?:null|"([^"\\]+)"),"session":"([^"\\]*)",'
)
_BATCH = re.compile(
    rb'\{"kind":"batch","pack":"([0-9a-z-]{1,64})","frame":([0-9]{1,15}),"sum":"([0-9a-f]{32})",'
    rb'"n":[0-9]+\Z'
)
_EVENT = re.compile(rb'\{"kind":"event","event":"([^"\\]*)","at":([0-9]+\.[0-9]+),')
_FILES = ("batch", "table", "prune")
_SETTLED = frozenset((*PLACING, UNTRUSTED))
# It has no `at`, by which other records are ordered.
_SETTLED_OF_RECORDING = frozenset(("kind", "session", "at", *recordings.PLACING, UNTRUSTED))
_SETTLED_OF_EVENT = frozenset((UNTRUSTED,))
_SERIAL = re.compile(rb',"n":([0-9]+)\Z')


MembersAt: TypeAlias = Callable[[int], dict[str, Any]]
"""All members of the record whose line begins at an offset of its journal."""

_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_decode = json.JSONDecoder().raw_decode


def encode(record: Record) -> str:
    """The record as JSON without its closing brace, so that serial and checksum can follow.

    Raises
    ------
    ValueError
        If a number is not finite, which JSON cannot say.
    """
    if UNTRUSTED in record:  # its line tells
        record = {name: member for name, member in record.items() if name != UNTRUSTED}
    return _encoder.encode(record)[:-1]


def read_text(
    text: bytes,
    again: MembersAt | None = None,
    offset: int = 0,
    *,
    trusted: bool = True,
) -> Record | None:
    """The record of a line's text, without its serial number.

    Parameters
    ----------
    again
        Reads the line again: of a recording, no more than what places it is kept then.
    offset
        Where the line begins.
    trusted
        Whether the line is the user's own, or was vouched for; a record of another one says so.

    Raises
    ------
    ValueError
        If it calls a file what no store has.

    Returns
    -------
    Record | None
        None if it is none.
    """
    try:
        if not trusted and wrong_member(members_of(text)):
            return None
        kind = text[_KIND_AT:_KIND_ENDS]  # a pattern that does not match takes longer
        if kind == b"check" and text.startswith(_CHECKPOINT) and (cut := text.find(_REST)) > 0:
            placing = members_of(text[:cut])
            # Where the state stands before the cell, so does all that places a checkpoint.
            if "state" in placing:
                if not is_placed(placing):
                    return None
                return Unread(text, placing if trusted else _marked(placing), _SETTLED)
        elif kind == b"batch" and (batch := _BATCH.match(text)):
            pack, frame, own = batch.groups()
            members = {
                "kind": "batch",
                "pack": _text(pack),
                "frame": int(frame),
                "sum": own.decode(),
            }
            return members if trusted else _marked(members)
        elif kind == b"recor" and (recording := _recording().match(text)):
            placing = _placing(*recording.groups())
            placing = placing if trusted else _marked(placing)
            return Unread(again or text, placing, _SETTLED_OF_RECORDING, offset)
        elif kind == b"event" and (event := event_in(text)):
            return placed_event(*event, text, trusted=trusted)
        record = members_of(text, trusted=trusted)
        if trusted and wrong_member(record):
            if not can_be_mended(record):
                return None
            record = mended(record)
    except (ValueError, RecursionError):
        return None
    if record["kind"] in _FILES and (name := wrong_name(record)):
        raise ValueError(name)
    return record


def event_in(text: bytes) -> tuple[str, float] | None:
    """The name and the time of the event that a line's text tells; None of other lines."""
    event = _EVENT.match(text)
    return None if event is None else (_text(event[1]), float(event[2]))


def placed_event(
    name: str, at: float, text: bytes | MembersAt, offset: int = 0, *, trusted: bool = True
) -> Unread:
    """The record of an event of which this is known, and that `text` tells the rest of."""
    placing: dict[str, Any] = {"kind": "event", "event": name, "at": at}
    return Unread(text, placing if trusted else _marked(placing), _SETTLED_OF_EVENT, offset)


@cache
def _recording() -> re.Pattern[bytes]:
    """Made for the first recording: it takes as long as ten lines, and many stores hold none."""
    return re.compile(_RECORDING)


def _marked(members: dict[str, Any]) -> dict[str, Any]:
    members[UNTRUSTED] = True
    return members


def _placing(
    created_at: bytes,
    recording_id: bytes,
    step: bytes,
    request: bytes,
    occurrence: bytes,
    state: bytes,
    position: bytes | None,
    session: bytes,
) -> dict[str, Any]:
    """Members that place a recording: the call that it answers, and its session."""
    return {
        "kind": recordings.RECORDING,
        "created_at": float(created_at),
        "id": recording_id.decode(),
        "step": _text(step),
        "request": request.decode(),
        "occurrence": int(occurrence),
        "state": _text(state),
        "position": None if position is None else _text(position),
        "session": _text(session),
    }


@lru_cache(512)
def _text(json_text: bytes) -> str:
    """A string of which there are many equal ones, without its quotes."""
    if b"\\" not in json_text:
        return intern(json_text.decode())
    return intern(str(json.loads(b'"%b"' % json_text)))


def serial_of(text: bytes) -> int | None:
    """The serial number at the end of a line's text."""
    found = _SERIAL.search(text)
    return int(found[1]) if found else None


class Unread(Mapping[str, Any]):
    """A record of which only some members are decoded, until another is asked for.

    Parameters
    ----------
    text
        Of its line, or what reads it again: then no more members are kept, ever.
    members
        Those that are decoded.
    settled
        Names that are among these, or are not in the record.
    offset
        Of its line.

    Attributes
    ----------
    near
        The pack and frame of the batch that its journal named last before it: what it needs most
        likely lies there.
    time
        When it was made, in seconds since the epoch; 0.0 where that is not decoded.
    """

    __slots__ = ("_members", "_offset", "_settled", "_text", "near", "time")

    def __init__(
        self,
        text: bytes | MembersAt,
        members: dict[str, Any],
        settled: Container[str] = frozenset(),
        offset: int = 0,
    ) -> None:
        self._text: bytes | MembersAt | None = text
        self._members = members
        self._settled = settled
        self._offset = offset
        self.near: tuple[str, int] | None = None
        at = members.get("created_at") or members.get("at")
        self.time: float = at if type(at) is float else 0.0

    @property
    def is_read(self) -> bool:
        """True if all of it was decoded."""
        return self._text is None

    def __getitem__(self, name: str) -> Any:
        if name in self._members or name in self._settled:
            return self._members[name]
        return self.whole()[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The member, or `default`: quicker than by way of a `KeyError`."""
        if name in self._members:
            return self._members[name]
        if name in self._settled:
            return default
        text = self._text  # in which no string holds this: its quotes are escaped
        if isinstance(text, bytes) and b'"%b":' % name.encode() not in text:
            return default
        return self.whole().get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole())

    def __len__(self) -> int:
        return len(self.whole())

    def items(self) -> ItemsView[str, Any]:
        """All members, without asking for each by its name."""
        return self.whole().items()

    def whole(self) -> dict[str, Any]:
        """All of its members; not to be changed."""
        text = self._text
        if text is None:
            return self._members
        if not isinstance(text, bytes):
            return text(self._offset)
        self._members = mended(members_of(text, trusted=UNTRUSTED not in self._members))
        self._text = None
        return self._members


def whole(record: Record) -> Record:
    """A record of which all members are there; not to be changed."""
    return record.whole() if isinstance(record, Unread) else record


def members_of(text: bytes, *, trusted: bool = True) -> dict[str, Any]:
    """All members of the record of a line's text, with whether it is trusted: see `is_trusted`.

    Raises
    ------
    ValueError
        If it is none.
    """
    json_text = text.decode() + "}"
    record, end = _decode(json_text)
    if end != len(json_text) or not isinstance(record, dict) or "kind" not in record:
        message = "JSON, but no record"
        raise ValueError(message)
    record.pop("n", None)
    record.pop(UNTRUSTED, None)  # nobody says it of himself
    return record if trusted else _marked(record)
