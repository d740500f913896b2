"""Messages between a process and its parent: one JSON object, and bytes that follow it.

Nothing that is read builds an object of any class: no message is a pickle.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

_LENGTH = 4
"""Bytes in which the length of the JSON text stands."""


class Frame(NamedTuple):
    """One message.

    Attributes
    ----------
    head
        What is meant, by name.
    parts
        Bodies, as they are.
    """

    head: dict[str, Any]
    parts: list[bytes]


class ParentAddress(NamedTuple):
    """What a process knows of its parent.

    Attributes
    ----------
    socket
        Path of its socket, or name of its pipe.
    key
        Shows each of the two that the other one is who was meant.
    ticket
        Names the step that has started the process.
    """

    socket: str
    key: bytes
    ticket: str

    def __str__(self) -> str:
        return f"{self.socket}:{self.key.hex()}:{self.ticket}"

    @classmethod
    def of(cls, text: str) -> ParentAddress:
        """The address that a text says.

        Raises
        ------
        ValueError
            If it says none.
        """
        socket, key, ticket = text.rsplit(":", 2)
        return cls(socket, bytes.fromhex(key), ticket)


def packed(head: dict[str, Any], *parts: bytes) -> bytes:
    """The bytes of a message.

    Examples
    --------
    >>> unpacked(packed({"do": "chunk"}, b"ab", b"")) == ({"do": "chunk"}, [b"ab", b""])
    True
    """
    text = json.dumps([head, [len(part) for part in parts]]).encode()
    return b"".join([len(text).to_bytes(_LENGTH, "big"), text, *parts])


def unpacked(data: bytes) -> Frame:
    """The message that bytes say."""
    at = _LENGTH + int.from_bytes(data[:_LENGTH], "big")
    head, sizes = json.loads(data[_LENGTH:at])
    parts = []
    for size in sizes:
        parts.append(data[at : at + size])
        at += size
    return Frame(head, parts)
