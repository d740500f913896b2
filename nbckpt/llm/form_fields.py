"""Fields of a form as it is sent with files (RFC 7578). Pure."""

from __future__ import annotations

import re

_NAME = re.compile(
    rb'^content-disposition: *form-data; *name="?([^";\r\n]+)"?[ \t]*$',
    re.IGNORECASE | re.MULTILINE,
)
_LONGEST = 200
"""Bytes of a field that is no text of its own."""
_MOST_HEADERS = 4096


def fields_in_form(body: bytes) -> dict[str, str | int]:
    """The short fields of a form, numbers as such; nothing of its files."""
    boundary = body.partition(b"\r\n")[0]
    if not boundary.startswith(b"--"):
        return {}
    found: dict[str, str | int] = {}
    for part in body.split(boundary + b"\r\n"):
        head, blank, value = part[:_MOST_HEADERS].partition(b"\r\n\r\n")
        value = value.partition(b"\r\n--")[0].removesuffix(b"\r\n")
        named = _NAME.search(head.replace(b"\r\n", b"\n")) if blank else None
        if named is None or len(value) > _LONGEST or b"\n" in value:
            continue
        text = value.decode("utf-8", "replace")
        found[named[1].decode("utf-8", "replace")] = int(text) if text.isdecimal() else text
    return found
