"""The state of reading a stream: its bytes, the stack, the marks in it, the memo."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from nbckpt.codecs.plain.limits import Limits
from nbckpt.codecs.plain.names import Known, Pending, told
from nbckpt.errors import FormatError, UntrustedError

_HIGHEST_PROTOCOL = 5
U2, I4, U4, U8, F8 = (struct.Struct(form) for form in ("<H", "<i", "<I", "<Q", ">d"))


class Stack:
    """One stream, and what was made of it so far.

    Parameters
    ----------
    stream
        The whole of it.
    buffers
        What it takes from beside it, in their order.
    is_look
        Whether what is built is let go of at once.
    most_steps
        Opcodes that it has at most: none is in what else it holds.
    """

    def __init__(
        self,
        stream: bytes,
        buffers: Sequence[memoryview],
        *,
        is_look: bool = False,
        most_steps: int | None = None,
    ) -> None:
        self._stream = stream
        self._most_steps = len(stream) if most_steps is None else most_steps
        self._at = 0
        self._buffers = iter(buffers)
        self._stack: list[Any] = []
        self._marked: list[list[Any]] = []
        self._memo: list[Any] = []
        self._called: dict[int, Known] = {}  # by the id of the class that stands in the stream
        n_bytes = len(stream) + sum(buffer.nbytes for buffer in buffers)
        self._limits = Limits(n_bytes, is_look=is_look)

    # -- reading ----------------------------------------------------------------------------

    def _take(self, size: int) -> bytes:
        start, self._at = self._at, self._at + size
        if self._at > len(self._stream):
            raise IndexError
        return self._stream[start : self._at]

    def _number(self, form: struct.Struct) -> Any:
        return form.unpack(self._take(form.size))[0]

    def _byte(self) -> int:
        self._at += 1
        return self._stream[self._at - 1]

    def _protocol(self) -> None:
        if self._byte() > _HIGHEST_PROTOCOL:
            message = "its stream is of a newer kind"
            raise FormatError(message)

    def _frame(self) -> None:
        self._take(U8.size)

    # -- the stack --------------------------------------------------------------------------

    def _mark(self) -> None:
        self._marked.append(self._stack)
        self._stack = []

    def _to_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._marked.pop()
        for item in items:
            require_value(item)
        return items

    def _pop(self) -> None:
        self._stack.pop()

    def _pop_to_mark(self) -> None:
        self._stack = self._marked.pop()

    def _memoize(self) -> None:
        value = self._stack[-1]
        if type(value) is Pending:
            value.slots.append(len(self._memo))
        self._memo.append(value)

    def _get(self, index: int) -> None:
        self._stack.append(self._memo[index])


def require_value(value: object) -> None:
    """Refuse what must not be held: what can only be called, and what is not complete."""
    kind = type(value)
    if kind is Known:
        raise UntrustedError(told("", value.name))  # type: ignore[attr-defined]
    if kind is Pending:
        message = "it holds itself inside something that is not a plain container"
        raise UntrustedError(message)
