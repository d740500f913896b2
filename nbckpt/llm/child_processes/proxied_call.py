"""A call of a child process, which the parent follows: what happens to it is told there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from nbckpt.llm import asked_usage
from nbckpt.llm.asked_usage import AskedUsage
from nbckpt.llm.child_processes.ipc_frames import Frame
from nbckpt.llm.child_processes.parent_link import Answer, ParentLink
from nbckpt.llm.child_processes.told_errors import chain_of
from nbckpt.llm.http_request import RecordedResponse

_TAIL = 64
"""Bytes of what came before that the mark of a stream's end may begin in."""
_ENCODING = "content-encoding"


class ProxiedCall:
    """One model call, of which a seam tells what happens to it, as of `nbckpt.llm.call.Call`.

    Attributes
    ----------
    kept, awaited, is_over, body, extra
        As there.
    """

    def __init__(self, link: ParentLink, answer: Answer) -> None:
        self.kept: RecordedResponse | None = None
        self.awaited: Answer | None = answer
        self.is_over = False
        self.body: bytes | None = None
        self.extra: AskedUsage | None = None
        self._link = link
        self._number = answer.number
        self._asking: bytes | None = None
        self._ends: re.Pattern[bytes] | None = None
        self._tail = b"\n"
        self._may_be_last = False
        self._has_told = False

    def admit(self, frame: Frame) -> None:
        """Take what the parent says: the answer, or that the call is to be sent."""
        head, self.awaited = frame.head, None
        if head["state"] == "kept":
            headers = [(name, value) for name, value in head["headers"]]
            self.kept = RecordedResponse(head["status"], headers, frame.parts)
            self.is_over = True
            return
        self._asking = frame.parts[0] if frame.parts else None
        if head["ends"]:
            pattern, flags = head["ends"]
            self._ends = re.compile(pattern.encode("latin-1"), flags)

    def ask_usage(self) -> None:
        """Have a stream say what it took, as the seam can send another body."""
        if self._asking is not None:
            self.body, self.extra = self._asking, AskedUsage()
            self._tell("ask_usage")

    def may_be_refused(self, status: int) -> bool:
        """True if a server may not take what was asked for more: its answer tells."""
        return self.body is not None and status in asked_usage.UNKNOWN

    def is_refused(self, answer: bytes) -> bool:
        """True if what was asked for more is not taken: the request is to be sent as it is."""
        if not asked_usage.is_refusal(answer):
            return False
        self.body = self.extra = None
        self._tell("refused", answer)
        return True

    def started(
        self, status: int, headers: Sequence[tuple[str, str]], *, is_framed: bool = True
    ) -> None:
        """The head of the answer is there."""
        told = [[name, value] for name, value in headers]
        self._tell("started", status=status, headers=told, is_framed=is_framed)
        self.is_over = not 200 <= status < 300
        encoding = next((value for name, value in headers if name.lower() == _ENCODING), "")
        self._may_be_last = encoding.lower() not in ("", "identity")  # in each piece may be the end

    def chunk(self, data: bytes) -> Future[Any] | None:
        """A piece of the body is there; what to wait for before the caller gets it."""
        if self.is_over:
            return None
        data = bytes(data)
        if not self._is_near_end(data):
            self._tell("chunk", data)
            return None
        return self._link.ask(self._head("chunk"), data).landed

    def ended(self) -> Future[Any] | None:
        """The body is complete; what to wait for before the caller learns that."""
        if self.is_over:
            return None
        self.is_over = True
        return self._link.ask(self._head("ended")).landed

    def failed(self, error: BaseException | str) -> None:
        """There is no answer, or not all of it: an SDK's retry stands in its place."""
        if not self.is_over:
            self.is_over = True
            self._tell("failed", errors=error if isinstance(error, str) else chain_of(error))

    def left(self) -> None:
        """The caller does not want more, or the collector has met what the caller read from."""
        if not self.is_over:
            self.is_over = True
            self._tell("left")

    def _is_near_end(self, data: bytes) -> bool:
        """True if a stream may have said all: who has its last piece need not ask for more."""
        if self._ends is None or self._may_be_last:
            return self._ends is not None
        window = self._tail + data
        self._tail = window[-_TAIL:]
        self._may_be_last = self._ends.search(window) is not None
        return self._may_be_last

    def _tell(self, what: str, *parts: bytes, **told: Any) -> None:
        self._link.tell({**self._head(what), **told}, *parts)

    def _head(self, what: str) -> dict[str, Any]:
        head = {"do": what, "call": self._number}
        if self.extra is not None and self.extra.event and not self._has_told:
            self._has_told = True
            head["usage"] = self.extra.event
        return head
