"""Names that stand in records and become names of files: here is decided which may.

Whoever writes a record could name a file outside of the store, a device, or a folder above it. A
record that does is damaged, and what it names is never looked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from nbckpt.model import Record

_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}", re.ASCII)
_TABLE = re.compile(r"([0-9A-Za-z][0-9A-Za-z_-]{0,127})(?:\.[0-9a-z]{1,16}){1,2}", re.ASCII)
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.ASCII | re.IGNORECASE)
_SUM = re.compile(r"[0-9a-f]{32}", re.ASCII)
_FARTHEST = 1 << 62
SHOWN = 60


def is_name(name: object) -> bool:
    """True if something may be the name of a journal or pack, without its suffix."""
    return (
        isinstance(name, str) and _NAME.fullmatch(name) is not None and not _DEVICES.fullmatch(name)
    )


def is_table(name: object) -> bool:
    """True if something may be the name of a table, with its suffix."""
    found = _TABLE.fullmatch(name) if isinstance(name, str) else None
    return found is not None and not _DEVICES.fullmatch(found[1])


def wrong_name(record: Record) -> str | None:
    """First file name, offset or sum of a record that no store can have; None if all is well."""
    match record["kind"]:
        case "batch":
            offset = record.get("frame")
            if type(offset) is not int or not 0 <= offset < _FARTHEST:
                return f"the offset {_shown(offset)}"
            for name in ["sum"] + ["before"] * ("before" in record):
                own = record.get(name)
                if not isinstance(own, str) or not _SUM.fullmatch(own):
                    return f"the {name} {_shown(own)}"
            return _first([record.get("pack")], is_name)
        case "table":
            return None if record.get("file") is None else _first([record["file"]], is_table)
        case "prune":
            named = (_wrong(record, "replaces", is_name), _wrong(record, "condemned", is_name))
            return named[0] or named[1] or _wrong(record, "tables", is_table)
    return None


def _wrong(record: Record, member: str, is_right: Callable[[object], bool]) -> str | None:
    names = record.get(member, ())
    return _first(names, is_right) if isinstance(names, list | tuple) else _shown(names)


def _first(names: Iterable[object], is_right: Callable[[object], bool]) -> str | None:
    return next((_shown(name) for name in names if not is_right(name)), None)


def _shown(name: object) -> str:
    """A name that may hold anything, for a message."""
    text = ascii(name)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
