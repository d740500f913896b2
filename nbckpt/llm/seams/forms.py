"""Forms of aiohttp: what they write, though a file in one can be read only once."""

from __future__ import annotations

import io
from copy import copy
from types import ModuleType
from typing import Any


class _Sink:
    """Takes what a body writes."""

    def __init__(self) -> None:
        self.data = bytearray()

    async def write(self, data: bytes) -> None:
        self.data += data


async def written(form: Any, module: ModuleType) -> tuple[bytes, Any] | None:
    """Bytes that a form writes, and a body to send that writes the same.

    None if it holds anything but texts, bytes and files.
    """
    if not form.is_multipart:
        payload = form()
        return payload._value, payload  # noqa: SLF001 - no other name of it is in all versions
    fields = [(told, headers, _content(value)) for told, headers, value in form._fields]
    if any(content is None for *_, content in fields):
        return None

    def made() -> Any:
        again = copy(form)
        again._writer = module.MultipartWriter("form-data")  # noqa: SLF001 - a copy shares it
        again._fields = [(told, headers, content()) for told, headers, content in fields]
        return again()

    sink = _Sink()
    payload, sent = made(), made()
    await payload.write(sink)
    # Each has a boundary of its own, which does not count.
    return bytes(sink.data).replace(payload.boundary.encode(), sent.boundary.encode()), sent


def _content(value: Any) -> Any:
    """Function that makes a field's value any number of times; None if that is not possible."""
    if isinstance(value, str | bytes | bytearray):
        return lambda: value
    if not isinstance(value, io.IOBase):
        return None
    data = value.read()
    if not isinstance(value, io.BytesIO | io.StringIO):  # as the library does when it has sent it
        value.close()
    return lambda: io.StringIO(data) if isinstance(data, str) else io.BytesIO(data)
