"""Fields of a form as it is sent with files. Pure."""

from __future__ import annotations

import re

_PART = re.compile(
    rb'content-disposition: *form-data; *name="?([^";\r\n]+)"?[ \t]*\r\n'
    rb"(?:[^\r\n]+\r\n)*\r\n([^\r\n]{0,200})\r\n--",
    re.IGNORECASE,
)


def fields_in_form(body: bytes) -> dict[str, str | int]:
    """The short fields of a form, numbers as such; nothing of its files."""
    if not body.startswith(b"--"):
        return {}
    found: dict[str, str | int] = {}
    for name, value in _PART.findall(body):
        text = value.decode("utf-8", "replace")
        found[name.decode("utf-8", "replace")] = int(text) if text.isdecimal() else text
    return found
