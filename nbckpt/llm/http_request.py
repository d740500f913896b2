"""An HTTP request as a seam sees it, and the recorded response to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class HttpRequest(NamedTuple):
    """An HTTP request before it is sent.

    Attributes
    ----------
    headers
        Pairs of lower-case name and value.
    body
        All of it, as it is sent.
    """

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """The value of a header; empty if there is none."""
        return next((value for key, value in self.headers if key == name), "")


class RecordedResponse(NamedTuple):
    """An answer from the store.

    Attributes
    ----------
    chunks
        As the transport gave them.
    """

    status: int
    headers: Sequence[tuple[str, str]]
    chunks: Sequence[bytes]
